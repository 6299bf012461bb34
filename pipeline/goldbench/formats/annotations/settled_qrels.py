"""Settled grades as TREC or BEIR judgments. Zeros are written, because judged as unrelated is not unjudged."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from io import BytesIO
from pathlib import Path

from goldbench.formats.annotations.exchange import Exchange, Given, grade_from, review_of, text_of
from goldbench.formats.dataset_card import Facts, contents_of, dataset_card, needs_parquet, tables_with, write_parquet
from goldbench.formats.faults import Fault, in_file, read_rows
from goldbench.formats.interchange_names import (
    BEIR_CARD,
    BEIR_CORPUS,
    BEIR_QUERIES,
    BEIR_TEST_LINES,
    BEIR_TEST_QRELS,
    JUDGMENT_COLUMNS,
)
from goldbench.formats.jsonl import as_line
from goldbench.text.display import amount

ABOUT = ".about.json"
"""The suffix of the file beside the judgments that names the rubric, for which neither format has a place."""


def write_trec(exchange: Exchange) -> str:
    """Return people's settled grades, one line each: ``query 0 document grade``."""
    return "".join(f"{query_id} 0 {chunk_id} {grade}\n" for query_id, chunk_id, grade in _settled(exchange))


def write_beir(exchange: Exchange) -> dict[str, str | bytes]:
    """Return the files of a BEIR folder by name: the complete corpus, and the queries that people judged."""
    out = io.StringIO()
    table = csv.writer(out, delimiter="\t", lineterminator="\n")
    table.writerow(JUDGMENT_COLUMNS)
    table.writerows(_settled(exchange))
    queries = (_query(exchange, query_id) for query_id in sorted(exchange.gold))
    corpus = ({"_id": chunk_id, "title": "", "text": text} for chunk_id, text in exchange.passages.items())
    judgments = (dict(zip(JUDGMENT_COLUMNS, judgment, strict=True)) for judgment in _settled(exchange))
    lines = {BEIR_TEST_LINES: judgments, BEIR_QUERIES: queries, BEIR_CORPUS: corpus}
    texts = {name: "".join(as_line(json.dumps(one, ensure_ascii=False)) for one in lines[name]) for name in lines}
    return {BEIR_TEST_QRELS: out.getvalue(), **texts, **_card(exchange, texts)}


def _query(exchange: Exchange, query_id: str) -> dict[str, object]:
    metadata = _metadata(exchange, query_id)
    more = {"metadata": metadata} if metadata else {}
    return {"_id": query_id, "text": exchange.queries[query_id], **more}


def _metadata(exchange: Exchange, query_id: str) -> dict[str, object]:
    answer = {"answer": exchange.answers[query_id]} if query_id in exchange.answers else {}
    return {**answer, **(exchange.asked[query_id].metadata() if query_id in exchange.asked else {})}


def _card(exchange: Exchange, texts: Mapping[str, str]) -> dict[str, str | bytes]:
    """Return the dataset card, and the Parquet files if the folder needs any."""
    tables = tables_with({name for query_id in exchange.gold for name in _metadata(exchange, query_id)})
    packed = {table: BytesIO(texts[table.file].encode("utf-8", "replace")) for table in tables}
    found = {table.name: contents_of(lines) for table, lines in packed.items()}
    files: dict[str, str | bytes] = {}
    if needs_parquet(found):
        for table, lines in packed.items():
            write_parquet(table, BytesIO(lines.getvalue()), out := BytesIO())
            files[table.parquet] = out.getvalue()
    facts = Facts(
        metadata=exchange.metadata,
        grades=Counter(grade for _, _, grade in _settled(exchange)),
        labels="grades that people gave in a review, and settled where they differed",
        tables=tables,
    )
    return {BEIR_CARD: dataset_card(found, facts), **files}


def about(exchange: Exchange) -> str:
    """Return the text of the file beside the judgments: rubric, data set, and number of judgments per lane."""
    lanes = Counter(review.lane.value if review.lane else "none" for review in exchange.reviews)
    said = {"rubric_sha": exchange.rubric.sha, "data_sha": exchange.data_sha, "lanes": dict(sorted(lanes.items()))}
    return json.dumps(said, indent=2) + "\n"


def _settled(exchange: Exchange) -> Iterator[tuple[str, str, int]]:
    for query_id in sorted(exchange.gold):
        for chunk_id in sorted(exchange.gold[query_id]):
            yield query_id, chunk_id, int(exchange.gold[query_id][chunk_id])


def read_trec(path: Path, *, annotator: str) -> Iterator[Given]:
    """Yield the judgments of a TREC file as those of one annotator.

    Raises:
        InputError: A line is not a judgment.
    """
    yield from _read(path, annotator, columns=4, beir=False)


def read_beir(path: Path, *, annotator: str) -> Iterator[Given]:
    """Yield the judgments of a BEIR folder, or of its file of judgments, as those of one annotator.

    Raises:
        InputError: A line is not a judgment.
    """
    file = path / BEIR_TEST_QRELS if path.is_dir() else path
    yield from _read(file, annotator, columns=3, beir=True)


def _read(path: Path, annotator: str, *, columns: int, beir: bool) -> Iterator[Given]:
    rubric = _rubric(path.with_name(path.name + ABOUT))

    def given(line: int, text: str) -> Given:
        fields = text.rstrip("\r").split("\t" if beir else None)
        if len(fields) != columns:
            raise Fault(f"has {amount(len(fields), 'column')}, a judgment has {columns}")
        grade = grade_from(fields[-1])
        values = {"query_id": fields[0], "chunk_id": fields[-2], "annotator": annotator, "grade": grade}
        return Given(line, review_of({**values, "first_grade": grade}), "judge", rubric)

    with in_file(path):
        lines = [(number, line) for number, line in enumerate(text_of(path).split("\n"), 1) if line.strip()]
        if beir and lines and tuple(name.strip() for name in lines[0][1].split("\t")) == JUDGMENT_COLUMNS:
            lines = lines[1:]
        yield from read_rows(lines, given)


def _rubric(beside: Path) -> str | None:
    if not beside.is_file():
        return None
    with in_file(beside):
        try:
            found = json.loads(text_of(beside))
        except ValueError:
            raise Fault("is not valid JSON") from None
    rubric = found.get("rubric_sha") if isinstance(found, dict) else None
    return rubric if isinstance(rubric, str) else None
