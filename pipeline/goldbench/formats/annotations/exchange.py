"""People's judgments on their way to other tools and back: the shape that every format writes from and reads into."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal
from uuid import NAMESPACE_URL, uuid5

from pydantic import ValidationError

from goldbench.errors import plain_file
from goldbench.formats.faults import Fault, explain
from goldbench.formats.packed_files import decoded, without_mark
from goldbench.prompts.rubric import Rubric
from goldbench.records.relevance import Relevance
from goldbench.records.review_event import Review
from goldbench.text.asked_query import FIELDS, AskedQuery

Pair = tuple[str, str]

BESIDE = {
    "conversation": "Conversation that the query ends",
    "original": "The query before typing errors",
    "hint": "Note on the query",
}
"""The titles of what people see beside a query, by field."""


@dataclass(frozen=True)
class Exchange:
    """The pairs and judgments to write.

    ``pairs`` are all pairs of the pool, in an order that does not tell a model's opinion of them; ``adjudicated`` holds
    who decided a pair, and the grade; ``model`` is empty unless the model's grades were asked for.
    """

    queries: Mapping[str, str]
    passages: Mapping[str, str]
    pairs: Sequence[Pair]
    reviews: Sequence[Review]
    adjudicated: Mapping[Pair, tuple[str, Relevance]]
    gold: Mapping[str, Mapping[str, int]]
    rubric: Rubric
    data_sha: str
    model: Mapping[Pair, tuple[str, Relevance]] = field(default_factory=dict)
    wanted: int = 1
    """The number of people who are to judge each pair."""
    answers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Reference answers with their evidence by query, as in ``dataset.json``. Tools in which people judge get the text
    alone, since the evidence tells which passage the query was written from."""
    asked: Mapping[str, AskedQuery] = field(default_factory=dict)
    """What belongs to each query: a conversation, the query before typing errors, whether it needs several passages."""

    def judged(self, query_id: str) -> str:
        """Return the text that passages are judged for: of a conversation the stand-alone form of the last turn."""
        return self.asked[query_id].judged if query_id in self.asked else self.queries[query_id]

    def beside(self, query_id: str) -> dict[str, str]:
        """Return what a person must see beside a query, a text for each of `beside_names`; empty where it has none."""
        details = self.asked[query_id].fields() if query_id in self.asked else {}
        return {name: details.get(name, "") for name in self.beside_names}

    @cached_property
    def beside_names(self) -> list[str]:
        """The names of what at least one query has beside its text."""
        names = {name for asked in self.asked.values() for name in asked.fields()}
        return [name for name in FIELDS if name in names]

    def answer(self, query_id: str) -> dict[str, str]:
        """Return the text of a query's reference answer under the name ``answer``; empty if nobody wrote one."""
        return {"answer": str(self.answers[query_id]["text"])} if query_id in self.answers else {}

    def by_pair(self) -> dict[Pair, list[Review]]:
        """Return the judgments of each pair."""
        reviews: dict[Pair, list[Review]] = {}
        for review in self.reviews:
            reviews.setdefault((review.query_id, review.chunk_id), []).append(review)
        return reviews


def lanes_of(reviews: Sequence[Review]) -> str:
    """Return the lanes of some judgments, separated by commas."""
    return ",".join(sorted({review.lane.value for review in reviews if review.lane is not None}))


@dataclass(frozen=True, slots=True)
class Given:
    """One judgment that was read. ``rubric_sha`` is None if the file does not name the rubric."""

    line: int
    review: Review
    kind: Literal["judge", "adjudicate"] = "judge"
    rubric_sha: str | None = None


def id_of(*parts: str) -> str:
    """Return the UUID of these words, which is always the same."""
    return str(uuid5(NAMESPACE_URL, "goldbench:" + "\x1f".join(parts)))


def details(review: Review) -> dict[str, Any]:
    """Return the fields of a judgment that other tools have no place for: all but the pair."""
    return review.model_dump(mode="json", exclude={"query_id", "chunk_id", "adjudicated"}, exclude_defaults=True)


def review_of(values: Mapping[str, Any]) -> Review:
    """Return a judgment from values that were read.

    Raises:
        Fault: A value is not valid.
    """
    try:
        return Review.model_validate(values)
    except ValidationError as error:
        raise Fault(explain(error)) from None


def grade_from(value: object) -> int:
    """Return a grade that was read as a number or as its text.

    Raises:
        Fault: The value is not a grade.
    """
    text = str(value).strip() if isinstance(value, int | str) and not isinstance(value, bool) else ""
    if text not in {"0", "1", "2", "3"}:
        raise Fault("the grade is none of 0, 1, 2, 3")
    return int(text)


def own_details(text: object) -> dict[str, Any]:
    """Return the object that this program wrote as JSON into a field of another tool; empty if the field is empty.

    Raises:
        Fault: The field holds something else.
    """
    if text in (None, ""):
        return {}
    try:
        details = json.loads(str(text))
    except (ValueError, RecursionError):
        details = None
    if not isinstance(details, dict):
        raise Fault("the field called goldbench differs from what was written")
    return details


def text_of(path: Path) -> str:
    """Return a file as text, without a byte order mark.

    Raises:
        OSError: The file cannot be read.
        Fault: The file is not UTF-8.
    """
    return decoded(without_mark(plain_file(path).read_bytes()))


def objects(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the JSON objects of a file with the line each begins on: one after the other, or in one array.

    Raises:
        OSError: The file cannot be read.
        Fault: Something in it is not valid JSON, or not an object.
    """
    text = text_of(path)
    decoder = json.JSONDecoder()
    position = _space(text, 0, "")
    array = text[position : position + 1] == "["
    position = _space(text, position + 1, "") if array else position
    line = 1
    counted = 0
    while position < len(text) and not (array and text[position] == "]"):
        line = line + text.count("\n", counted, position)
        counted = position
        try:
            value, position = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            raise Fault("is not valid JSON", line=line) from None
        if not isinstance(value, dict):
            raise Fault("is not a JSON object", line=line)
        yield line, value
        position = _space(text, position, "," if array else "")
    if array and text[position : position + 1] != "]":
        raise Fault("ends before its list does", line=text.count("\n") + 1)
    if array and text[position + 1 :].strip():
        raise Fault("goes on after its list", line=1 + text.count("\n", 0, position + 1))


def _space(text: str, position: int, also: str) -> int:
    while position < len(text) and (text[position] in " \t\r\n" or text[position] in also):
        position += 1
    return position
