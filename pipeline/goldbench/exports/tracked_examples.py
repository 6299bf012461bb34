"""LangSmith and Phoenix: datasets of examples with inputs, reference outputs and metadata."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from goldbench.exports.exported_set import ExportedQuery, ExportedSet
from goldbench.exports.json_files import JSON_LINES, write_json_lines
from goldbench.exports.packages import package

_OUTPUTS = "outputs"
"""What every version of LangSmith calls the reference outputs; those before 0.15 drop them under their later name."""


def write_langsmith(exported: ExportedSet, place: Path) -> None:
    """Write a line for each example, with the fields of ``langsmith.schemas.ExampleCreate``.

    Args:
        exported: The set.
        place: The new file.
    """
    write_json_lines(place, _langsmith_rows(exported))


def langsmith_examples(exported: ExportedSet) -> list[Any]:
    """Return what ``Client.create_examples`` takes: a ``langsmith.schemas.ExampleCreate`` for each query.

    Raises:
        MissingPackage: langsmith is not installed, or cannot be imported.
    """
    with package("langsmith"):
        from langsmith.schemas import ExampleCreate
    outputs = "reference_outputs" if "reference_outputs" in ExampleCreate.model_fields else _OUTPUTS
    return [ExampleCreate.model_validate(row) for row in _langsmith_rows(exported, outputs)]


def write_phoenix(exported: ExportedSet, place: Path) -> None:
    """Write a line for each example as Phoenix's client takes it, or a table for the page where people upload files.

    Args:
        exported: The set.
        place: The new file, of JSON Lines or of CSV.
    """
    if place.suffix == JSON_LINES:
        write_json_lines(place, phoenix_examples(exported))
        return
    with place.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(("query_id", "question", "answer", "contexts", "context_ids", "metadata"))
        for query in exported.queries:
            listed = ([c.text for c in query.contexts], [c.doc_id for c in query.contexts], exported.described(query))
            table.writerow((query.query_id, query.alone, query.answer or "", *map(json.dumps, listed)))


def phoenix_examples(exported: ExportedSet) -> list[dict[str, Any]]:
    """Return what ``Client.datasets.create_dataset`` takes as ``examples``; the ids are those of the queries."""
    return [
        {
            "id": query.query_id,
            "input": {"question": query.alone},
            "output": _reference(query),
            "metadata": exported.described(query),
        }
        for query in exported.queries
    ]


def _langsmith_rows(exported: ExportedSet, outputs: str = _OUTPUTS) -> Iterator[dict[str, Any]]:
    for query in exported.queries:
        yield {"inputs": {"question": query.alone}, outputs: _reference(query), "metadata": exported.described(query)}


def _reference(query: ExportedQuery) -> dict[str, Any]:
    """Return what a good answer rests on, and the answer itself if somebody wrote one."""
    contexts = [context.text for context in query.contexts]
    return {**({} if query.answer is None else {"answer": query.answer}), "contexts": contexts}
