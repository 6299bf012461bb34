"""Rows for tools that evaluate answers: ragas, deepeval, LlamaIndex, LangSmith, Phoenix and promptfoo.

JSON is written in ASCII, every other character as its escape, for readers that open files in the encoding of their
system. deepeval reads CSV, too, but cuts every cell of contexts at ``|``, so texts would not survive there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from goldbench.exports.exported_set import ExportedQuery, ExportedSet

_OUTPUTS = "outputs"
"""What every version of LangSmith calls the reference outputs; those before 0.15 drop them under their later name."""


def write_json_lines(path: Path, rows: Iterable[Any]) -> None:
    """Write a line for each value."""
    with path.open("w", encoding="ascii", newline="\n") as file:
        for row in rows:
            file.write(f"{json.dumps(row)}\n")


def write_json(path: Path, value: Any) -> None:  # noqa: ANN401  whatever JSON takes
    """Write a value, readable by people."""
    with path.open("w", encoding="ascii", newline="\n") as file:
        json.dump(value, file, indent=1)
        file.write("\n")


def write_ragas(exported: ExportedSet, path: Path) -> None:
    """Write the JSON Lines that ``EvaluationDataset.from_jsonl`` of ragas reads."""
    write_json_lines(path, ragas_rows(exported))


def ragas_rows(exported: ExportedSet) -> list[dict[str, Any]]:
    """Return the fields of each sample, and under ``goldbench`` what ragas has no field for and passes over."""
    rows = []
    for query in exported.queries:
        row = {
            "user_input": query.alone,
            "reference": query.answer,
            "reference_contexts": _texts(query),
            "reference_context_ids": _ids(query),
            "query_style": query.notes.get("style"),
            "goldbench": exported.described(query),
        }
        rows.append({name: value for name, value in row.items() if value is not None})
    return rows


def write_deepeval(exported: ExportedSet, path: Path) -> None:
    """Write the goldens that ``add_goldens_from_json_file`` of deepeval reads."""
    write_json(path, deepeval_rows(exported))


def deepeval_rows(exported: ExportedSet) -> list[dict[str, Any]]:
    """Return the fields of each golden; ``additional_metadata`` hold what deepeval has no field for."""
    return [
        {
            "input": query.alone,
            "expected_output": query.answer,
            "context": _texts(query),
            "name": query.query_id,
            "additional_metadata": exported.described(query),
        }
        for query in exported.queries
    ]


def write_llama_index(exported: ExportedSet, path: Path) -> None:
    """Write the file that both ``EmbeddingQAFinetuneDataset`` and ``LabelledRagDataset`` of LlamaIndex 0.12 read.

    Beside the members of these classes stand grades, answers and metadata.
    """
    answered = [query for query in exported.queries if query.answer is not None]
    value = {
        "queries": {query.query_id: query.alone for query in exported.queries},
        "corpus": dict(exported.corpus()),
        "relevant_docs": {query.query_id: _ids(query) for query in exported.queries},
        "mode": "text",
        "examples": [
            {"query": query.alone, "reference_contexts": _texts(query), "reference_answer": query.answer or ""}
            for query in exported.queries
        ],
        "relevance_scores": {query.query_id: dict(query.grades) for query in exported.queries},
        "answers": {query.query_id: {"text": query.answer, "evidence": query.quotes()} for query in answered},
        "metadata": dict(exported.metadata),
    }
    write_json(path, value)


def write_langsmith(exported: ExportedSet, path: Path) -> None:
    """Write a line for each example, with the fields of ``langsmith.schemas.ExampleCreate``."""
    rows = (
        {"inputs": {"question": query.alone}, _OUTPUTS: _reference(query), "metadata": exported.described(query)}
        for query in exported.queries
    )
    write_json_lines(path, rows)


def write_phoenix(exported: ExportedSet, path: Path) -> None:
    """Write a line for each example, as Phoenix's client takes it."""
    write_json_lines(path, phoenix_examples(exported))


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


def write_promptfoo(exported: ExportedSet, path: Path) -> None:
    """Write the test cases of promptfoo."""
    write_json(path, promptfoo_cases(exported))


def promptfoo_cases(exported: ExportedSet) -> list[dict[str, Any]]:
    """Return the test cases, each with the variable ``gold``.

    promptfoo renders a variable that is a text as a template, reads a file where the text begins with ``file://``, and
    makes a test of each entry of a list. What stands inside an object stays as it is.
    """
    cases = []
    for query in exported.queries:
        gold = {"question": query.alone, "answer": query.answer, "contexts": _texts(query), "context_ids": _ids(query)}
        metadata = exported.described(query)
        cases.append({"description": query.query_id, "vars": {"gold": gold}, "metadata": metadata})
    return cases


def _texts(query: ExportedQuery) -> list[str]:
    return [context.text for context in query.contexts]


def _ids(query: ExportedQuery) -> list[str]:
    return [context.doc_id for context in query.contexts]


def _reference(query: ExportedQuery) -> dict[str, Any]:
    """Return what a good answer rests on, and the answer itself if somebody wrote one."""
    return {**({} if query.answer is None else {"answer": query.answer}), "contexts": _texts(query)}
