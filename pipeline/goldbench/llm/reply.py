"""Reading the answer from a model's reply: JSON as it should be, or as models write it, checked against its schema."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import NoReturn, TypeVar

from pydantic import BaseModel, ValidationError

from goldbench.llm.reply_schema import field_names

T = TypeVar("T", bound=BaseModel)

_THINKING_END = re.compile(r"</(?:think|thinking|thought|reasoning)>", re.IGNORECASE)
_STRING_OR_COMMA = re.compile(r'("(?:\\.|[^"\\])*+(?:"|\\?\Z))|,(?=\s*[}\]])', re.DOTALL)
_MAX_STARTS = 200
_MAX_PROBLEMS = 8
_END_LOOKED_AT = 1200
_LONGEST_RUN = 200
_LEAST_TIMES = 4
_LEAST_REPEATED = 60
"""A loop is a run of up to 200 characters, 4 times or more and over at least 60 characters, at the end of a reply."""
_LEAST_GROUPS = 30
"""A reply of at least this many groups of four words is a loop if fewer than half of the groups are different."""


class Misfit(ValueError):
    """A reply holds no answer. ``problems`` name the fields and the reasons, without content of the reply."""

    def __init__(self, problems: tuple[str, ...]) -> None:
        self.problems = problems
        super().__init__("; ".join(problems))


def read_answer(text: str, answer: type[T]) -> T:
    """Return the answer in a reply.

    Args:
        text: The reply as it came: bare JSON, or JSON in a fence, after a preamble, after a block of thinking, with
            trailing commas.
        answer: The schema. Of several objects in the reply the last that fits is the answer.

    Raises:
        Misfit: No object in the reply fits.
    """
    try:
        return answer.model_validate_json(text)
    except ValidationError as error:
        problems = _problems(error, answer)
    # Only the end of a block of thinking counts: some servers cut off its beginning, and a draft inside is no answer.
    outside = _THINKING_END.split(text)[-1]
    for candidate in _objects(outside):
        try:
            return answer.model_validate_json(json.dumps(candidate))
        except ValidationError as error:
            problems = _problems(error, answer)
    raise Misfit(problems) from None


def repeats_itself(text: str) -> bool:
    """Whether a reply that cannot be used is one run of characters over and over, or the same words again and again."""
    end = text[-_END_LOOKED_AT:]
    for length in range(1, _LONGEST_RUN + 1):
        times = max(_LEAST_TIMES, -(-_LEAST_REPEATED // length))
        run = end[-length:]
        if len(end) >= times * length and end.endswith(run * times) and not run.isspace():
            return True
    words = text.split()
    groups = list(zip(words, words[1:], words[2:], words[3:], strict=False))
    return len(groups) >= _LEAST_GROUPS and len(set(groups)) < len(groups) / 2


def _objects(text: str) -> Iterator[object]:
    """Yield the objects that could be the answer, the likeliest first: the last ones, as they are or without commas."""
    for variant in dict.fromkeys((text, _STRING_OR_COMMA.sub(r"\1", text))):
        yield from reversed(list(_embedded(variant)))


def _embedded(text: str) -> Iterator[object]:
    """Yield the outermost objects inside a text, in order."""
    decoder = json.JSONDecoder(strict=False, parse_constant=_no_constant)
    start = text.find("{")
    for _ in range(_MAX_STARTS):
        if start < 0:
            return
        try:
            value, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            end = start + 1
        else:
            yield value
        start = text.find("{", end)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _problems(error: ValidationError, answer: type[BaseModel]) -> tuple[str, ...]:
    known = field_names(answer)
    rows = error.errors(include_url=False, include_context=False, include_input=False)
    lines = dict.fromkeys(_problem(row["loc"], row["type"], known) for row in rows)
    more = len(lines) - _MAX_PROBLEMS
    return (*list(lines)[:_MAX_PROBLEMS], *([f"and {more} more"] if more > 0 else []))


def _problem(location: tuple[int | str, ...], kind: str, known: frozenset[str]) -> str:
    # A name that the schema does not have is content of the reply: it stays out of messages.
    path = ".".join(str(part) if isinstance(part, int) or part in known else "(unknown field)" for part in location)
    return f"{path}: {kind}" if path else kind
