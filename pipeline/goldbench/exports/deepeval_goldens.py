"""deepeval: an ``EvaluationDataset`` of goldens, and the JSON that its ``add_goldens_from_json_file`` reads.

deepeval reads CSV, too, but cuts every cell of contexts at ``|``, so texts would not survive there.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from goldbench.exports.exported_set import ExportedSet
from goldbench.exports.json_files import JSON_LINES, write_json, write_json_lines
from goldbench.exports.packages import package


def write(exported: ExportedSet, place: Path) -> None:
    """Write the goldens, as a list or a line for each.

    Args:
        exported: The set.
        place: The new file, of JSON or of JSON Lines.
    """
    if place.suffix == JSON_LINES:
        write_json_lines(place, rows(exported))
    else:
        write_json(place, list(rows(exported)))


def dataset(exported: ExportedSet) -> Any:  # noqa: ANN401  a class of deepeval
    """Return a ``deepeval.dataset.EvaluationDataset``.

    Raises:
        MissingPackage: deepeval is not installed, or cannot be imported.
    """
    with package("deepeval"):
        from deepeval.dataset import EvaluationDataset, Golden
    return EvaluationDataset(goldens=[Golden(**row) for row in rows(exported)])


def rows(exported: ExportedSet) -> Iterator[dict[str, Any]]:
    """Yield the fields of each golden; ``additional_metadata`` hold what deepeval has no field for."""
    for query in exported.queries:
        yield {
            "input": query.alone,
            "expected_output": query.answer,
            "context": [context.text for context in query.contexts],
            "name": query.query_id,
            "additional_metadata": exported.described(query),
        }
