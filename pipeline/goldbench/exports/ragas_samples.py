"""ragas: an ``EvaluationDataset`` of ``SingleTurnSample``, and the JSON Lines that its ``from_jsonl`` reads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from goldbench.exports.exported_set import ExportedQuery, ExportedSet
from goldbench.exports.json_files import write_json_lines
from goldbench.exports.packages import package

_ADVICE = "run pip install 'langchain-community<0.4' (https://github.com/vibrantlabsai/ragas/issues/2753)"


def write(exported: ExportedSet, place: Path) -> None:
    """Write a line for each sample.

    Args:
        exported: The set.
        place: The new file.
    """
    write_json_lines(place, rows(exported))


def dataset(exported: ExportedSet) -> Any:  # noqa: ANN401  a class of ragas
    """Return a ``ragas.EvaluationDataset``.

    Raises:
        MissingPackage: ragas is not installed, or cannot be imported.
    """
    with package("ragas", _ADVICE):
        from ragas import EvaluationDataset
    return EvaluationDataset.from_list(list(rows(exported)))


def rows(exported: ExportedSet) -> Iterator[dict[str, Any]]:
    """Yield the fields of each sample, and under ``goldbench`` what ragas has no field for and passes over."""
    return (_row(exported, query) for query in exported.queries)


def _row(exported: ExportedSet, query: ExportedQuery) -> dict[str, Any]:
    found = {
        "user_input": query.alone,
        "reference": query.answer,
        "reference_contexts": [context.text for context in query.contexts],
        "reference_context_ids": [context.doc_id for context in query.contexts],
        "query_style": query.notes.get("style"),
        "goldbench": exported.described(query),
    }
    return {name: value for name, value in found.items() if value is not None}
