"""AutoRAG: ``qa.parquet`` and ``corpus.parquet``, as its evaluator reads them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from goldbench.exports.beir_files import about
from goldbench.exports.exported_set import ExportedQuery, ExportedSet
from goldbench.exports.json_files import write_json, write_json_lines
from goldbench.formats.dataset_card import Columns, Table, write_parquet
from goldbench.formats.interchange_names import AUTORAG_CORPUS, AUTORAG_QA, EXPORT_ABOUT

_QA: Columns = {
    "qid": "string",
    "query": "string",
    "retrieval_gt": (("string",),),
    "generation_gt": ("string",),
    "goldbench": "string",
}
_CORPUS: Columns = {"doc_id": "string", "contents": "string", "metadata": {"prev_id": "string", "next_id": "string"}}


def write(exported: ExportedSet, place: Path) -> None:
    """Write both tables.

    Args:
        exported: The set.
        place: An empty folder.
    """
    for name, columns, rows in ((AUTORAG_QA, _QA, qa_rows(exported)), (AUTORAG_CORPUS, _CORPUS, corpus_rows(exported))):
        lines = place / f"{name}.jsonl"
        write_json_lines(lines, rows)
        write_parquet(Table(name, name, name, name, columns), lines, place / name)
        lines.unlink()
    write_json(place / EXPORT_ABOUT, about(exported))


def qa_rows(exported: ExportedSet) -> Iterator[dict[str, Any]]:
    """Yield a row for each query; the column ``goldbench`` holds in JSON what AutoRAG has no column for."""
    for query in exported.queries:
        yield {
            "qid": query.query_id,
            "query": query.alone,
            "retrieval_gt": _groups(query),
            "generation_gt": [query.answer] if query.answer is not None else [],
            "goldbench": json.dumps(query.described()),
        }


def _groups(query: ExportedQuery) -> list[list[str]]:
    """Return the relevant passages: of each group at least one has to be found.

    They are one group of passages each of which will do, or a group for each passage that is needed, which the other
    relevant passages join: any of these may stand for it.
    """
    found = [context.doc_id for context in query.contexts]
    others = [doc_id for doc_id in found if doc_id not in query.needs]
    return [[needed, *others] for needed in query.needs] or [found]


def corpus_rows(exported: ExportedSet) -> Iterator[dict[str, Any]]:
    """Yield a row for each passage; AutoRAG itself sets the time of a passage that has none."""
    nothing = {"prev_id": None, "next_id": None}
    return ({"doc_id": doc_id, "contents": text, "metadata": nothing} for doc_id, text in exported.corpus())
