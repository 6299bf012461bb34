"""Labels of one or several assessors: judgments of models, reviews of people, or qrels in any form."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from goldbench.errors import InputError
from goldbench.formats.faults import Fault
from goldbench.formats.lines import json_objects
from goldbench.formats.packed_files import Source
from goldbench.formats.runs.judgments import Grades
from goldbench.formats.runs.run_tables import kind_of
from goldbench.formats.runs.trec import is_grade
from goldbench.goldset.folder import GoldFolder
from goldbench.goldset.gold_path import read_gold
from goldbench.measures.statistics.agreement import combined
from goldbench.records.judgment import Judgment
from goldbench.text.display import amount, shown

_DOCUMENT = ("chunk_id", "doc_id", "docid", "corpus-id", "corpus_id")
_QUERY = ("query_id", "query-id", "qid")
_GRADE = ("relevance", "first_grade", "grade", "label", "score")
_ASSESSOR = ("assessor", "annotator", "rater", "judge", "reviewer")
_SUFFIXES = (".gz", ".zst", ".zstd", ".jsonl", ".json", ".csv", ".tsv", ".txt", ".trec", ".qrels", ".parquet")
_TARGETED = "B"
"""The review lane of pairs that were picked because they look wrong, and so are not a sample."""


@dataclass(slots=True)
class Labels:
    """The grade by query and document; the rounded mean of several assessors.

    ``weights`` holds for a pair the inverse of the probability with which it was drawn, if that is known. ``remarks``
    are lines about rubrics and about judgments that were left out, ``planted`` the judgments of pairs made up to test
    the judge.
    """

    name: str
    path: Path
    grades: Grades
    weights: dict[str, dict[str, float]] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    planted: list[Judgment] = field(default_factory=list)


def read_labels(argument: str) -> Labels:
    """Return the labels in a file or folder.

    Args:
        argument: The path of JSON Lines of judgments or reviews, of TREC or BEIR qrels, a table, ``dataset.json``, or
            the folder of a run.

    Raises:
        InputError: It cannot be read, or something in it is wrong.
    """
    labels = _read(argument)
    if not any(labels.grades.values()):
        problem = "holds no judgment; give lines of query, 0, passage and grade, or the folder of a gold set"
        raise InputError(shown(argument), problem)
    return labels


def _read(argument: str) -> Labels:
    path = Path(argument)
    name = path.resolve().name
    for suffix in _SUFFIXES:
        name = name.removesuffix(suffix)
    name = shown(name or path)
    if path.is_dir():
        judgments = GoldFolder(path).judgments
        if judgments.exists():
            return _read_lines(Source(judgments.path), path.name)
    elif kind_of(source := Source(argument)) == "jsonl":
        return _read_lines(source, name)
    return Labels(name, path, read_gold(argument)[0])


def _read_lines(source: Source, name: str) -> Labels:
    labels = Labels(name, source.path, {})
    assessed: dict[tuple[str, str], dict[str, int]] = {}
    canaries = targeted = 0
    rubrics: Counter[str] = Counter()
    for line, record in json_objects(source):
        if "client_id" in record:
            raise Fault("is a ledger of acts, not of grades; export the reviews", line=line).of(source.name)
        if record.get("canary") is not None:
            canaries += 1
            with contextlib.suppress(ValidationError):  # another tool's record of a check has no figures to give
                labels.planted.append(Judgment.model_validate(record))
        elif record.get("lane") == _TARGETED:
            targeted += 1
        else:
            rubric = record.get("rubric") or record.get("rubric_sha")
            rubrics.update([rubric] if isinstance(rubric, str) else [])
            try:
                _add_record(labels, assessed, record)
            except Fault as fault:
                raise fault.at(line).of(source.name) from None
    for (query_id, doc_id), grades in assessed.items():
        known = [grade for grade in grades.values() if grade >= 0] or list(grades.values())
        labels.grades.setdefault(query_id, {})[doc_id] = combined(known)
    if rubrics:
        uses = ", ".join(f"{shown(rubric)} ({amount(count, 'judgment')})" for rubric, count in sorted(rubrics.items()))
        labels.remarks.append(f"{name}: judged by rubric {uses}")
    if canaries:
        labels.remarks.append(f"{name}: {amount(canaries, 'judge check')} left out")
    if targeted:
        reviews = f"{amount(targeted, 'review')} of likely judge errors left out: not a random sample"
        labels.remarks.append(f"{name}: {reviews}")
    return labels


def _add_record(labels: Labels, assessed: dict[tuple[str, str], dict[str, int]], record: Mapping[str, Any]) -> None:
    query_id = _text(record, _QUERY)
    doc_id = _text(record, _DOCUMENT)
    assessor = _text(record, _ASSESSOR, default=labels.name)
    grade: Any = next((record[name] for name in _GRADE if record.get(name) is not None), None)
    if not is_grade(grade):
        raise Fault("has no relevance (or grade) that is a whole number")
    grades = assessed.setdefault((query_id, doc_id), {})
    if assessor in grades:
        raise Fault(f"{shown(assessor)} graded {doc_id!r} for query {query_id!r} already; keep one of the two")
    grades[assessor] = int(grade)
    inclusion = record.get("inclusion")
    if isinstance(inclusion, int | float) and not isinstance(inclusion, bool) and 0 < inclusion <= 1:
        labels.weights.setdefault(query_id, {})[doc_id] = 1 / inclusion


def _text(record: Mapping[str, Any], names: tuple[str, ...], *, default: str | None = None) -> str:
    value = next((record[name] for name in names if record.get(name) is not None), default)
    if not isinstance(value, str) or not value:
        raise Fault(f"has no {names[0]} that is a string")
    return value
