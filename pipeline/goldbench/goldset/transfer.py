"""What a set keeps when its documents change: queries, labels, judgments. No file is opened here.

A passage is known by its text, evidence by its words and their surroundings. A passage whose text is still there keeps
its grades, whatever its id is now. Of a changed one, a relevant grade goes to the passages that hold the evidence for
it; any other grade is dropped, so that nobody has judged the passage.

The caller decides which labels count. In a set that nobody judged, labels follow from the evidence: label the kept
queries with ``stages.assemble.label_needed`` at `KeptQuery.positions`, lay `KeptQuery.labels` over that, without
`KeptQuery.derived`, and add the derived labels anew (``add_derived``), so that new copies of an answer are labelled. In
a judged set take `KeptQuery.labels` as they are. What is measured over the corpus (difficulty) is measured anew.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TypeAlias, TypeVar

from goldbench.ports import StoredRecords
from goldbench.records.corpus import Chunk, Document, Evidence
from goldbench.records.judgment import Judgment, PooledPair
from goldbench.records.query import NOWHERE, JudgedPassage, Query, RetiredQuery, TextRelevance
from goldbench.records.relevance import RELEVANT, Relevance
from goldbench.stages.lineage import KnownPassage, passages_of, successors
from goldbench.stages.project import Cuts, holding, judged_passage, project
from goldbench.text.evidence import Stretch, StretchMatch
from goldbench.text.similarity import plain

TELLING = 40
"""Characters of a stretch that are enough to tell it from another one, if nothing around it does."""
GONE = "its evidence is no longer in the documents, or only where it cannot be told from other places with its words"

Labels: TypeAlias = Mapping[str, Mapping[str, Relevance]]
_Pair = TypeVar("_Pair", PooledPair, Judgment)
_Holder = TypeVar("_Holder")


@dataclass(frozen=True, slots=True)
class ComparedCorpus:
    """The documents of a set and its chunks in the order of the text; both are read more than once, and never held."""

    documents: StoredRecords[Document]
    chunks: StoredRecords[Chunk]


@dataclass(frozen=True, slots=True)
class OldSet:
    """The set before the documents changed.

    Args:
        corpus: Its documents and chunks.
        queries: Its queries, with the noisy forms of others.
        unanswerable: The queries that nothing in it answers.
        left_out: The queries that grading or a review left out; they may have no labels.
        labels: The grades by query and chunk.
        derived: The chunks, by query, that are labelled although nobody read them.
        quotes: What judges quoted from a chunk, by query and chunk.
        waiting: The ids of the queries that came without a label.
    """

    corpus: ComparedCorpus
    queries: Sequence[Query]
    unanswerable: Sequence[Query] = ()
    left_out: Sequence[Query] = ()
    labels: Labels = field(default_factory=dict)
    derived: Mapping[str, Sequence[str]] = field(default_factory=dict)
    quotes: Mapping[tuple[str, str], Sequence[str]] = field(default_factory=dict)
    waiting: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class KeptQuery:
    """A query whose evidence still stands.

    Args:
        query: The query, with the ids and spans of today.
        labels: Its grades by chunk; those of passages whose text is still there, and those the evidence decides.
        derived: The chunks among them that are labelled although nobody read them.
        moved: Whether the text of the passage that it was written from changed.
        positions: The positions of the chunks that it needs in the corpus, from 0, the source first.
        origins: The earlier chunk that each grade comes from, by the chunk of today.
        unjudged: How many of its earlier grades were dropped, because the passage is gone or changed.
    """

    query: Query
    labels: Mapping[str, Relevance]
    derived: tuple[str, ...]
    moved: bool
    positions: tuple[int, ...]
    origins: Mapping[str, str]
    unjudged: int


@dataclass(frozen=True, slots=True)
class Transfer:
    """What is left of a set.

    Args:
        queries: Its queries in their order, each kept or retired.
        unanswerable: The queries that nothing answered; all are kept.
        left_out: The queries that grading or a review left out, each kept if its evidence stands, or retired.
        passages: The id of today of each earlier chunk whose text is still there.
        waiting: The ids of queries that came without a label; their pool and judgments hold for equal texts.
        new_documents: The documents of today whose source was not there before.
    """

    queries: tuple[KeptQuery | RetiredQuery, ...]
    unanswerable: tuple[Query, ...]
    left_out: tuple[KeptQuery | RetiredQuery, ...]
    passages: Mapping[str, str]
    waiting: frozenset[str] = frozenset()
    new_documents: frozenset[str] = frozenset()

    @property
    def kept(self) -> list[KeptQuery]:
        """The queries that are kept."""
        return [heir for heir in self.queries if isinstance(heir, KeptQuery)]

    @property
    def retired(self) -> list[RetiredQuery]:
        """The queries that are retired, as they were, each with its reason."""
        return [heir for heir in self.queries if isinstance(heir, RetiredQuery)]

    def pairs(self, records: Iterable[_Pair]) -> Iterator[_Pair]:
        """Yield the rows of a pool, or the judgments, that hold today, with the ids of today.

        They are those of the queries here about passages whose text is still there, and those behind a grade that the
        evidence gave to another passage. Judge checks only hold for a text that is still there. Use it for judgments of
        pairs, for checks of sources, and for those that show that nothing answers a query.
        """
        labelled: list[KeptQuery] = [heir for heir in (*self.queries, *self.left_out) if isinstance(heir, KeptQuery)]
        graded: dict[tuple[str, str], list[str]] = {}
        for heir in labelled:
            for chunk_id, origin in heir.origins.items():
                graded.setdefault((heir.query.query_id, origin), []).append(chunk_id)
        query_ids = {query.query_id for query in (*self.unanswerable, *(heir.query for heir in labelled))}
        query_ids |= self.waiting
        origins: dict[tuple[str, str], str] = {}
        for record in records:
            if record.query_id not in query_ids:
                continue
            targets = [self.passages[record.chunk_id]] if record.chunk_id in self.passages else []
            if not (isinstance(record, Judgment) and record.canary is not None):
                targets = graded.get((record.query_id, record.chunk_id), targets)
            for chunk_id in targets:
                if origins.setdefault((record.query_id, chunk_id), record.chunk_id) == record.chunk_id:
                    shared = self.passages.get(record.shared_from or "")
                    yield record.model_copy(update={"chunk_id": chunk_id, "shared_from": shared})


def transfer_queries(old: OldSet, corpus: ComparedCorpus) -> Transfer:
    """Return what of a set holds for the documents and chunks of today."""
    matches = _Matches(old.corpus, corpus)
    rests_on = _evidence_of_changed_passages(old, matches)
    sought = [item for query in (*old.queries, *old.left_out, *old.unanswerable) for item in query.evidence]
    sought += [item for evidence in rests_on.values() for item in evidence]
    carrier = _Carrier(old, matches, rests_on, _Locator(matches).locate(sought))
    return Transfer(
        queries=tuple(carrier.carry(query) for query in old.queries),
        unanswerable=tuple(carrier.carry_unanswerable(query) for query in old.unanswerable),
        left_out=tuple(carrier.carry_left_out(query) for query in old.left_out),
        passages=matches.same,
        waiting=old.waiting,
        new_documents=frozenset(matches.new_documents()),
    )


class _CorpusIndex:
    """What is held of a corpus: digests of the documents' texts, exactly as they are, and the places of the chunks."""

    def __init__(self, corpus: ComparedCorpus) -> None:
        self.corpus = corpus
        self.documents: dict[str, int] = {}
        self.sources: dict[str, str] = {}
        self.digests: dict[str, bytes] = {}
        for position, document in enumerate(corpus.documents):
            self.documents[document.doc_id] = position
            self.sources[document.doc_id] = document.source
            text = document.text.encode("utf-8", "surrogatepass")
            self.digests[document.doc_id] = blake2b(text, digest_size=16).digest()
        self.positions: dict[str, int] = {}
        self.cuts: dict[str, Cuts] = {}
        self.passages: list[KnownPassage] = list(passages_of(self._read_chunks(), self.sources))

    def _read_chunks(self) -> Iterator[Chunk]:
        for position, chunk in enumerate(self.corpus.chunks):
            self.positions[chunk.chunk_id] = position
            add_chunk(self.cuts, chunk)
            yield chunk

    def document(self, doc_id: str) -> Document:
        """Return a document, read again."""
        return self.corpus.documents.at(self.documents[doc_id])

    def chunk(self, chunk_id: str) -> Chunk:
        """Return a chunk, read again."""
        return self.corpus.chunks.at(self.positions[chunk_id])


class _Matches:
    """The passages and documents of an earlier corpus in a later one.

    ``same`` holds the later id of each earlier chunk whose text is still there, ``near`` the later documents that an
    earlier changed one lives on in: its own, and those that hold its passages.
    """

    def __init__(self, earlier: ComparedCorpus, later: ComparedCorpus) -> None:
        self.before = _CorpusIndex(earlier)
        self.now = _CorpusIndex(later)
        digests = self.now.digests
        self.unchanged = {doc_id for doc_id, digest in self.before.digests.items() if digests.get(doc_id) == digest}
        self.same = self._match_passages()
        self.near = self._match_documents()

    def _match_passages(self) -> dict[str, str]:
        """Return the later id of each earlier chunk whose text is still there.

        Chunks of changed documents are looked for as in ``stages.lineage`` among the chunks of changed documents, where
        a text may have come from them; then among all others, where only one may have the text.
        """
        unchanged = self.unchanged
        changed = [passage for passage in self.before.passages if passage.doc_id not in unchanged]
        same = {
            passage.chunk_id: passage.chunk_id
            for passage in self.before.passages
            if passage.doc_id in unchanged and passage.chunk_id in self.now.positions
        }
        same |= successors(changed, [passage for passage in self.now.passages if passage.doc_id not in unchanged])
        copies: defaultdict[bytes, list[str]] = defaultdict(list)
        for passage in self.now.passages:
            if passage.doc_id in unchanged:
                copies[passage.digest].append(passage.chunk_id)
        for passage in changed:
            if passage.chunk_id not in same and len(copies.get(passage.digest, ())) == 1:
                same[passage.chunk_id] = copies[passage.digest][0]
        return same

    def _match_documents(self) -> dict[str, set[str]]:
        by_source = {source: doc_id for doc_id, source in self.now.sources.items()}
        holder = {passage.chunk_id: passage.doc_id for passage in self.now.passages}
        near: dict[str, set[str]] = {}
        for doc_id, source in self.before.sources.items():
            if doc_id not in self.unchanged:
                near[doc_id] = {doc_id, by_source.get(source, doc_id)} & self.now.sources.keys()
        for passage in self.before.passages:
            heir = holder.get(self.same.get(passage.chunk_id, ""))
            if passage.doc_id in near and heir is not None and heir not in self.unchanged:
                near[passage.doc_id].add(heir)
        return near

    def new_documents(self) -> set[str]:
        """Return the documents of the later corpus whose source was not in the earlier one."""
        before = set(self.before.sources.values())
        return {doc_id for doc_id, source in self.now.sources.items() if source not in before}


class SearchedText:
    """A changed text in which stretches are looked for."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._plain = plain(text)

    def places_of(self, stretch: Stretch) -> list[StretchMatch]:
        """Return where a stretch may stand; a few words without what stood around them may be there by chance."""
        words = plain(stretch.quote)
        if not words or words not in self._plain:
            return []
        return [hit for hit in stretch.places(self.text) if hit.sure or len(stretch.quote) >= TELLING]


def tell_place(hits: Sequence[tuple[StretchMatch, _Holder]]) -> _Holder | None:
    """Return who holds a stretch: the only place, or the one whose surroundings tell it from all others."""
    ranked = sorted(hits, key=lambda hit: hit[0].alike, reverse=True)
    if len(ranked) > 1 and not (ranked[0][0].sure and ranked[0][0].alike > ranked[1][0].alike):
        return None
    return ranked[0][1] if ranked else None


def add_chunk(cuts: dict[str, Cuts], chunk: Chunk) -> None:
    """Add the next chunk of a corpus to the cuts of its document."""
    cut = cuts.setdefault(chunk.span.doc_id, Cuts([], []))
    cut.chunk_ids.append(chunk.chunk_id)
    cut.spans.append(chunk.span)


class _Locator:
    """Finds stretches of the earlier corpus in the later one."""

    def __init__(self, matches: _Matches) -> None:
        self._matches = matches

    def locate(self, sought: Iterable[Evidence]) -> dict[Evidence, Evidence | None]:
        """Return where stretches of the earlier corpus stand today, None if that cannot be told.

        A stretch of an unchanged document or chunk stands where it stood in it. Another one is looked for in the
        documents that its own lives on in, then in all; see `tell_place`.
        """
        carried: dict[Evidence, Evidence | None] = {}
        moved: dict[Evidence, None] = {}
        for item in sought:
            evidence = item if item.doc_id in self._matches.unchanged else self._in_same_chunk(item)
            if evidence is None:
                moved[item] = None
            else:
                carried[item] = evidence
        stretches = self._stretches(moved)
        near = self._search(stretches, anywhere=False)
        nearby = {item: tell_place(hits) for item, hits in near.items()}
        lost = {item: stretch for item, stretch in stretches.items() if nearby[item] is None}
        everywhere = self._search(lost, anywhere=True)
        for item in moved:
            carried[item] = nearby[item] or tell_place(everywhere.get(item, ()))
        return carried

    def _in_same_chunk(self, item: Evidence) -> Evidence | None:
        """Return a stretch at its place in a chunk whose text is still there, None if it lies in no such chunk."""
        for chunk_id, span in self._matches.before.cuts[item.doc_id].meeting(item):
            if span.contains(item) and chunk_id in self._matches.same:
                chunk = self._matches.now.chunk(self._matches.same[chunk_id])
                offset = item.start - span.start
                moved = chunk.evidence(offset, offset + len(item.quote))
                if moved.quote == item.quote:
                    return moved
        return None

    def _stretches(self, sought: Iterable[Evidence]) -> dict[Evidence, Stretch]:
        """Return stretches with what stood around them."""
        by_document: defaultdict[str, list[Evidence]] = defaultdict(list)
        for item in sought:
            by_document[item.doc_id].append(item)
        stretches = {}
        for doc_id, items in by_document.items():
            text = self._matches.before.document(doc_id).text
            stretches.update({item: Stretch.of(text, item.start, item.end) for item in items})
        return stretches

    def _search(
        self, stretches: Mapping[Evidence, Stretch], *, anywhere: bool
    ) -> dict[Evidence, list[tuple[StretchMatch, Evidence]]]:
        """Return the places of stretches in the documents that theirs lives on in, or in all documents."""
        hits: dict[Evidence, list[tuple[StretchMatch, Evidence]]] = {item: [] for item in stretches}
        readers: defaultdict[str, list[Evidence]] = defaultdict(list)
        for item in stretches:
            for doc_id in self._matches.near.get(item.doc_id, ()):
                readers[doc_id].append(item)
        documents: Iterable[Document] = map(self._matches.now.document, readers)
        if anywhere:
            documents = self._matches.now.corpus.documents if stretches else ()
        for document in documents:
            searched = SearchedText(document.text)
            for item in stretches if anywhere else readers[document.doc_id]:
                for hit in searched.places_of(stretches[item]):
                    quote = document.text[hit.start : hit.end]
                    evidence = Evidence(doc_id=document.doc_id, start=hit.start, end=hit.end, quote=quote)
                    hits[item].append((hit, evidence))
        return hits


def _evidence_of_changed_passages(old: OldSet, matches: _Matches) -> dict[tuple[str, str], tuple[Evidence, ...]]:
    """Return the evidence for each relevant grade that somebody gave to a passage whose text changed."""
    rests_on = {}
    for query in (*old.queries, *old.left_out):
        unread = old.derived.get(query.query_id, ())
        for chunk_id, grade in old.labels.get(query.query_id, {}).items():
            is_known = chunk_id in matches.before.positions
            if grade >= RELEVANT and is_known and chunk_id not in matches.same and chunk_id not in unread:
                chunk = matches.before.chunk(chunk_id)
                quotes = old.quotes.get((query.query_id, chunk_id), ())
                evidence = judged_passage(query, chunk, grade, quotes).evidence
                cut_through = tuple(item for item in query.evidence if chunk.span.meets(item))
                rests_on[query.query_id, chunk_id] = evidence or cut_through
    return rests_on


@dataclass(frozen=True, slots=True)
class _Carrier:
    """Carries queries to the corpus of today; ``places`` are those of the evidence, None where they cannot be told."""

    old: OldSet
    matches: _Matches
    rests_on: Mapping[tuple[str, str], tuple[Evidence, ...]]
    places: Mapping[Evidence, Evidence | None]

    def carry(self, query: Query) -> KeptQuery | RetiredQuery:
        """Return what becomes of a query: its judged passages, put where they stand now, give the grades of today."""
        located = self._locate(query)
        if isinstance(located, RetiredQuery):
            return located
        carried = {chunk_id: self._passage(query, chunk_id) for chunk_id in self.old.labels.get(query.query_id, {})}
        passages = {chunk_id: passage for chunk_id, passage in carried.items() if passage is not None}
        projection = project(TextRelevance(query=located, passages=tuple(passages.values())), self.matches.now.cuts)
        if isinstance(projection, str):
            return RetiredQuery(query=query, reason=projection)
        needs = tuple(sorted(projection.needs, key=lambda chunk_id: chunk_id != projection.source))
        return KeptQuery(
            query=located.model_copy(update={"chunk_id": projection.source, "needs": needs}),
            labels=projection.grades,
            derived=projection.derived,
            moved=query.chunk_id not in self.matches.same,
            positions=tuple(self.matches.now.positions[chunk_id] for chunk_id in needs or (projection.source,)),
            origins=self._origins(passages, projection.grades),
            unjudged=len(carried) - len(passages),
        )

    def carry_left_out(self, query: Query) -> KeptQuery | RetiredQuery:
        """Return what becomes of a query that has no labels; it stays while its evidence, or else its passage, does."""
        located = self._locate(query)
        if isinstance(located, RetiredQuery):
            return located
        if located.chunk_id == NOWHERE:
            cuts = self.matches.now.cuts
            holders = [chunk_id for item in located.evidence for chunk_id in holding(item, cuts[item.doc_id])]
            if not holders:
                return RetiredQuery(query=query, reason="its passage is no longer in the documents")
            located = located.model_copy(update={"chunk_id": holders[0], "needs": ()})
        return KeptQuery(located, {}, (), located.chunk_id != query.chunk_id, (), {}, 0)

    def carry_unanswerable(self, query: Query) -> Query:
        """Return a query that nothing answers, about the passage of today if there is one."""
        chunk_id = self.matches.same.get(query.chunk_id, query.chunk_id)
        return query.model_copy(update={"chunk_id": chunk_id, "evidence": self._places(query.evidence)})

    def _locate(self, query: Query) -> Query | RetiredQuery:
        """Return a query with its evidence and its passage of today; without what was measured on a changed passage."""
        if any(self.places[item] is None for item in query.evidence):
            return RetiredQuery(query=query, reason=GONE)
        chunk_id = self.matches.same.get(query.chunk_id, NOWHERE)
        located = {"chunk_id": chunk_id, "evidence": self._places(query.evidence)}
        measured = {"difficulty": None, "source_grade": None} if chunk_id == NOWHERE else {}
        return query.model_copy(update=located | measured)

    def _passage(self, query: Query, chunk_id: str) -> JudgedPassage | None:
        """Return a judged passage where it stands today: its text, or else its evidence; None if neither does."""
        grade = self.old.labels[query.query_id][chunk_id]
        now = self.matches.now
        if chunk_id in self.matches.same:
            derived = chunk_id in self.old.derived.get(query.query_id, ())
            span = now.chunk(self.matches.same[chunk_id]).span
            return JudgedPassage(span=span, grade=grade, derived=derived)
        evidence = self._places(self.rests_on.get((query.query_id, chunk_id), ()))
        return JudgedPassage(span=evidence[0], grade=grade, evidence=evidence) if evidence else None

    def _places(self, evidence: Iterable[Evidence]) -> tuple[Evidence, ...]:
        places = (self.places[item] for item in evidence)
        return tuple(dict.fromkeys(evidence for evidence in places if evidence is not None))

    def _origins(self, passages: Mapping[str, JudgedPassage], grades: Mapping[str, Relevance]) -> dict[str, str]:
        """Return the earlier chunk that each grade comes from: one with the same text, else one with the evidence."""
        same = self.matches.same
        origins: dict[str, str] = {}
        for before, passage in sorted(passages.items(), key=lambda item: item[0] not in same):
            holders = [same[before]] if before in same else []
            for item in passage.evidence:
                holders += holding(item, self.matches.now.cuts[item.doc_id])
            for chunk_id in holders:
                if grades.get(chunk_id) == passage.grade:
                    origins.setdefault(chunk_id, before)
        return origins
