"""A gold set as other tools take it: each query with its passages, its reference answer and what is known of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from goldbench.errors import InputError
from goldbench.formats.faults import explain
from goldbench.goldset.file_names import DATASET
from goldbench.goldset.folder import GoldFolder
from goldbench.goldset.gold_path import (
    each_document,
    holds_no_query,
    members_of,
    metadata_of,
    notes_of_queries,
    read_gold,
    texts_of_documents,
    texts_of_queries,
)
from goldbench.records.query import Turn
from goldbench.records.record import Record
from goldbench.records.testset import Answer, Citation
from goldbench.text.display import shown

_NOTES = ("kind", "style", "language", "frequency", "traffic")
"""What a build notes of a query and other tools can filter by; the level of difficulty is added to these."""


class Context(NamedTuple):
    """A relevant passage of a query."""

    doc_id: str
    text: str
    grade: int


@dataclass(frozen=True, slots=True)
class ExportedQuery:
    """A query with everything that is known of it.

    ``text`` is the query as it was asked, in a conversation its last turn. ``contexts`` are the relevant passages, the
    highest grade first, ``grades`` the grades of all judged ones. ``answer`` is the reference answer, None if nobody
    wrote one. ``source`` is the passage that the query was written from, ``needs`` are the passages that are all
    needed. ``answerable`` is False if nothing in the corpus answers the query. ``notes`` hold its kind, style,
    language, level of difficulty and how often users asked it, as far as they are known.
    """

    query_id: str
    text: str
    contexts: tuple[Context, ...] = ()
    grades: Mapping[str, int] = field(default_factory=dict)
    answer: str | None = None
    evidence: tuple[Citation, ...] = ()
    source: str | None = None
    needs: Sequence[str] = ()
    history: Sequence[Turn] = ()
    standalone: str | None = None
    answerable: bool = True
    notes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def alone(self) -> str:
        """The query as it is understood without earlier turns; passages are judged for this text."""
        return self.standalone or self.text

    def quotes(self) -> list[dict[str, str | None]]:
        """Return the evidence of the answer, as JSON takes it."""
        return [citation.model_dump(mode="json") for citation in self.evidence]

    def described(self) -> dict[str, Any]:
        """Return what a target has no field for, as JSON takes it; only what there is."""
        turns = [turn.model_dump(mode="json", exclude_none=True) for turn in self.history]
        described = {
            "query_id": self.query_id,
            "context_ids": [context.doc_id for context in self.contexts],
            "grades": dict(self.grades),
            "answerable": self.answerable,
            "source": self.source,
            "needs": list(self.needs),
            "evidence": self.quotes(),
            "asked": self.text if self.alone != self.text else None,
            "history": turns,
            **self.notes,
        }
        return {name: value for name, value in described.items() if value not in (None, [], "")}


@dataclass(frozen=True, slots=True)
class ExportedSet:
    """A gold set.

    ``corpus`` yields id and text of every passage, read anew each time. ``level`` is the lowest relevant grade,
    ``metadata`` tell how the set was made. ``waiting`` counts queries without a label; they are not in ``queries``.
    """

    name: str
    queries: tuple[ExportedQuery, ...]
    corpus: Callable[[], Iterable[tuple[str, str]]]
    level: int = 1
    metadata: Mapping[str, Any] = field(default_factory=dict)
    waiting: int = 0

    def with_contexts(self) -> ExportedSet:
        """Return the set without the queries that have no relevant passage."""
        return replace(self, queries=tuple(query for query in self.queries if query.contexts))

    def described(self, query: ExportedQuery) -> dict[str, Any]:
        """Return what a file of rows keeps of a query and, as such a file has no other place for it, of the set."""
        return {**query.described(), "relevant_from": self.level, **self.trust}

    @property
    def trust(self) -> dict[str, Any]:
        """Who judged the set, and its warning; only what there is."""
        return {name: self.metadata[name] for name in ("evidence_level", "notice") if self.metadata.get(name)}

    @property
    def contexts(self) -> int:
        """How many relevant passages the queries have, one that is relevant to two queries counted twice."""
        return sum(len(query.contexts) for query in self.queries)

    @property
    def references(self) -> int:
        """How many queries have a reference answer."""
        return sum(query.answer is not None for query in self.queries)


def read_set(path: Path, grades: Mapping[str, Mapping[str, int]] | None = None, level: int = 1) -> ExportedSet:
    """Return a gold set with the texts of its relevant passages.

    Args:
        path: The folder of a set, its ``dataset.json``, or a BEIR folder.
        grades: The judgments, if they were read already.
        level: The lowest relevant grade of these judgments.

    Raises:
        InputError: There is no set, it has no texts, or something in it is wrong.
    """
    if not path.exists():
        raise InputError(shown(path), "not found; give the folder of a gold set")
    if grades is None:
        grades, level = read_gold(path)
    texts = texts_of_queries(path)
    if not texts:
        if not grades and (path / DATASET).is_file():
            raise InputError(shown(path), holds_no_query(path))
        raise InputError(shown(path), "has no texts of queries to export; give the folder of a set, not its judgments")
    members = _read_members(path)
    home = GoldFolder(path if path.is_dir() else path.parent)
    written = {query.query_id: query.model_dump(mode="json") for query in home.unanswerable.read_any()}
    notes = {**written, **notes_of_queries(path)}
    relevant = {
        query_id: _ranked(grades.get(query_id, {}), level, notes.get(query_id, {}).get("chunk_id"))
        for query_id in texts
    }
    passages = texts_of_documents(path, {doc_id for doc_ids in relevant.values() for doc_id in doc_ids})
    queries = [
        replace(
            members.query(query_id, text, notes.get(query_id, {})),
            grades=grades.get(query_id, {}),
            contexts=tuple(
                Context(doc_id, passages[doc_id], grades[query_id][doc_id])
                for doc_id in _with_text(path, query_id, relevant[query_id], passages)
            ),
        )
        for query_id, text in texts.items()
    ]
    unanswerable = [
        replace(members.query(query_id, text, notes.get(query_id, {})), answerable=False)
        for query_id, text in members.unanswerable.items()
    ]
    return ExportedSet(
        name=path.resolve().name if path.is_dir() else path.resolve().parent.name,
        queries=(*queries, *unanswerable),
        corpus=lambda: each_document(path),
        level=level,
        metadata=metadata_of(path),
        waiting=len(home.waiting()),
    )


class _Members(Record):
    """What a ``dataset.json`` says of single queries."""

    needs: dict[str, list[str]]
    unanswerable: dict[str, str]
    answers: dict[str, Answer]
    history: dict[str, list[Turn]]
    standalone: dict[str, str]

    def query(self, query_id: str, text: str, notes: Mapping[str, Any]) -> ExportedQuery:
        """Return a query without its passages; ``notes`` are what a build noted of it."""
        answer = self.answers.get(query_id)
        known = {name: notes[name] for name in _NOTES if notes.get(name) is not None}
        if notes.get("difficulty"):
            known["difficulty"] = notes["difficulty"]["level"]
        return ExportedQuery(
            query_id=query_id,
            text=text,
            answer=answer.text if answer else None,
            evidence=answer.evidence if answer else (),
            source=notes.get("chunk_id"),
            needs=self.needs.get(query_id, ()),
            history=self.history.get(query_id, ()),
            standalone=self.standalone.get(query_id),
            notes=known,
        )


def _read_members(path: Path) -> _Members:
    members = members_of(path, search=True)
    try:
        return _Members.model_validate({name: members.get(name, {}) for name in _Members.model_fields})
    except ValidationError as error:
        raise InputError(path, explain(error)) from None


def _ranked(grades: Mapping[str, int], level: int, source: str | None) -> list[str]:
    """Return the relevant passages, the highest grade first, of equals the source first."""
    relevant = [doc_id for doc_id, grade in grades.items() if grade >= level]
    return sorted(relevant, key=lambda doc_id: (-grades[doc_id], doc_id != source, doc_id))


def _with_text(path: Path, query_id: str, doc_ids: Iterable[str], texts: Mapping[str, str]) -> Iterator[str]:
    """Yield passages; refuse one whose text is missing."""
    for doc_id in doc_ids:
        if doc_id not in texts:
            problem = f"query {shown(query_id)}: the text of passage {shown(doc_id)} is missing"
            raise InputError(shown(path), f"{problem}; give the folder of a set with its corpus")
        yield doc_id
