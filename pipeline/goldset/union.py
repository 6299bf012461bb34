"""Two gold sets made into one: what is the same is taken once, what contradicts itself is named, nothing is averaged.

One of the sets is the base: it keeps its ids. Items of the other set are put under the base's ids where their texts are
the same, and added where the base lacks them. In a conflict the base's side stands, but only if the user said so.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from goldbench.pipeline.errors import InputError
from goldbench.pipeline.goldset.counterparts import Counterparts, counterparts
from goldbench.pipeline.goldset.dataset import title_use
from goldbench.pipeline.goldset.folder import GoldFolder
from goldbench.pipeline.text.similarity import wording_digest
from goldbench.schemas.corpus import Chunk, Evidence
from goldbench.schemas.manifest import Manifest
from goldbench.schemas.query import DroppedQuery, Query
from goldbench.schemas.relevance import RELEVANT, Relevance
from goldbench.schemas.testset import TestSet

Grades = dict[str, dict[str, Relevance]]


@dataclass(frozen=True, slots=True)
class Conflict:
    """What two sets say differently: the kind, the ids in the base and in the other set, and what each side says."""

    kind: str
    base: tuple[str, ...]
    other: tuple[str, ...]
    says: tuple[str, str] = ("", "")


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two sets."""

    folder: GoldFolder
    manifest: Manifest
    dataset: TestSet
    queries: list[Query]
    unanswerable: list[Query]

    @classmethod
    def read(cls, folder: Path) -> Side:
        """Return the set in a folder.

        Raises:
            InputError: The folder is not that of a finished set, or a file is damaged.
        """
        home = GoldFolder(folder)
        manifest = home.manifest()
        return cls(home, manifest, home.dataset(), list(home.queries.read()), list(home.unanswerable.read_any()))

    def every(self) -> list[Query]:
        """Return the queries with and without an answer."""
        return [*self.queries, *self.unanswerable]

    def grades(self, query_id: str) -> dict[str, Relevance]:
        """Return the grade of each chunk for a query."""
        graded = (self.dataset.relevance_scores or {}).get(query_id)
        found = self.dataset.relevant_docs.get(query_id, ())
        return dict(graded) if graded is not None else dict.fromkeys(found, Relevance.ANSWERS)


@dataclass(frozen=True, slots=True)
class Ids:
    """The present ids of the other set's documents, chunks and queries; those that are left out are missing."""

    documents: Mapping[str, str]
    chunks: Mapping[str, str]
    queries: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Union:
    """What two sets come to; ``left_out`` is the reason for each query of the other set that is left out."""

    base: Side
    other: Side
    ids: Ids
    new_documents: set[str]
    new_chunks: set[str]
    queries: list[Query]
    unanswerable: list[Query]
    grades: Grades
    derived: dict[str, list[str]]
    conflicts: tuple[Conflict, ...]
    left_out: dict[str, str] = field(default_factory=dict)


def unite(base: Side, other: Side) -> Union:
    """Return what two sets come to, with every conflict; in each of them the base's side stands.

    Args:
        base: The set whose ids stay.
        other: The set that joins it.

    Raises:
        InputError: The sets emit titles differently, or one document is cut differently in them.
    """
    if title_use(base.dataset.metadata) is not title_use(other.dataset.metadata):
        raise InputError(
            other.folder.path, f"emits titles differently from {base.folder.path}; build one of them again"
        )
    work = _Union(base, other)
    work.join_documents()
    work.join_queries()
    return work.made()


class _Union:
    """A union under way."""

    def __init__(self, base: Side, other: Side) -> None:
        self.base, self.other = base, other
        self.conflicts: list[Conflict] = []
        self.left_out: dict[str, str] = {}
        self.doc_ids: dict[str, str] = {}
        self.chunk_ids: dict[str, str] = {}
        self.query_ids: dict[str, str] = {}
        self.new_documents: set[str] = set()
        self.new_chunks: set[str] = set()
        self.queries = {query.query_id: query for query in base.queries}
        self.unanswerable = {query.query_id: query for query in base.unanswerable}
        self.grades: Grades = {query.query_id: base.grades(query.query_id) for query in base.queries}
        self.derived = {query_id: list(found) for query_id, found in base.dataset.derived.items()}
        self.here = {query.query_id: query for query in base.every()}
        self.theirs = {query.query_id: query for query in other.every()}
        self.answered_there = {query.query_id for query in other.queries}

    @property
    def ids(self) -> Ids:
        """The present ids of the other set's items."""
        return Ids(self.doc_ids, self.chunk_ids, self.query_ids)

    def join_documents(self) -> None:
        """Find the present ids of the other set's documents and chunks."""
        read = _documents(self.base), _documents(self.other)
        found = counterparts(read[0][0], read[1][0], (read[0][1], read[1][1]))
        self.doc_ids = {other: one for one, other in found.same.items()}
        for one, other in found.changed.items():
            self.conflicts.append(Conflict("document", (one,), (other,)))
        for other in found.added:
            if other in read[0][0]:
                self.conflicts.append(Conflict("document", (other,), (other,)))
            else:
                self.doc_ids[other] = other
                self.new_documents.add(other)
        self._join_chunks({other: one for one, other in found.changed.items()})

    def _join_chunks(self, changed: Mapping[str, str]) -> None:
        """Map chunks by their place in a document of both sets, and by their text where the document is another."""
        places: dict[tuple[str, int, int], str] = {}
        by_text: dict[tuple[str, bytes], str] = {}
        taken: set[str] = set()
        stand_ins = set(changed.values())
        for chunk in self.base.folder.chunks.read():
            places[chunk.span.doc_id, chunk.span.start, chunk.span.end] = chunk.chunk_id
            taken.add(chunk.chunk_id)
            if chunk.span.doc_id in stand_ins:
                by_text.setdefault((chunk.span.doc_id, wording_digest(chunk.text)), chunk.chunk_id)
        shared = set(self.doc_ids.values()) - self.new_documents
        here = Counter(doc_id for doc_id, _, _ in places if doc_id in shared)
        for chunk in self.other.folder.chunks.read():
            doc_id = self.doc_ids.get(chunk.span.doc_id)
            if doc_id is None:
                stand_in = by_text.get((changed.get(chunk.span.doc_id, ""), wording_digest(chunk.text)))
                self.chunk_ids |= {} if stand_in is None else {chunk.chunk_id: stand_in}
            elif doc_id in self.new_documents:
                self._add_chunk(chunk, taken)
            else:
                same = places.get((doc_id, chunk.span.start, chunk.span.end))
                if same is None:
                    raise self._cut_differently(doc_id)
                self.chunk_ids[chunk.chunk_id] = same
                here[doc_id] -= 1
        uneven = next((doc_id for doc_id, count in here.items() if count), None)
        if uneven is not None:
            raise self._cut_differently(uneven)

    def _add_chunk(self, chunk: Chunk, taken: set[str]) -> None:
        if chunk.chunk_id in taken:
            raise InputError(
                self.other.folder.path, f"holds a passage {chunk.chunk_id} of another document; rename one"
            )
        self.chunk_ids[chunk.chunk_id] = chunk.chunk_id
        self.new_chunks.add(chunk.chunk_id)

    def _cut_differently(self, doc_id: str) -> InputError:
        return InputError(
            self.other.folder.path,
            f"cuts document {doc_id} into other passages than {self.base.folder.path}; rechunk one of the sets first",
        )

    def join_queries(self) -> None:
        """Add the queries and labels of the other set, and find their present ids."""
        found = counterparts(_wordings(self.base), _wordings(self.other))
        for one, other in found.changed.items():
            self._refuse(one, other, "wording")
        for other in found.added:
            if other in self.here:
                self._refuse(other, other, "wording")
        self.query_ids = {other: one for one, other in found.same.items()}
        new = [one for one in self.other.every() if one.query_id in found.added and one.query_id not in self.here]
        self.query_ids |= {query.query_id: query.query_id for query in new}
        self._join_same(found)
        held_out = _HeldOut(self.base.queries)
        for query in new:
            self._add(query, held_out)

    def _refuse(self, one: str, other: str, kind: str) -> None:
        self.conflicts.append(Conflict(kind, (one,), (other,), (self.here[one].text, self.theirs[other].text)))
        self.left_out[other] = kind

    def _join_same(self, found: Counterparts) -> None:
        for one, other in found.same.items():
            answered = one in self.queries, other in self.answered_there
            if answered[0] != answered[1]:
                said = tuple("has an answer" if has else "has no answer" for has in answered)
                self.conflicts.append(Conflict("answerable", (one,), (other,), (said[0], said[1])))
                del self.query_ids[other]
                self.left_out[other] = "answerable"
                continue
            before, after = (self.here[one].answer or "").strip(), (self.theirs[other].answer or "").strip()
            if before and after and before != after:
                self.conflicts.append(Conflict("answer", (one,), (other,), (before, after)))
            if answered[0] and after and not before:
                self.queries[one] = self.here[one].model_copy(update={"answer": self.theirs[other].answer})
            if answered[0]:
                self._join_labels(one, other)

    def _join_labels(self, one: str, other: str) -> None:
        """Add the labels of a query of both sets; a label that somebody read stands over one that nobody read."""
        grades, derived = self.grades[one], self.derived.get(one, [])
        unread = set(self.other.dataset.derived.get(other, ()))
        for chunk_id, grade in self.other.grades(other).items():
            now = self.chunk_ids.get(chunk_id)
            if now is None:
                continue
            if now not in grades or (now in derived and chunk_id not in unread):
                grades[now] = grade
                if now in derived:
                    derived.remove(now)
                if chunk_id in unread:
                    self.derived.setdefault(one, []).append(now)
            elif grades[now] != grade and not (chunk_id in unread and now not in derived):
                said = str(int(grades[now])), str(int(grade))
                self.conflicts.append(Conflict("grade", (one, now), (other, chunk_id), said))
        if not self.derived.get(one, True):
            del self.derived[one]

    def _add(self, query: Query, held_out: _HeldOut) -> None:
        """Add a query that only the other set has."""
        clash = held_out.clash(query, self.doc_ids)
        if clash is not None:
            self.conflicts.append(Conflict("held-out", (clash,), (query.query_id,)))
        grades = {
            self.chunk_ids[chunk_id]: grade
            for chunk_id, grade in self.other.grades(query.query_id).items()
            if chunk_id in self.chunk_ids
        }
        answerable = query.query_id in self.other.dataset.queries
        best = max(grades, key=lambda chunk_id: grades[chunk_id], default=None)
        if clash is not None or (answerable and (best is None or grades[best] < RELEVANT)):
            del self.query_ids[query.query_id]
            self.left_out[query.query_id] = "passage-lost" if clash is None else "held-out"
            return
        source = self.chunk_ids.get(query.chunk_id, best)
        if source is None:
            del self.query_ids[query.query_id]
            self.left_out[query.query_id] = "passage-lost"
            return
        moved = moved_query(query, source, self.ids)
        if answerable:
            self.queries[moved.query_id], self.grades[moved.query_id] = moved, grades
            unread = [self.chunk_ids.get(one) for one in self.other.dataset.derived.get(query.query_id, ())]
            kept = [one for one in unread if one is not None]
            self.derived |= {moved.query_id: kept} if kept else {}
        else:
            self.unanswerable[moved.query_id] = moved

    def made(self) -> Union:
        """Return the union."""
        return Union(
            base=self.base,
            other=self.other,
            ids=self.ids,
            new_documents=self.new_documents,
            new_chunks=self.new_chunks,
            queries=list(self.queries.values()),
            unanswerable=list(self.unanswerable.values()),
            grades=self.grades,
            derived=self.derived,
            conflicts=tuple(self.conflicts),
            left_out=self.left_out,
        )


class _HeldOut:
    """The words that queries hold out of the corpus, and those that they need in it."""

    def __init__(self, queries: list[Query]) -> None:
        self._masked: defaultdict[str, list[tuple[Evidence, str]]] = defaultdict(list)
        self._shown: defaultdict[str, list[tuple[Evidence, str]]] = defaultdict(list)
        for query in queries:
            for mask in query.masked:
                self._masked[mask.doc_id].append((mask, query.query_id))
            for item in _shown(query):
                self._shown[item.doc_id].append((item, query.query_id))

    def clash(self, query: Query, doc_ids: Mapping[str, str]) -> str | None:
        """Return a query whose held-out words this query needs in the corpus, or the other way round."""
        for spans, known in ((_shown(query), self._masked), (query.masked, self._shown)):
            for span in spans:
                now = doc_ids.get(span.doc_id)
                here = span.model_copy(update={"doc_id": now}) if now is not None else span
                for one, query_id in known.get(now or "", ()):
                    if here.meets(one):
                        return query_id
        return None


def _shown(query: Query) -> tuple[Evidence, ...]:
    return tuple(item for item in query.evidence if not any(item.meets(mask) for mask in query.masked))


def _wordings(side: Side) -> dict[str, bytes]:
    return {
        query.query_id: wording_digest(query.text, *(turn.question for turn in query.history)) for query in side.every()
    }


def _documents(side: Side) -> tuple[dict[str, bytes], dict[str, str]]:
    """Return a digest of each document's exact text, which spans refer to, and the paths of whole files."""
    digests, sources = {}, {}
    for document in side.folder.documents.read():
        digests[document.doc_id] = hashlib.blake2b(
            document.text.encode("utf-8", "surrogatepass"), digest_size=16
        ).digest()
        if "#" not in document.source:  # a row's number says nothing about which row it is
            sources[document.doc_id] = document.source
    return digests, sources


def moved_query(query: Query, source: str, ids: Ids) -> Query:
    """Return a query of the other set with the present ids of what it refers to.

    Args:
        query: The query.
        source: The present id of its source chunk.
        ids: The present ids.
    """

    def spans(found: tuple[Evidence, ...]) -> tuple[Evidence, ...]:
        known = (span for span in found if span.doc_id in ids.documents)
        return tuple(span.model_copy(update={"doc_id": ids.documents[span.doc_id]}) for span in known)

    titles = (part for part in query.masked_titles if part.doc_id in ids.documents)
    return query.model_copy(
        update={
            "chunk_id": source,
            "needs": tuple(ids.chunks[one] for one in query.needs) if ids.chunks.keys() >= {*query.needs} else (),
            "evidence": spans(query.evidence),
            "masked": spans(query.masked),
            "masked_titles": tuple(p.model_copy(update={"doc_id": ids.documents[p.doc_id]}) for p in titles),
            "original": ids.queries.get(query.original) if query.original else None,
        }
    )


def dropped_of_other(made: Union) -> Iterator[DroppedQuery]:
    """Yield the queries that the other set's grading left out, unless one of their wording is there now."""
    present = [*made.queries, *made.unanswerable]
    here = {wording_digest(query.text) for query in present}
    names = {query.query_id for query in present} | {one.query.query_id for one in made.base.folder.ungraded.read_any()}
    for item in made.other.folder.ungraded.read_any():
        query, source = item.query, made.ids.chunks.get(item.query.chunk_id)
        if source is not None and query.query_id not in names and wording_digest(query.text) not in here:
            moved = moved_query(query, source, made.ids)
            yield item.model_copy(update={"position": len(present) + item.position, "query": moved})
