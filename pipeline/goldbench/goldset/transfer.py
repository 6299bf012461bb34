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

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TypeAlias, TypeVar

from goldbench.ports import StoredRecords
from goldbench.records.corpus import Chunk, Document, Evidence, Span
from goldbench.records.judgment import Judgment, PooledPair
from goldbench.records.query import Query, RetiredQuery
from goldbench.records.relevance import RELEVANT, Relevance
from goldbench.stages.lineage import Passage, passages_of, successors
from goldbench.stages.project import Cuts, holding, judged_passage
from goldbench.text.evidence import Place, Stretch

GONE = "no longer in the documents"
SEVERAL = "in several places of the documents, with equal surroundings"
DOUBTFUL = "no longer where it was, and the one place that has the same words may be another one"
TELLING = 40
"""Characters of a stretch that are enough to tell it from another one, if nothing around it does."""

Labels: TypeAlias = Mapping[str, Mapping[str, Relevance]]
_Pair = TypeVar("_Pair", PooledPair, Judgment)


@dataclass(frozen=True, slots=True)
class Corpus:
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

    corpus: Corpus
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


def transfer_queries(old: OldSet, corpus: Corpus) -> Transfer:
    """Return what of a set holds for the documents and chunks of today."""
    matches = _Matches(old.corpus, corpus)
    promises = _promised_evidence(old, matches)
    sought = [item for query in (*old.queries, *old.left_out, *old.unanswerable) for item in query.evidence]
    sought += [item for evidence in promises.values() for item in evidence]
    heirs = _Heirs(old, matches, promises, _Locator(matches).locate(sought))
    queries = [heirs.of(query) for query in old.queries]
    gone = {heir.query.query_id for heir in queries if isinstance(heir, RetiredQuery)}
    return Transfer(
        queries=tuple(_with_original(heir, gone) for heir in queries),
        unanswerable=tuple(heirs.of_unanswerable(query) for query in old.unanswerable),
        left_out=tuple(heirs.of(query, has_answer=False) for query in old.left_out),
        passages=matches.same,
        waiting=old.waiting,
        new_documents=frozenset(matches.new_documents()),
    )


def _with_original(heir: KeptQuery | RetiredQuery, gone: set[str]) -> KeptQuery | RetiredQuery:
    if isinstance(heir, KeptQuery) and heir.query.original in gone:
        return RetiredQuery(query=heir.query, reason="the query that it is a noisy form of is retired")
    return heir


class _Index:
    """What is held of a corpus: digests of the documents' texts, exactly as they are, and the places of the chunks."""

    def __init__(self, corpus: Corpus) -> None:
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
        self._cuts: dict[str, tuple[list[str], list[Span]]] = {}
        self.passages: list[Passage] = list(passages_of(self._read_chunks(), self.sources))

    def _read_chunks(self) -> Iterator[Chunk]:
        for position, chunk in enumerate(self.corpus.chunks):
            self.positions[chunk.chunk_id] = position
            chunk_ids, spans = self._cuts.setdefault(chunk.span.doc_id, ([], []))
            chunk_ids.append(chunk.chunk_id)
            spans.append(chunk.span)
            yield chunk

    def cuts(self, doc_id: str) -> Cuts:
        """Return the chunks of a document with their spans."""
        return Cuts(*self._cuts.get(doc_id, ((), ())))

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

    def __init__(self, earlier: Corpus, later: Corpus) -> None:
        self.before = _Index(earlier)
        self.now = _Index(later)
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

    def document(self, doc_id: str) -> str | None:
        """Return the later document at the place of an earlier one, else the one that holds passages of it, or None."""
        if doc_id in self.now.sources:
            return doc_id
        return min(self.near.get(doc_id, ()), default=None)

    def earlier_holders(self, span: Span) -> Iterator[tuple[str, Span]]:
        """Yield the earlier chunks, with their spans, that share a character with a stretch of the earlier corpus."""
        return self.before.cuts(span.doc_id).meeting(span)


class _Locator:
    """Finds stretches of the earlier corpus in the later one."""

    def __init__(self, matches: _Matches) -> None:
        self._matches = matches

    def locate(self, sought: Iterable[Evidence]) -> dict[Evidence, Evidence | str]:
        """Return where stretches of the earlier corpus stand today, or why that cannot be told.

        A stretch of an unchanged document or chunk stands where it stood in it. Another one is looked for in the
        documents that its own lives on in, then in all: taken is the place with the longest unchanged surroundings, and
        if nothing around it is left, the only place. A short stretch that stood in several places must have some of its
        surroundings left.
        """
        places: dict[Evidence, Evidence | str] = {}
        moved: dict[Evidence, None] = {}
        for item in sought:
            if item.doc_id in self._matches.unchanged:
                places[item] = item
            else:
                moved[item] = None
        places.update(self._in_same_chunks(moved))
        stretches = self._stretches([item for item in moved if item not in places])
        near = self._search(stretches, anywhere=False)
        left = {item: stretch for item, stretch in stretches.items() if _best(near[item]) is None}
        everywhere = self._search(left, anywhere=True)
        for item in stretches:
            places[item] = _best(near[item]) or GONE
        doubtful: list[Evidence] = []
        for item in left:
            best = _best(everywhere[item])
            alone = next((hits[0][1] for hits in (near[item], everywhere[item]) if len(hits) == 1), None)
            places[item] = best or alone or (SEVERAL if everywhere[item] else GONE)
            if best is None and alone is not None and len(item.quote) < TELLING:
                doubtful.append(item)
        return places | dict.fromkeys(self._standing_twice(doubtful), DOUBTFUL)

    def _in_same_chunks(self, sought: Iterable[Evidence]) -> dict[Evidence, Evidence]:
        """Return the stretches that lie in a chunk whose text is still there, at their place in it."""
        places: dict[Evidence, Evidence] = {}
        for item in sought:
            for chunk_id, span in self._matches.earlier_holders(item):
                if not span.contains(item) or chunk_id not in self._matches.same:
                    continue
                offset = item.start - span.start
                chunk = self._matches.now.chunk(self._matches.same[chunk_id])
                place = chunk.evidence(offset, offset + len(item.quote))
                if place.quote == item.quote:
                    places.setdefault(item, place)
        return places

    def _standing_twice(self, sought: Sequence[Evidence]) -> list[Evidence]:
        """Return the stretches that stood in several places of the earlier corpus."""
        counts: Counter[Evidence] = Counter()
        for document in self._matches.before.corpus.documents if sought else ():
            for item in sought:
                counts[item] += document.text.count(item.quote)
        return [item for item, count in counts.items() if count > 1]

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
    ) -> dict[Evidence, list[tuple[Place, Evidence]]]:
        """Return all places of stretches in the documents that theirs lives on in, or in all documents."""
        hits: dict[Evidence, list[tuple[Place, Evidence]]] = {item: [] for item in stretches}
        plain = {item: _plain(stretch.quote) for item, stretch in stretches.items()}
        readers: defaultdict[str, list[Evidence]] = defaultdict(list)
        for item in stretches:
            for doc_id in self._matches.near.get(item.doc_id, ()):
                readers[doc_id].append(item)
        documents: Iterable[Document] = map(self._matches.now.document, readers)
        if anywhere:
            documents = self._matches.now.corpus.documents if stretches else ()
        for document in documents:
            text = _plain(document.text)
            for item in stretches if anywhere else readers[document.doc_id]:
                if not plain[item] or plain[item] not in text:
                    continue
                for place in stretches[item].places(document.text):
                    quote = document.text[place.start : place.end]
                    evidence = Evidence(doc_id=document.doc_id, start=place.start, end=place.end, quote=quote)
                    hits[item].append((place, evidence))
        return hits


def _plain(text: str) -> str:
    return " ".join((text if text.isascii() else unicodedata.normalize("NFC", text)).split())


def _best(hits: Sequence[tuple[Place, Evidence]]) -> Evidence | None:
    """Return the place whose surroundings tell it from all others."""
    ranked = sorted(hits, key=lambda hit: hit[0].alike, reverse=True)
    if not ranked or not ranked[0][0].sure:
        return None
    return ranked[0][1] if len(ranked) == 1 or ranked[0][0].alike > ranked[1][0].alike else None


def _promised_evidence(old: OldSet, matches: _Matches) -> dict[tuple[str, str], tuple[Evidence, ...]]:
    """Return the evidence for each relevant grade, by query and chunk, of a passage whose text changed."""
    promises = {}
    for query in (*old.queries, *old.left_out):
        for chunk_id, grade in old.labels.get(query.query_id, {}).items():
            if grade >= RELEVANT and chunk_id not in matches.same and chunk_id in matches.before.positions:
                quotes = old.quotes.get((query.query_id, chunk_id), ())
                passage = judged_passage(query, matches.before.chunk(chunk_id), grade, quotes)
                promises[query.query_id, chunk_id] = passage.evidence
    return promises


@dataclass(frozen=True, slots=True)
class _Grade:
    """A grade of today, the earlier chunk it comes from, and whether nobody read that chunk."""

    grade: Relevance
    origin: str
    derived: bool


def _raise(grades: dict[str, _Grade], chunk_id: str, grade: _Grade) -> None:
    """Give a chunk a grade unless it has as high a one from a chunk that somebody read."""
    known = grades.get(chunk_id)
    if known is None or (grade.grade, not grade.derived) > (known.grade, not known.derived):
        grades[chunk_id] = grade


@dataclass(frozen=True, slots=True)
class _Heirs:
    """Makes the queries of today."""

    old: OldSet
    matches: _Matches
    promises: Mapping[tuple[str, str], tuple[Evidence, ...]]
    places: Mapping[Evidence, Evidence | str]

    def of(self, query: Query, *, has_answer: bool = True) -> KeptQuery | RetiredQuery:
        """Return what becomes of a query.

        Args:
            query: The query.
            has_answer: Whether it must have a relevant passage.
        """
        for item in query.evidence:
            if isinstance(self.places[item], str) and self._is_essential(query, item):
                return RetiredQuery(query=query, reason=f"its evidence is {self.places[item]}")
        standing = {item: place for item in query.evidence if isinstance(place := self.places[item], Evidence)}
        grades = self._grades(query, standing)
        labels = {chunk_id: grade.grade for chunk_id, grade in grades.items()}
        source = self._source(query, labels, list(standing.values()), has_answer=has_answer)
        if source is None:
            judged = labels and query.evidence
            why = "the passages that hold its evidence are judged not relevant" if judged else _NOTHING_RELEVANT
            return RetiredQuery(query=query, reason=why)
        needs = self._needs(query, labels, source, list(standing.values()))
        moved = query.chunk_id not in self.matches.same
        changes: dict[str, object] = {
            "chunk_id": source,
            "evidence": tuple(dict.fromkeys(standing.values())),
            "needs": needs,
        }
        if moved:
            changes.update(difficulty=None, source_grade=None)
        return KeptQuery(
            query=query.model_copy(update=changes),
            labels=labels,
            derived=tuple(chunk_id for chunk_id, grade in grades.items() if grade.derived),
            moved=moved,
            positions=tuple(self.matches.now.positions[chunk_id] for chunk_id in needs or (source,)),
            origins={chunk_id: grade.origin for chunk_id, grade in grades.items()},
            unjudged=self._count_dropped_grades(query),
        )

    def of_unanswerable(self, query: Query) -> Query:
        """Return a query that nothing answers, about the passage of today if there is one."""
        places = [self.places[item] for item in query.evidence]
        evidence = tuple(place for place in places if isinstance(place, Evidence))
        chunk_id = self.matches.same.get(query.chunk_id, query.chunk_id)
        return query.model_copy(update={"chunk_id": chunk_id, "evidence": evidence})

    def _is_essential(self, query: Query, evidence: Evidence) -> bool:
        """Whether the query was written from the evidence: it is its first, or in one of the passages it needs."""
        sources = {query.chunk_id, *query.needs}
        return evidence == query.evidence[0] or any(
            chunk_id in sources for chunk_id, _ in self.matches.earlier_holders(evidence)
        )

    def _count_dropped_grades(self, query: Query) -> int:
        """Return how many grades have neither the text nor the evidence they were given for."""
        count = 0
        for chunk_id in self.old.labels.get(query.query_id, ()):
            promised = self.promises.get((query.query_id, chunk_id), ())
            if chunk_id not in self.matches.same:
                count += all(isinstance(self.places[item], str) for item in promised)
        return count

    def _grades(self, query: Query, standing: Mapping[Evidence, Evidence]) -> dict[str, _Grade]:
        """Return the grades of today: those of passages with the same text, then those that the evidence gives."""
        before = self.old.labels.get(query.query_id, {})
        unread = set(self.old.derived.get(query.query_id, ()))
        same = self.matches.same
        kept: dict[str, _Grade] = {}
        for chunk_id, grade in before.items():
            if chunk_id in same:
                _raise(kept, same[chunk_id], _Grade(grade, chunk_id, chunk_id in unread))
        held = {chunk_id: grade.grade for chunk_id, grade in kept.items()}
        by_evidence: dict[str, _Grade] = {}
        for chunk_id, grade in before.items():
            if grade < RELEVANT or chunk_id in unread:
                continue
            promised = self.promises.get((query.query_id, chunk_id), ())
            held_there = (
                place
                for item, place in standing.items()
                if any(holder == chunk_id for holder, _ in self.matches.earlier_holders(item))
            )
            for place in (*(self.places[item] for item in promised), *held_there):
                for holder in self._holders(place, held) if isinstance(place, Evidence) else ():
                    if holder not in kept:
                        _raise(by_evidence, holder, _Grade(grade, chunk_id, derived=False))
        return {**by_evidence, **kept}

    def _holders(self, evidence: Evidence, labels: Mapping[str, Relevance]) -> list[str]:
        """Return the chunks that hold a stretch; otherwise the relevant (or unjudged) chunk with the largest part."""
        cuts = self.matches.now.cuts(evidence.doc_id)
        holders = holding(evidence, cuts)
        if any(labels.get(chunk_id, RELEVANT) >= RELEVANT for chunk_id in holders):
            return holders
        parts = [
            (min(span.end, evidence.end) - max(span.start, evidence.start), chunk_id)
            for chunk_id, span in cuts.meeting(evidence)
            if labels.get(chunk_id, RELEVANT) >= RELEVANT
        ]
        return [max(parts)[1]] if parts else []

    def _source(
        self, query: Query, labels: Mapping[str, Relevance], places: Sequence[Evidence], *, has_answer: bool
    ) -> str | None:
        """Return the passage that stands for the one the query was written from; None if nothing is relevant."""
        relevant = {chunk_id for chunk_id, grade in labels.items() if grade >= RELEVANT}
        if has_answer and not relevant:
            return None
        same = self.matches.same.get(query.chunk_id)
        if same is not None and (same in labels or not has_answer):
            return same
        holders = [chunk_id for place in places for chunk_id in self._holders(place, labels if relevant else {})]
        if not relevant:
            return next(iter(holders), None)
        positions = self.matches.now.positions
        first = min(relevant, key=lambda chunk_id: (-labels[chunk_id], positions[chunk_id]))
        return next((chunk_id for chunk_id in holders if chunk_id in relevant), first)

    def _needs(
        self, query: Query, labels: Mapping[str, Relevance], source: str, places: Sequence[Evidence]
    ) -> tuple[str, ...]:
        """Return the passages that are all needed, the source first; none if one holds all of the evidence."""
        same = self.matches.same
        if all(chunk_id in same for chunk_id in query.needs):
            needed = list(dict.fromkeys(same[chunk_id] for chunk_id in query.needs))
        else:
            holders = [held_by for place in places if (held_by := self._holders(place, labels))]
            counts = Counter(chunk_id for held_by in holders for chunk_id in held_by)
            best = [max(held_by, key=lambda chunk_id: (counts[chunk_id], chunk_id == source)) for held_by in holders]
            needed = list(dict.fromkeys(best))
        if len(needed) < 2:
            return ()
        return tuple(sorted(needed, key=lambda chunk_id: chunk_id != source))


_NOTHING_RELEVANT = "no passage that is relevant to it is in the documents any more"
