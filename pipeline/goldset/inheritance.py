"""What a set whose documents changed inherits from the set before: queries, labels, judgments. No file is opened here.

A passage is known by its text, evidence by its words and their surroundings. A passage whose text is still there keeps
its grades, whatever its id is now. Of a changed one, a relevant grade goes to the passages that hold the evidence for
it; any other grade is dropped, so that nobody has judged the passage.

Who integrates this decides by ``graded``. In a set that nobody judged, labels follow from the evidence: label the kept
queries with ``stages.assemble.label_needed`` at `Kept.positions`, lay `Kept.labels` over that, without `Kept.derived`,
and add the derived labels anew (``add_derived``), so that new copies of an answer are labelled. In a judged set take
`Kept.labels` as they are: what is not among them has not been judged. What is measured over the corpus (difficulty) is
measured anew in both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from goldbench.pipeline.goldset.whereabouts import Corpus, Key, Whereabouts, key_of
from goldbench.pipeline.stages.project import Cuts, holding, judged_passage
from goldbench.schemas.corpus import Chunk, Evidence, TitlePart
from goldbench.schemas.judgment import RELEVANT, Judgment, Pooled, Relevance
from goldbench.schemas.query import Query

Labels: TypeAlias = Mapping[str, Mapping[str, Relevance]]

_NO_CUTS = Cuts((), ())


@dataclass(frozen=True, slots=True)
class Estate:
    """The set before the documents changed.

    Args:
        corpus: Its documents and chunks.
        queries: Its queries, with the noisy forms of others.
        unanswerable: The queries that nothing in it answers.
        labels: The grades by query and chunk.
        derived: The chunks, by query, that are labelled although nobody read them.
        quotes: What judges quoted from a chunk, by query and chunk.
    """

    corpus: Corpus
    queries: Sequence[Query]
    unanswerable: Sequence[Query] = ()
    labels: Labels = field(default_factory=dict)
    derived: Mapping[str, Sequence[str]] = field(default_factory=dict)
    quotes: Mapping[tuple[str, str], Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Kept:
    """A query whose evidence still stands.

    Args:
        query: The query, with the ids and spans of today.
        labels: Its grades by chunk; those of passages whose text is still there, and those the evidence decides.
        derived: The chunks among them that are labelled although nobody read them.
        moved: Whether the text of the passage that it was written from changed.
        positions: The positions of the chunks that it needs in the corpus, from 0, the source first.
        unjudged: How many of its earlier grades were dropped, because the passage is gone or changed.
    """

    query: Query
    labels: Mapping[str, Relevance]
    derived: tuple[str, ...]
    moved: bool
    positions: tuple[int, ...]
    unjudged: int


@dataclass(frozen=True, slots=True)
class Retired:
    """A query, as it was, that the documents of today no longer answer as its labels say, with the reason."""

    query: Query
    reason: str


@dataclass(frozen=True, slots=True)
class Inheritance:
    """What is left of a set.

    Args:
        queries: Its queries in their order, each kept or retired.
        unanswerable: The queries that nothing answered; all are kept.
        passages: The id of today of each earlier chunk whose text is still there.
    """

    queries: tuple[Kept | Retired, ...]
    unanswerable: tuple[Query, ...]
    passages: Mapping[str, str]

    @property
    def kept(self) -> list[Kept]:
        """The queries that are kept."""
        return [one for one in self.queries if isinstance(one, Kept)]

    @property
    def retired(self) -> list[Retired]:
        """The queries that are retired."""
        return [one for one in self.queries if isinstance(one, Retired)]

    def pooled(self, records: Iterable[Pooled]) -> Iterator[Pooled]:
        """Yield the pairs of a pool whose query is kept and whose passage has the same text, with the ids of today."""
        asked = self._asked()
        for record in records:
            if record.query_id in asked and record.chunk_id in self.passages:
                yield record.model_copy(update=self._ids(record))

    def judged(self, records: Iterable[Judgment]) -> Iterator[Judgment]:
        """Yield the judgments whose query is kept and whose passage has the same text, with the ids of today.

        Use it for judgments of pairs, for checks of sources, and for those that show that nothing answers a query.
        """
        asked = self._asked()
        for record in records:
            if record.query_id in asked and record.chunk_id in self.passages:
                yield record.model_copy(update=self._ids(record))

    def _asked(self) -> set[str]:
        return {one.query.query_id for one in self.kept} | {query.query_id for query in self.unanswerable}

    def _ids(self, record: Pooled | Judgment) -> dict[str, str | None]:
        return {"chunk_id": self.passages[record.chunk_id], "shared_from": self.passages.get(record.shared_from or "")}


def inherited(earlier: Estate, later: Corpus) -> Inheritance:
    """Return what of a set holds for the documents of today.

    Args:
        earlier: The set.
        later: The documents and chunks of today.
    """
    whereabouts = Whereabouts(earlier.corpus, later)
    promises = _promises(earlier, whereabouts.same)
    heirs = _Heirs(earlier, whereabouts, promises, whereabouts.of(_wanted(earlier, promises)))
    queries = [heirs.of(query) for query in earlier.queries]
    gone = {one.query.query_id for one in queries if isinstance(one, Retired)}
    return Inheritance(
        queries=tuple(_with_original(one, gone) for one in queries),
        unanswerable=tuple(heirs.unanswerable(query) for query in earlier.unanswerable),
        passages=whereabouts.same,
    )


def _with_original(one: Kept | Retired, gone: set[str]) -> Kept | Retired:
    if isinstance(one, Kept) and one.query.original in gone:
        return Retired(one.query, "the query that it is a noisy form of is retired")
    return one


def _promises(earlier: Estate, same: Mapping[str, str]) -> dict[tuple[str, str], tuple[Evidence, ...]]:
    """Return the evidence for each relevant grade, by query and chunk, of a passage whose text changed."""
    changed = {
        chunk_id
        for grades in earlier.labels.values()
        for chunk_id, grade in grades.items()
        if grade >= RELEVANT and chunk_id not in same
    }
    texts: dict[str, Chunk] = {}
    for chunk in earlier.corpus.chunks if changed else ():
        if chunk.chunk_id in changed:
            texts[chunk.chunk_id] = chunk
    found = {}
    for query in earlier.queries:
        for chunk_id, grade in earlier.labels.get(query.query_id, {}).items():
            if chunk_id in texts and grade >= RELEVANT:
                quotes = earlier.quotes.get((query.query_id, chunk_id), ())
                passage = judged_passage(query, texts[chunk_id], grade, quotes)
                found[query.query_id, chunk_id] = passage.evidence
    return found


def _wanted(earlier: Estate, promises: Mapping[tuple[str, str], tuple[Evidence, ...]]) -> Iterator[Evidence]:
    for query in (*earlier.queries, *earlier.unanswerable):
        yield from query.evidence
        yield from query.masked
    for evidence in promises.values():
        yield from evidence


@dataclass(frozen=True, slots=True)
class _Heirs:
    """Makes the queries of today."""

    earlier: Estate
    whereabouts: Whereabouts
    promises: Mapping[tuple[str, str], tuple[Evidence, ...]]
    places: Mapping[Key, Evidence | str]

    def of(self, query: Query) -> Kept | Retired:
        """Return what becomes of a query."""
        before = self.earlier.labels.get(query.query_id, {})
        evidence = [(one, self.places[key_of(one)]) for one in query.evidence]
        for one, place in evidence:
            if isinstance(place, str) and self._is_essential(query, one):
                return Retired(query, f"its evidence is {place}")
        masked = [self.places[key_of(one)] for one in query.masked]
        for place in masked:
            if isinstance(place, str):
                return Retired(query, f"the words that were held out for it are {place}")
        standing = [(one, place) for one, place in evidence if isinstance(place, Evidence)]
        labels, derived = self._labels(query, standing)
        source = self._source(query, labels, [place for _, place in standing])
        if source is None:
            return Retired(query, self._why_without(query, labels))
        same = self.whereabouts.same
        needs = self._needs(query, labels, source, [place for _, place in standing])
        moved = query.chunk_id not in same
        changes: dict[str, object] = {
            "chunk_id": source,
            "evidence": tuple(dict.fromkeys(place for _, place in standing)),
            "masked": tuple(place for place in masked if isinstance(place, Evidence)),
            "masked_titles": self._titles(query, standing),
            "needs": needs,
        }
        if moved:
            changes.update(difficulty=None, source_grade=None)
        lost = sum(same.get(chunk_id) not in labels and not self._stands(query, chunk_id) for chunk_id in before)
        positions = tuple(self.whereabouts.positions[one] for one in needs or (source,))
        return Kept(query.model_copy(update=changes), labels, derived, moved, positions, lost)

    def unanswerable(self, query: Query) -> Query:
        """Return a query that nothing answers, about the passage of today if there is one."""
        return query.model_copy(update={"chunk_id": self.whereabouts.same.get(query.chunk_id, query.chunk_id)})

    def _is_essential(self, query: Query, evidence: Evidence) -> bool:
        """Whether the query was written from the evidence: no other is in its passages, or this one is."""
        named = {query.chunk_id, *query.needs}
        return evidence == query.evidence[0] or any(
            chunk_id in named for chunk_id, _ in self.whereabouts.earlier_cuts(evidence)
        )

    def _stands(self, query: Query, chunk_id: str) -> bool:
        promised = self.promises.get((query.query_id, chunk_id), ())
        return any(isinstance(self.places[key_of(one)], Evidence) for one in promised)

    def _labels(
        self, query: Query, standing: Sequence[tuple[Evidence, Evidence]]
    ) -> tuple[dict[str, Relevance], tuple[str, ...]]:
        """Return the grades of today and the derived ones among them: by equal text first, then by the evidence."""
        before, same = self.earlier.labels.get(query.query_id, {}), self.whereabouts.same
        unread = set(self.earlier.derived.get(query.query_id, ()))
        kept: dict[str, Relevance] = {}
        for chunk_id, grade in before.items():
            if chunk_id in same:
                kept[same[chunk_id]] = max(grade, kept.get(same[chunk_id], grade))
        read = {same[chunk_id] for chunk_id in before if chunk_id in same and chunk_id not in unread}
        found: dict[str, Relevance] = {}
        for chunk_id, grade in before.items():
            if grade >= RELEVANT and chunk_id not in same and chunk_id not in unread:
                for one in self.promises.get((query.query_id, chunk_id), ()):
                    self._give(self.places[key_of(one)], grade, kept, found)
        for one, place in standing:
            meeting = [before.get(chunk_id) for chunk_id, _ in self.whereabouts.earlier_cuts(one)]
            grades = [grade for grade in meeting if grade is not None and grade >= RELEVANT]
            if grades:
                self._give(place, max(grades), kept, found)
        labels = {**found, **kept}
        return labels, tuple(sorted(one for one in kept if one not in read and one not in found))

    def _give(
        self, place: Evidence | str, grade: Relevance, kept: Mapping[str, Relevance], found: dict[str, Relevance]
    ) -> None:
        """Grade the chunks that hold a stretch, unless their own grade is kept."""
        if isinstance(place, str):
            return
        for chunk_id in self._holding(place, kept):
            if chunk_id not in kept:
                found[chunk_id] = max(grade, found.get(chunk_id, grade))

    def _holding(self, place: Evidence, kept: Mapping[str, Relevance]) -> list[str]:
        """Return the chunks that hold a stretch; if none is relevant or free to be, the one with most of it that is."""
        cuts = self.whereabouts.cuts.get(place.doc_id, _NO_CUTS)
        holders = holding(place, cuts)
        if any(kept.get(chunk_id, RELEVANT) >= RELEVANT for chunk_id in holders):
            return holders
        parts = [
            (min(span.end, place.end) - max(span.start, place.start), chunk_id)
            for chunk_id, span in cuts.meeting(place)
            if kept.get(chunk_id, RELEVANT) >= RELEVANT
        ]
        return [max(parts)[1]] if parts else []

    def _source(self, query: Query, labels: Mapping[str, Relevance], places: Sequence[Evidence]) -> str | None:
        """Return the passage that stands for the one the query was written from; None if nothing is relevant."""
        relevant = {chunk_id for chunk_id, grade in labels.items() if grade >= RELEVANT}
        if not relevant:
            return None
        same = self.whereabouts.same.get(query.chunk_id)
        if same is not None and same in labels:
            return same
        for place in places:
            for chunk_id in self._holding(place, labels):
                if chunk_id in relevant:
                    return chunk_id
        return min(relevant, key=lambda chunk_id: (-labels[chunk_id], self.whereabouts.positions[chunk_id]))

    def _why_without(self, query: Query, labels: Mapping[str, Relevance]) -> str:
        if labels and query.evidence:
            return "the passages that hold its evidence are judged not relevant"
        return "no passage that is relevant to it is in the documents any more"

    def _needs(
        self, query: Query, labels: Mapping[str, Relevance], source: str, places: Sequence[Evidence]
    ) -> tuple[str, ...]:
        """Return the passages that are all needed, the source first; none if one holds all of the evidence."""
        if not query.needs:
            return ()
        same = self.whereabouts.same
        if all(chunk_id in same for chunk_id in query.needs):
            needed = list(dict.fromkeys(same[chunk_id] for chunk_id in query.needs))
        else:
            holders = [found for place in places if (found := self._holding(place, labels))]
            often = Counter(chunk_id for found in holders for chunk_id in found)
            best = [max(found, key=lambda chunk_id: (often[chunk_id], chunk_id == source)) for found in holders]
            needed = list(dict.fromkeys(best))
        if len(needed) < 2:
            return ()
        return tuple(sorted(needed, key=lambda chunk_id: chunk_id != source))

    def _titles(self, query: Query, standing: Sequence[tuple[Evidence, Evidence]]) -> tuple[TitlePart, ...]:
        """Return the held-out titles, in the documents where the evidence from theirs stands."""
        now: dict[str, dict[str, None]] = {}
        for one, place in standing:
            now.setdefault(one.doc_id, {})[place.doc_id] = None
        for part in query.masked_titles:
            if part.doc_id not in now and (document := self.whereabouts.document(part.doc_id)):
                now[part.doc_id] = {document: None}
        return tuple(
            TitlePart(doc_id=doc_id, text=part.text)
            for part in query.masked_titles
            for doc_id in now.get(part.doc_id, ())
        )
