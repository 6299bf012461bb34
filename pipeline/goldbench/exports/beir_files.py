"""The files that several targets read, in BEIR's layout; every text is the one that goldbench searches."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

from goldbench.exports.exported_set import ExportedQuery, ExportedSet
from goldbench.exports.json_files import write_json, write_json_lines
from goldbench.formats.dataset_card import is_own_scale, meaning_of
from goldbench.formats.interchange_names import (
    BEIR_CORPUS,
    BEIR_QUERIES,
    BEIR_TEST_QRELS,
    EXPORT_ABOUT,
    JUDGMENT_COLUMNS,
)
from goldbench.text.language import main_language

_UNFIT = re.compile(r"[^A-Za-z0-9]+")


def write_beir(exported: ExportedSet, folder: Path) -> None:
    """Write corpus, queries, judgments and what is known of the set.

    Args:
        exported: The set.
        folder: The folder; files of these names are replaced.
    """
    write_json_lines(folder / BEIR_CORPUS, corpus_rows(exported))
    write_json_lines(folder / BEIR_QUERIES, (_query_row(query) for query in exported.queries))
    table = folder / BEIR_TEST_QRELS
    table.parent.mkdir(exist_ok=True)
    with table.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, delimiter="\t", lineterminator="\n")
        rows.writerow(JUDGMENT_COLUMNS)
        rows.writerows(judgments(exported))
    files_of = {"corpus": BEIR_CORPUS, "queries": BEIR_QUERIES, "qrels": BEIR_TEST_QRELS}
    write_json(folder / EXPORT_ABOUT, {**about(exported), "files": files_of})


def corpus_rows(exported: ExportedSet) -> Iterator[dict[str, Any]]:
    """Yield BEIR's row of each passage. The title is part of the text, so that none is joined to it twice."""
    return ({"_id": doc_id, "title": "", "text": text} for doc_id, text in exported.corpus())


def _query_row(query: ExportedQuery) -> dict[str, Any]:
    answer = {"text": query.answer} if query.answer is not None else None
    metadata = {"answer": answer} if answer else {}
    return {"_id": query.query_id, "text": query.alone, "answer": query.answer or "", "metadata": metadata}


def judgments(exported: ExportedSet) -> Iterator[tuple[str, str, int]]:
    """Yield query, passage and grade of each judgment, in the order of the queries and of the passages' ids."""
    for query in exported.queries:
        for doc_id in sorted(query.grades):
            yield query.query_id, doc_id, query.grades[doc_id]


def about(exported: ExportedSet) -> dict[str, Any]:
    """Return what a reader of the files must know of the set, and what `goldbench import` keeps of it."""
    seen = sorted({grade for _, _, grade in judgments(exported)})
    own = is_own_scale(seen, exported.level)
    return {
        "name": identifier(exported.name),
        "relevant_from": exported.level,
        "languages": languages(exported),
        "grades": {str(grade): meaning_of(grade, exported.level, own=own) for grade in seen},
        **exported.trust,
    }


def write_with_module(exported: ExportedSet, place: Path, module: str) -> None:
    """Write the files of `write_beir`, and a module that reads them.

    Args:
        exported: The set.
        place: An empty folder.
        module: The file's name of a module of ``standalone``.
    """
    write_beir(exported, place)
    copy_module(module, place)


def copy_module(name: str, place: Path) -> None:
    """Copy a module of ``standalone`` into an export.

    Args:
        name: Its file's name.
        place: The folder of the export.
    """
    (place / name).write_bytes((files("goldbench.exports.standalone") / name).read_bytes())


def languages(exported: ExportedSet) -> list[str]:
    """Return the languages of the queries (ISO 639-1), the most frequent first; empty if they are not clear."""
    noted = Counter(one for query in exported.queries if isinstance(one := query.notes.get("language"), str))
    if noted:
        return sorted(noted, key=lambda code: (-noted[code], code))
    found = main_language([query.alone for query in exported.queries])
    return [found] if found else []


def identifier(name: str) -> str:
    """Return a name that is valid wherever other tools keep one: letters and digits in words, joined by hyphens."""
    return _UNFIT.sub("-", name).strip("-")[:60] or "set"
