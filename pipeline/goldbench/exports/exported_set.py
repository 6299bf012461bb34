"""A gold set as other tools take it: each query with its passages, its reference answer and what is known of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from goldbench.errors import InputError
from goldbench.goldset.file_names import DATASET
from goldbench.goldset.folder import GoldFolder
from goldbench.goldset.gold_path import (
    answers_of_queries,
    each_document,
    holds_no_query,
    members_of,
    metadata_of,
    metadata_of_queries,
    notes_of_queries,
    read_gold,
    texts_of_documents,
    texts_of_queries,
)
from goldbench.text.display import shown

_NOTES = ("kind", "style", "language", "frequency", "traffic")
"""What a build notes of a query and other tools can filter by; the level of difficulty is added to these."""


class Context(NamedTuple):
    """A relevant passage of a query."""

    doc_id: str
    text: str
    grade: int


class Quote(NamedTuple):
    """Words that a reference answer rests on, and the passage they stand in, None if no relevant one holds them."""

    text: str
    doc_id: str | None


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
    evidence: tuple[Quote, ...] = ()
    source: str | None = None
    needs: tuple[str, ...] = ()
    history: tuple[tuple[str, str | None], ...] = ()
    standalone: str | None = None
    answerable: bool = True
    notes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def alone(self) -> str:
        """The query as it is understood without earlier turns; passages are judged for this text."""
        return self.standalone or self.text

    def quotes(self) -> list[dict[str, str | None]]:
        """Return the evidence of the answer, as JSON takes it."""
        return [{"quote": quote.text, "chunk_id": quote.doc_id} for quote in self.evidence]

    def described(self) -> dict[str, Any]:
        """Return what a target has no field for, as JSON takes it; only what there is."""
        turns = [{"question": asked, **({"answer": said} if said else {})} for asked, said in self.history]
        found = {
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
        return {name: value for name, value in found.items() if value not in (None, [], "")}


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
    members = members_of(path, search=True) or _members_of_copy(path)
    unanswerable: Mapping[str, str] = members.get("unanswerable", {})
    home = GoldFolder(path if path.is_dir() else path.parent)
    written = {query.query_id: query.model_dump(mode="json") for query in home.unanswerable.read_any()}
    known = _QueryMembers(members, answers_of_queries(path), {**written, **notes_of_queries(path)})
    relevant = {query_id: _ranked(grades.get(query_id, {}), level, known.source(query_id)) for query_id in texts}
    passages = texts_of_documents(path, {doc_id for found in relevant.values() for doc_id in found})
    found = [
        known.query(query_id, text, grades.get(query_id, {}), _contexts(path, query_id, relevant[query_id], passages))
        for query_id, text in texts.items()
    ]
    found += [
        replace(known.query(query_id, text, {}, ()), answerable=False)
        for query_id, text in unanswerable.items()
        if query_id not in texts
    ]
    return ExportedSet(
        name=path.resolve().name if path.is_dir() else path.resolve().parent.name,
        queries=tuple(found),
        corpus=lambda: each_document(path),
        level=level,
        metadata=metadata_of(path),
        waiting=len(home.waiting()),
    )


def _members_of_copy(path: Path) -> dict[str, dict[str, Any]]:
    """Return the conversations that the metadata of a BEIR folder hold, as the members of a set."""
    found = metadata_of_queries(path)
    return {
        name: {key: metadata[name] for key, metadata in found.items() if name in metadata}
        for name in ("history", "standalone")
    }


@dataclass(frozen=True, slots=True)
class _QueryMembers:
    """What the files of a set hold of its queries, by query id."""

    members: Mapping[str, Mapping[str, Any]]
    answers: Mapping[str, Mapping[str, Any]]
    notes: Mapping[str, Mapping[str, Any]]

    def source(self, query_id: str) -> str | None:
        found = self.notes.get(query_id, {}).get("chunk_id")
        return found if isinstance(found, str) else None

    def query(
        self, query_id: str, text: str, grades: Mapping[str, int], contexts: Iterable[tuple[str, str]]
    ) -> ExportedQuery:
        answer = self.answers.get(query_id, {})
        said = answer.get("text")
        return ExportedQuery(
            query_id=query_id,
            text=text,
            contexts=tuple(Context(doc_id, passage, grades[doc_id]) for doc_id, passage in contexts),
            grades=grades,
            answer=said if isinstance(said, str) and said.strip() else None,
            evidence=tuple(_quotes(answer.get("evidence"))),
            source=self.source(query_id),
            needs=tuple(self._texts("needs", query_id)),
            history=tuple(_turns(self._member("history", query_id))),
            standalone=next(self._texts("standalone", query_id), None),
            notes=dict(self._notes(query_id)),
        )

    def _member(self, name: str, query_id: str) -> object:
        return self.members.get(name, {}).get(query_id)

    def _texts(self, name: str, query_id: str) -> Iterator[str]:
        """Yield the texts of a member that holds one text, or a list of texts, for a query."""
        member = self._member(name, query_id)
        yield from (one for one in (member if isinstance(member, list) else [member]) if isinstance(one, str))

    def _notes(self, query_id: str) -> Iterator[tuple[str, Any]]:
        notes = self.notes.get(query_id, {})
        yield from ((name, notes[name]) for name in _NOTES if notes.get(name) is not None)
        difficulty = notes.get("difficulty")
        if isinstance(difficulty, Mapping) and isinstance(difficulty.get("level"), str):
            yield "difficulty", difficulty["level"]


def _quotes(found: object) -> Iterator[Quote]:
    """Yield the evidence of an answer; what other tools write into a field of that name may be anything."""
    for one in found if isinstance(found, list) else ():
        if isinstance(one, Mapping) and isinstance(one.get("quote"), str):
            doc_id = one.get("chunk_id")
            yield Quote(one["quote"], doc_id if isinstance(doc_id, str) else None)


def _turns(found: object) -> Iterator[tuple[str, str | None]]:
    """Yield the turns before a query; see `_quotes`."""
    for one in found if isinstance(found, list) else ():
        if isinstance(one, Mapping) and isinstance(one.get("question"), str):
            answer = one.get("answer")
            yield one["question"], answer if isinstance(answer, str) else None


def _ranked(grades: Mapping[str, int], level: int, source: str | None) -> list[str]:
    """Return the relevant passages, the highest grade first, of equals the source first."""
    relevant = [doc_id for doc_id, grade in grades.items() if grade >= level]
    return sorted(relevant, key=lambda doc_id: (-grades[doc_id], doc_id != source, doc_id))


def _contexts(
    path: Path, query_id: str, relevant: Iterable[str], texts: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    for doc_id in relevant:
        if doc_id not in texts:
            problem = f"query {shown(query_id)}: the text of passage {shown(doc_id)} is missing"
            raise InputError(shown(path), f"{problem}; give the folder of a set with its corpus")
        yield doc_id, texts[doc_id]
