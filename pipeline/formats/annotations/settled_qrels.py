"""Settled grades as the field's judgments, TREC or BEIR. Zeros are written: judged unrelated is not unjudged."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from pipeline.errors import InputError
from pipeline.formats.annotations.exchange import Exchange, Given, grade_from, review_of, text_of
from pipeline.formats.interchange_names import BEIR_CORPUS, BEIR_QUERIES, BEIR_TEST_QRELS
from pipeline.formats.jsonl import as_line
from pipeline.text.display import shown

ABOUT = ".about.json"
"""Neither format has a place for the rubric: it stands in a file beside the judgments, by this suffix."""

_HEAD = ("query-id", "corpus-id", "score")


def write_trec(exchange: Exchange) -> str:
    """Return people's settled grades, a line each: ``query 0 document grade``."""
    return "".join(f"{query_id} 0 {chunk_id} {grade}\n" for query_id, chunk_id, grade in _settled(exchange))


def write_beir(exchange: Exchange) -> dict[str, str]:
    """Return the files of a BEIR folder by name; the corpus is whole, the queries are those that people judged."""
    out = io.StringIO()
    table = csv.writer(out, delimiter="\t", lineterminator="\n")
    table.writerow(_HEAD)
    table.writerows(_settled(exchange))
    queries = ({"_id": query_id, "text": exchange.queries[query_id]} for query_id in sorted(exchange.gold))
    corpus = ({"_id": chunk_id, "title": "", "text": text} for chunk_id, text in exchange.passages.items())
    return {
        BEIR_TEST_QRELS: out.getvalue(),
        BEIR_QUERIES: "".join(as_line(json.dumps(one, ensure_ascii=False)) for one in queries),
        BEIR_CORPUS: "".join(as_line(json.dumps(one, ensure_ascii=False)) for one in corpus),
    }


def about(exchange: Exchange) -> str:
    """Return what stands beside the judgments: rubric, data set, and from which lanes the judgments are."""
    lanes = Counter(review.lane.value if review.lane else "none" for review in exchange.reviews)
    said = {"rubric_sha": exchange.rubric_sha, "data_sha": exchange.data_sha, "lanes": dict(sorted(lanes.items()))}
    return json.dumps(said, indent=2) + "\n"


def _settled(exchange: Exchange) -> Iterator[tuple[str, str, int]]:
    for query_id in sorted(exchange.gold):
        for chunk_id in sorted(exchange.gold[query_id]):
            yield query_id, chunk_id, int(exchange.gold[query_id][chunk_id])


def read_trec(path: Path, *, annotator: str) -> Iterator[Given]:
    """Yield the judgments of a TREC file as one annotator's.

    Raises:
        InputError: A line is no judgment.
    """
    yield from _read(path, annotator, columns=4, beir=False)


def read_beir(path: Path, *, annotator: str) -> Iterator[Given]:
    """Yield the judgments of a BEIR folder, or of its file of judgments, as one annotator's.

    Raises:
        InputError: A line is no judgment.
    """
    file = path / BEIR_TEST_QRELS if path.is_dir() else path
    yield from _read(file, annotator, columns=3, beir=True)


def _read(path: Path, annotator: str, *, columns: int, beir: bool) -> Iterator[Given]:
    rubric = _rubric(path)
    for number, line in enumerate(text_of(path).split("\n"), 1):
        fields = line.rstrip("\r").split("\t" if beir else None)
        if not line.strip() or (beir and number == 1 and tuple(name.strip() for name in fields) == _HEAD):
            continue
        if len(fields) != columns:
            raise InputError(shown(path), f"has {len(fields)} columns, a judgment has {columns}", line=number)
        query_id, chunk_id = (fields[0], fields[1]) if beir else (fields[0], fields[2])
        grade = grade_from(fields[-1], path=path, line=number)
        values = {"query_id": query_id, "chunk_id": chunk_id, "annotator": annotator, "grade": grade}
        yield Given(number, review_of({**values, "first_grade": grade}, path=path, line=number), "judge", rubric)


def _rubric(path: Path) -> str | None:
    beside = path.with_name(path.name + ABOUT)
    if not beside.is_file():
        return None
    try:
        found = json.loads(text_of(beside))
    except ValueError:
        raise InputError(shown(beside), "is no JSON") from None
    rubric = found.get("rubric_sha") if isinstance(found, dict) else None
    return rubric if isinstance(rubric, str) else None
