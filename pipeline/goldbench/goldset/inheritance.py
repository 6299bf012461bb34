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
from typing import TypeAlias, TypeVar

from goldbench.goldset.whereabouts import Corpus, Key, Whereabouts, key_of
from goldbench.records.corpus import Evidence, TitlePart
from goldbench.records.judgment import Judgment, Pooled
from goldbench.records.query import Query
from goldbench.records.relevance import RELEVANT, Relevance
from goldbench.stages.project import Cuts, holding, judged_passage

_Pair = TypeVar("_Pair", Pooled, Judgment)
Labels: TypeAlias = Mapping[str, Mapping[str, Relevance]]

_NO_CUTS = Cuts((), ())


@dataclass(frozen=True, slots=True)
class Estate:
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
class Kept:
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
        left_out: The queries that grading or a review left out, each kept if its evidence stands, or retired.
        passages: The id of today of each earlier chunk whose text is still there.
        waiting: The ids of queries that came without a label; their pool and judgments hold for equal texts.
        new_documents: The documents of today whose source was not there before.
    """

    queries: tuple[Kept | Retired, ...]
    unanswerable: tuple[Query, ...]
    left_out: tuple[Kept | Retired, ...]
    passages: Mapping[str, str]
    waiting: frozenset[str] = frozenset()
    new_documents: frozenset[str] = frozenset()

    @property
    def kept(self) -> list[Kept]:
        """The queries that are kept."""
        return [one for one in self.queries if isinstance(one, Kept)]

    @property
    def retired(self) -> list[Retired]:
        """The queries that are retired."""
        return [one for one in self.queries if isinstance(one, Retired)]

    def pooled(self, records: Iterable[Pooled]) -> Iterator[Pooled]:
        """Yield the pairs of a pool that are still there, as `judged` does."""
        yield from self._moved(records)

    def judged(self, records: Iterable[Judgment]) -> Iterator[Judgment]:
        """Yield the judgments that hold today, with the ids of today.

        They are those of the queries here about passages whose text is still there, and those behind a grade that the
        evidence gave to another passage. Judge checks only hold for a text that is still there. Use it for judgments of
        pairs, for checks of sources, and for those that show that nothing answers a query.
        """
        yield from self._moved(records)

    def _moved(self, records: Iterable[_Pair]) -> Iterator[_Pair]:
        heirs, asked = self._heirs(), {query.query_id for query in self.unanswerable}
        asked |= {one.query.query_id for one in (*self.queries, *self.left_out) if isinstance(one, Kept)} | self.waiting
        chosen: dict[tuple[str, str], str] = {}
        for record in records:
            if record.query_id not in asked:
                continue
            same = self.passages.get(record.chunk_id)
            targets = [] if same is None else [same]
            if not (isinstance(record, Judgment) and record.canary is not None):
                targets = heirs.get((record.query_id, record.chunk_id), targets)
            for chunk_id in targets:
                if chosen.setdefault((record.query_id, chunk_id), record.chunk_id) == record.chunk_id:
                    shared = self.passages.get(record.shared_from or "")
                    yield record.model_copy(update={"chunk_id": chunk_id, "shared_from": shared})

    def _heirs(self) -> dict[tuple[str, str], list[str]]:
        """Return the chunks of today that have the grade of an earlier one, by query and earlier chunk."""
        found: dict[tuple[str, str], list[str]] = {}
        for one in (*self.kept, *(one for one in self.left_out if isinstance(one, Kept))):
            for chunk_id, origin in one.origins.items():
                found.setdefault((one.query.query_id, origin), []).append(chunk_id)
        return found


def inherited(earlier: Estate, later: Corpus) -> Inheritance:
    """Return what of a set holds for the documents of today.

    Args:
        earlier: The set.
        later: The documents and chunks of today.
    """
    whereabouts = Whereabouts(earlier.corpus, later)
    promises = _promises(earlier, whereabouts)
    heirs = _Heirs(earlier, whereabouts, promises, whereabouts.of(_wanted(earlier, promises)))
    queries = [heirs.of(query) for query in earlier.queries]
    gone = {one.query.query_id for one in queries if isinstance(one, Retired)}
    return Inheritance(
        queries=tuple(_with_original(one, gone) for one in queries),
        unanswerable=tuple(heirs.unanswerable(query) for query in earlier.unanswerable),
        left_out=tuple(heirs.of(query, has_answer=False) for query in earlier.left_out),
        passages=whereabouts.same,
        waiting=earlier.waiting,
        new_documents=frozenset(whereabouts.new_documents),
    )


def _with_original(one: Kept | Retired, gone: set[str]) -> Kept | Retired:
    if isinstance(one, Kept) and one.query.original in gone:
        return Retired(one.query, "the query that it is a noisy form of is retired")
    return one


def _promises(earlier: Estate, whereabouts: Whereabouts) -> dict[tuple[str, str], tuple[Evidence, ...]]:
    """Return the evidence for each relevant grade, by query and chunk, of a passage whose text changed."""
    changed = {
        chunk_id
        for grades in earlier.labels.values()
        for chunk_id, grade in grades.items()
        if grade >= RELEVANT and chunk_id not in whereabouts.same
    }
    texts = {chunk.chunk_id: chunk for chunk in whereabouts.earlier_chunks(changed)}
    found = {}
    for query in (*earlier.queries, *earlier.left_out):
        for chunk_id, grade in earlier.labels.get(query.query_id, {}).items():
            if chunk_id in texts and grade >= RELEVANT:
                quotes = earlier.quotes.get((query.query_id, chunk_id), ())
                passage = judged_passage(query, texts[chunk_id], grade, quotes)
                found[query.query_id, chunk_id] = passage.evidence
    return found


def _wanted(earlier: Estate, promises: Mapping[tuple[str, str], tuple[Evidence, ...]]) -> Iterator[Evidence]:
    for query in (*earlier.queries, *earlier.left_out, *earlier.unanswerable):
        yield from query.evidence
        yield from query.masked
    for evidence in promises.values():
        yield from evidence


@dataclass(frozen=True, slots=True)
class _Grade:
    """A grade of today, the earlier chunk it comes from, and whether nobody read that chunk."""

    grade: Relevance
    origin: str
    derived: bool


def _raise(grades: dict[str, _Grade], chunk_id: str, found: _Grade) -> None:
    """Give a chunk a grade unless it has as high a one from a chunk that somebody read."""
    known = grades.get(chunk_id)
    if known is None or (found.grade, not found.derived) > (known.grade, not known.derived):
        grades[chunk_id] = found


@dataclass(frozen=True, slots=True)
class _Heirs:
    """Makes the queries of today."""

    earlier: Estate
    whereabouts: Whereabouts
    promises: Mapping[tuple[str, str], tuple[Evidence, ...]]
    places: Mapping[Key, Evidence | str]

    def of(self, query: Query, *, has_answer: bool = True) -> Kept | Retired:
        """Return what becomes of a query.

        Args:
            query: The query.
            has_answer: Whether it must have a relevant passage.
        """
        evidence = [(one, self.places[key_of(one)]) for one in query.evidence]
        for one, place in evidence:
            if isinstance(place, str) and self._is_essential(query, one):
                return Retired(query, f"its evidence is {place}")
        masked = [self.places[key_of(one)] for one in query.masked]
        for place in masked:
            if isinstance(place, str):
                return Retired(query, f"the words that were held out for it are {place}")
        standing = [(one, place) for one, place in evidence if isinstance(place, Evidence)]
        grades = self._grades(query, standing)
        labels = {chunk_id: grade.grade for chunk_id, grade in grades.items()}
        source = self._source(query, labels, [place for _, place in standing], has_answer=has_answer)
        if source is None:
            return Retired(query, self._why_without(query, labels))
        needs = self._needs(query, labels, source, [place for _, place in standing])
        moved = query.chunk_id not in self.whereabouts.same
        changes: dict[str, object] = {
            "chunk_id": source,
            "evidence": tuple(dict.fromkeys(place for _, place in standing)),
            "masked": tuple(place for place in masked if isinstance(place, Evidence)),
            "masked_titles": self._titles(query, standing),
            "needs": needs,
        }
        if moved:
            changes.update(difficulty=None, source_grade=None)
        return Kept(
            query=query.model_copy(update=changes),
            labels=labels,
            derived=tuple(chunk_id for chunk_id, grade in grades.items() if grade.derived),
            moved=moved,
            positions=tuple(self.whereabouts.positions[one] for one in needs or (source,)),
            origins={chunk_id: grade.origin for chunk_id, grade in grades.items()},
            unjudged=self._unjudged(query),
        )

    def unanswerable(self, query: Query) -> Query:
        """Return a query that nothing answers, about the passage of today if there is one."""
        places = [self.places[key_of(one)] for one in query.evidence]
        evidence = tuple(place for place in places if isinstance(place, Evidence))
        chunk_id = self.whereabouts.same.get(query.chunk_id, query.chunk_id)
        return query.model_copy(update={"chunk_id": chunk_id, "evidence": evidence})

    def _is_essential(self, query: Query, evidence: Evidence) -> bool:
        """Whether the query was written from the evidence: it is its first, or in one of the passages it needs."""
        named = {query.chunk_id, *query.needs}
        return evidence == query.evidence[0] or any(
            chunk_id in named for chunk_id, _ in self.whereabouts.earlier_cuts(evidence)
        )

    def _unjudged(self, query: Query) -> int:
        """Return how many grades have neither the text nor the evidence they were given for."""
        promised = (
            self.promises.get((query.query_id, chunk_id), ())
            for chunk_id in self.earlier.labels.get(query.query_id, ())
            if chunk_id not in self.whereabouts.same
        )
        return sum(all(isinstance(self.places[key_of(one)], str) for one in evidence) for evidence in promised)

    def _grades(self, query: Query, standing: Sequence[tuple[Evidence, Evidence]]) -> dict[str, _Grade]:
        """Return the grades of today: those of passages with the same text, then those that the evidence gives."""
        before, same = self.earlier.labels.get(query.query_id, {}), self.whereabouts.same
        unread = set(self.earlier.derived.get(query.query_id, ()))
        kept: dict[str, _Grade] = {}
        for chunk_id, grade in before.items():
            if chunk_id in same:
                _raise(kept, same[chunk_id], _Grade(grade, chunk_id, chunk_id in unread))
        held = {chunk_id: grade.grade for chunk_id, grade in kept.items()}
        found: dict[str, _Grade] = {}
        for chunk_id, grade in before.items():
            if grade >= RELEVANT and chunk_id not in unread:
                promised = [self.places[key_of(one)] for one in self.promises.get((query.query_id, chunk_id), ())]
                own = [now for one, now in standing if self._meets(one, chunk_id)]
                for place in (*promised, *own):
                    for holder in self._holding(place, held) if isinstance(place, Evidence) else ():
                        if holder not in kept:
                            _raise(found, holder, _Grade(grade, chunk_id, derived=False))
        return {**found, **kept}

    def _meets(self, evidence: Evidence, chunk_id: str) -> bool:
        return any(one == chunk_id for one, _ in self.whereabouts.earlier_cuts(evidence))

    def _holding(self, place: Evidence, kept: Mapping[str, Relevance]) -> list[str]:
        """Return the chunks that hold a stretch; if none is relevant or free to be, the one with most of it that is."""
        cuts = self.whereabouts.cuts(place.doc_id) or _NO_CUTS
        holders = holding(place, cuts)
        if any(kept.get(chunk_id, RELEVANT) >= RELEVANT for chunk_id in holders):
            return holders
        parts = [
            (min(span.end, place.end) - max(span.start, place.start), chunk_id)
            for chunk_id, span in cuts.meeting(place)
            if kept.get(chunk_id, RELEVANT) >= RELEVANT
        ]
        return [max(parts)[1]] if parts else []

    def _source(
        self, query: Query, labels: Mapping[str, Relevance], places: Sequence[Evidence], *, has_answer: bool
    ) -> str | None:
        """Return the passage that stands for the one the query was written from; None if nothing is relevant."""
        relevant = {chunk_id for chunk_id, grade in labels.items() if grade >= RELEVANT}
        if has_answer and not relevant:
            return None
        same = self.whereabouts.same.get(query.chunk_id)
        if same is not None and (same in labels or not has_answer):
            return same
        if not relevant:
            return next((chunk_id for place in places for chunk_id in self._holding(place, {})), None)
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
