"""AutoRAG: a table of questions with the passages that answer them, and a table of passages.

``retrieval_gt`` is a list of groups: of each group one passage has to be found. Groups of one passage, which may share
others, make a question that needs several passages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from goldbench.errors import InputError
from goldbench.formats.benchmarks.answered_rows import cited_ids, noted_topic
from goldbench.formats.benchmarks.collection import Chosen, Collection, Entry, Qrel, Topic, table_rows
from goldbench.formats.benchmarks.folders import choose, no_folder
from goldbench.formats.faults import Fault, Location, in_file, read_rows
from goldbench.formats.interchange_names import AUTORAG_CORPUS, AUTORAG_QA
from goldbench.formats.json_maps import parse_json
from goldbench.formats.runs.trec import is_grade
from goldbench.measures.ranks.judged_ranks import GRADES
from goldbench.records.relevance import Relevance
from goldbench.text.display import shown

T = TypeVar("T")

_OWN = "goldbench"
"""The column in which an export of goldbench keeps what AutoRAG has no column for."""


def read_autorag(path: Path, chosen: Chosen) -> Collection:
    """Return the collection in a folder with both tables; its judgments count as a model's.

    A passage that is named answers its question (grade 3), unless the table is an export of goldbench with its grades.

    Raises:
        InputError: A table is missing.
        UsageError: There are several to choose from.
    """
    if not path.is_dir():
        raise InputError(shown(path), no_folder(path, f"{AUTORAG_QA} and {AUTORAG_CORPUS}"))
    questions = choose(path, chosen.queries, (AUTORAG_QA, "qa*.parquet"), what="queries", split=chosen.split)
    corpus = choose(path, chosen.corpus, (AUTORAG_CORPUS, "corpus*.parquet"), what="corpus")
    return Collection(
        kind="autorag",
        documents=lambda: _rows(corpus, _entry),
        queries=lambda: _with_quotes(questions, corpus),
        judgments=lambda: (qrel for judged in _rows(questions, _judged) for qrel in judged),
        names=(shown(corpus), shown(questions), shown(questions)),
        files=(corpus, questions),
        level="model",
    )


def _rows(path: Path, read: Callable[[Location, Mapping[str, Any]], T]) -> Iterator[T]:
    with in_file(path):
        yield from read_rows(table_rows(path), read)


def _text(row: Mapping[str, Any], column: str) -> str:
    value = row.get(column)
    if not isinstance(value, str):
        raise Fault(f"has no {column} that is a string")
    return value


def _entry(location: Location, row: Mapping[str, Any]) -> Entry:
    return Entry(_text(row, "doc_id"), "", _text(row, "contents"), location)


def _groups(row: Mapping[str, Any]) -> list[list[str]]:
    """Return the groups of passages; AutoRAG takes an id, a list of ids, and a list of such lists."""
    members = row.get("retrieval_gt")
    groups = [members] if isinstance(members, str) else members
    if isinstance(groups, Sequence) and all(isinstance(member, str) for member in groups):
        groups = [groups]
    if not isinstance(groups, Sequence) or not all(isinstance(group, Sequence) for group in groups):
        raise Fault("has no retrieval_gt that is a list of lists of ids")
    if not all(isinstance(doc_id, str) for group in groups for doc_id in group):
        raise Fault("has an id in retrieval_gt that is not a string")
    return [list(dict.fromkeys(group)) for group in groups if group]


def _needed(groups: list[list[str]]) -> tuple[str, ...]:
    """Return the passages that are all needed: those that groups do not share, if each group has one."""
    shared = set.intersection(*map(set, groups)) if groups else set()
    alone = [[doc_id for doc_id in group if doc_id not in shared] for group in groups]
    needed = tuple(dict.fromkeys(doc_id for group in alone for doc_id in group))
    return needed if len(groups) > 1 and len(needed) == len(groups) == sum(map(len, alone)) else ()


def _known(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what an export of goldbench knows of a question beside AutoRAG's columns; empty in other tables."""
    own = row.get(_OWN)
    notes = parse_json(own.encode()) if isinstance(own, str) else None
    return notes if isinstance(notes, Mapping) else {}


def _with_quotes(path: Path, corpus: Path) -> Iterator[Topic]:
    """Yield the questions with the quotes of their answers, as far as an export of goldbench has them."""
    cited = {doc_id for ids in _rows(path, lambda _, row: [*cited_ids(_known(row).get("evidence"))]) for doc_id in ids}
    passages = {entry.doc_id: entry.text for entry in _rows(corpus, _entry) if entry.doc_id in cited} if cited else {}
    return _rows(path, lambda location, row: _topic(location, row, passages))


def _topic(location: Location, row: Mapping[str, Any], passages: Mapping[str, str]) -> Topic:
    answers = row.get("generation_gt")
    answer = answers if isinstance(answers, str) else next(iter(answers if isinstance(answers, Sequence) else ()), None)
    question = {"id": _text(row, "qid"), "text": _text(row, "query")}
    return noted_topic(location, question, answer, _known(row), passages)._replace(needs=_needed(_groups(row)))


def _judged(location: Location, row: Mapping[str, Any]) -> list[Qrel]:
    query_id = _text(row, "qid")
    grades = _known(row).get("grades")
    if not isinstance(grades, Mapping):
        grades = dict.fromkeys((doc_id for group in _groups(row) for doc_id in group), int(Relevance.ANSWERS))
    if not all(map(is_grade, grades.values())):
        raise Fault(f"has a grade in {_OWN} that is not {GRADES}")
    return [Qrel(query_id, doc_id, int(grade), location) for doc_id, grade in grades.items()]
