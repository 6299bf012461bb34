"""What people judged, on its way to other tools and back: one shape that every format writes from and reads into."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from uuid import NAMESPACE_URL, uuid5

from pydantic import ValidationError

from pipeline.errors import InputError
from pipeline.text.display import shown
from schemas.judgment import RUBRIC, Relevance
from schemas.review_event import Review

Pair = tuple[str, str]

RUBRIC_TEXT = "\n".join(f"{grade:d} - {RUBRIC[grade]}" for grade in sorted(RUBRIC, reverse=True))
"""The rubric as other tools show it."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """What is written.

    ``pairs`` are all pairs of the pool, in an order that says nothing of what a model thinks of them; ``adjudicated``
    says who decided a pair, and how; ``model`` is empty unless its grades were asked for.
    """

    queries: Mapping[str, str]
    passages: Mapping[str, str]
    pairs: Sequence[Pair]
    reviews: Sequence[Review]
    adjudicated: Mapping[Pair, tuple[str, Relevance]]
    gold: Mapping[str, Mapping[str, int]]
    rubric_sha: str
    data_sha: str
    model: Mapping[Pair, tuple[str, Relevance]] = field(default_factory=dict)
    wanted: int = 1
    """How many people are to judge a pair."""

    def by_pair(self) -> dict[Pair, list[Review]]:
        """Return what was said of each pair."""
        found: dict[Pair, list[Review]] = {}
        for review in self.reviews:
            found.setdefault((review.query_id, review.chunk_id), []).append(review)
        return found


@dataclass(frozen=True, slots=True)
class Given:
    """One judgment that was read. ``rubric_sha`` is None where the file does not say by which rubric it was made."""

    line: int
    review: Review
    kind: Literal["judge", "adjudicate"] = "judge"
    rubric_sha: str | None = None


def id_of(*parts: str) -> str:
    """Return a UUID that is always the same for the same words."""
    return str(uuid5(NAMESPACE_URL, "goldset:" + "\x1f".join(parts)))


def details(review: Review) -> dict[str, Any]:
    """Return what tools have no place for of a judgment: everything but the pair."""
    return review.model_dump(mode="json", exclude={"query_id", "chunk_id", "adjudicated"}, exclude_defaults=True)


def review_of(values: Mapping[str, Any], *, path: Path, line: int) -> Review:
    """Return a judgment from values that were read.

    Raises:
        InputError: One of them is not what it should be.
    """
    try:
        return Review.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise InputError(shown(path), f"{where or 'judgment'}: {first['msg']}", line=line) from None


def grade_from(value: object, *, path: Path, line: int) -> int:
    """Return a grade that was read as a number or as its text.

    Raises:
        InputError: It is none.
    """
    text = str(value).strip() if isinstance(value, int | str) and not isinstance(value, bool) else ""
    if text not in {"0", "1", "2", "3"}:
        raise InputError(shown(path), "the grade is none of 0, 1, 2, 3", line=line)
    return int(text)


def text_of(path: Path) -> str:
    """Return a file as text, without the mark that some programs put before UTF-8.

    Raises:
        InputError: It cannot be read, or is not UTF-8.
    """
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise InputError(shown(path), f"cannot be read ({(error.strerror or 'unknown reason').lower()})") from None
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise InputError(shown(path), "is not UTF-8", line=line) from None


def objects(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the JSON objects of a file with the line each begins in: one after the other, or in one array.

    Raises:
        InputError: Something in it is no JSON, or no object.
    """
    text = text_of(path)
    decoder = json.JSONDecoder()
    place = _space(text, 0, "")
    array = text[place : place + 1] == "["
    place = _space(text, place + 1, "") if array else place
    line, counted = 1, 0
    while place < len(text) and not (array and text[place] == "]"):
        line, counted = line + text.count("\n", counted, place), place
        try:
            value, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            raise InputError(shown(path), "is no JSON", line=line) from None
        if not isinstance(value, dict):
            raise InputError(shown(path), "is no JSON object", line=line)
        yield line, value
        place = _space(text, place, "," if array else "")
    if array and text[place : place + 1] != "]":
        raise InputError(shown(path), "ends before its list does", line=text.count("\n") + 1)
    if array and text[place + 1 :].strip():
        raise InputError(shown(path), "goes on after its list", line=1 + text.count("\n", 0, place + 1))


def _space(text: str, place: int, also: str) -> int:
    while place < len(text) and (text[place] in " \t\r\n" or text[place] in also):
        place += 1
    return place


def write_text(path: Path, text: str) -> None:
    """Write a file that appears only when it is whole.

    Raises:
        OSError: It cannot be written.
    """
    draft = path.with_name(f".{path.name}.unfinished")
    try:
        draft.write_bytes(text.encode("utf-8", "replace"))
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
