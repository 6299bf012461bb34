"""Settled grades as TREC judgments. Zeros are written, because judged as unrelated is not unjudged."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from goldbench.formats.annotations.exchange import Exchange, Given, grade_from, review_of, text_of
from goldbench.formats.faults import Fault, in_file, read_rows
from goldbench.text.display import amount

ABOUT = ".about.json"
"""The suffix of the file beside the judgments that names the rubric, for which the format has no place."""
_COLUMNS = 4


def write_trec(exchange: Exchange) -> str:
    """Return people's settled grades, one line each: ``query 0 document grade``."""
    return "".join(f"{query_id} 0 {chunk_id} {grade}\n" for query_id, chunk_id, grade in _settled(exchange))


def about(exchange: Exchange) -> str:
    """Return the text of the file beside the judgments: rubric, data set, and number of judgments per lane."""
    lanes = Counter(review.lane.value if review.lane else "none" for review in exchange.reviews)
    digests = {"rubric_sha": exchange.rubric.sha, "data_sha": exchange.data_sha, "lanes": dict(sorted(lanes.items()))}
    return json.dumps(digests, indent=2) + "\n"


def _settled(exchange: Exchange) -> Iterator[tuple[str, str, int]]:
    for query_id in sorted(exchange.gold):
        for chunk_id in sorted(exchange.gold[query_id]):
            yield query_id, chunk_id, int(exchange.gold[query_id][chunk_id])


def read_trec(path: Path, *, annotator: str) -> Iterator[Given]:
    """Yield the judgments of a TREC file as those of one annotator.

    Raises:
        InputError: A line is not a judgment.
    """
    rubric = _rubric(path.with_name(path.name + ABOUT))

    def given(line: int, text: str) -> Given:
        fields = text.rstrip("\r").split()
        if len(fields) != _COLUMNS:
            raise Fault(f"has {amount(len(fields), 'column')}, a judgment has {_COLUMNS}")
        grade = grade_from(fields[-1])
        values = {"query_id": fields[0], "chunk_id": fields[-2], "annotator": annotator, "grade": grade}
        return Given(line, review_of({**values, "first_grade": grade}), "judge", rubric)

    with in_file(path):
        lines = [(number, line) for number, line in enumerate(text_of(path).split("\n"), 1) if line.strip()]
        yield from read_rows(lines, given)


def _rubric(beside: Path) -> str | None:
    if not beside.is_file():
        return None
    with in_file(beside):
        try:
            details = json.loads(text_of(beside))
        except ValueError:
            raise Fault("is not valid JSON") from None
    rubric = details.get("rubric_sha") if isinstance(details, dict) else None
    return rubric if isinstance(rubric, str) else None
