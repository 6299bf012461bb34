"""promptfoo: test cases with the query, its passages and its answer in one variable that is an object.

promptfoo renders a variable that is a text as a template, reads a file where the text begins with ``file://``, and
makes a test of each entry of a list. What stands inside an object stays as it is.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from goldbench.exports.exported_set import ExportedQuery, ExportedSet
from goldbench.exports.json_files import JSON_LINES, write_json, write_json_lines


def write(exported: ExportedSet, place: Path) -> None:
    """Write the test cases, as a list, which is valid YAML, or a line for each.

    Args:
        exported: The set.
        place: The new file, of JSON, JSON Lines or YAML.
    """
    if place.suffix == JSON_LINES:
        write_json_lines(place, cases(exported))
    else:
        write_json(place, cases(exported))


def cases(exported: ExportedSet) -> list[dict[str, Any]]:
    """Return the test cases, each with the variable ``gold``."""
    return [_test_case(exported, query) for query in exported.queries]


def _test_case(exported: ExportedSet, query: ExportedQuery) -> dict[str, Any]:
    gold = {
        "question": query.alone,
        "answer": query.answer,
        "contexts": [context.text for context in query.contexts],
        "context_ids": [context.doc_id for context in query.contexts],
    }
    return {"description": query.query_id, "vars": {"gold": gold}, "metadata": exported.described(query)}
