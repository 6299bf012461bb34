"""Events about earlier sets, said about the set that is open: one pure function, which every reader of a ledger uses.

A query is known by its text, a passage by its text and where it stood. A decision about a passage whose text changed
goes to the one passage that holds the evidence for it, if people found the passage relevant. Any other decision does
not apply: it stays in the ledger, and is listed with its texts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from goldbench.goldset.transfer import SearchedText, tell_place
from goldbench.records.relevance import RELEVANT
from goldbench.records.review_event import Event, EventKind
from goldbench.review.meanings import Meanings, PassageMeaning, QueryMeaning, SetMeanings, next_version
from goldbench.review.state import Pair, Stack, State, fold
from goldbench.stages.lineage import KnownPassage, successors
from goldbench.text.evidence import Stretch, find_quote
from goldbench.text.similarity import wording_digest

_MARKS = {EventKind.UNDO, EventKind.REDO}
_GRADES = {EventKind.JUDGE, EventKind.ADJUDICATE}
_VERDICTS = {EventKind.ACCEPT_QUERY, EventKind.EDIT_QUERY, EventKind.REJECT_QUERY}
_DECISIONS = _GRADES | _VERDICTS | {EventKind.CANNOT, EventKind.BAD_QUERY}

NO_TEXT = "the ledger does not know its text"
NO_QUERY = "no query has this text"
SEVERAL_QUERIES = "several queries have this text"
NO_PASSAGE = "no passage has this text, and its evidence does not stand in exactly one"
NOT_RELEVANT = "no passage has this text"


@dataclass(frozen=True, slots=True)
class Stray:
    """A decision that does not apply to the open set, with its texts as far as the ledger knows them."""

    event: Event
    query: str | None
    passage: PassageMeaning | None
    reason: str


@dataclass(frozen=True, slots=True)
class Translation:
    """The events that apply, by the ids of the open set, and the decisions that do not.

    ``carried`` counts the events that apply and were about another set.
    """

    events: tuple[Event, ...]
    strays: tuple[Stray, ...] = ()
    carried: int = 0


def translate(events: Sequence[Event], known: Meanings, own: SetMeanings) -> Translation:
    """Return the events of a ledger as they apply to the open set.

    Events about the set itself stay as they are. Undone events stay undone: an undo or redo is left out together with
    its event, and if it never changed anything.

    Args:
        events: All events of the ledger, in the order of their numbers.
        known: What their ids mean.
        own: The open set.
    """
    if is_about(events, own.data_sha):
        return Translation(tuple(events))
    return _Translator(events, known, own).result()


def is_about(events: Iterable[Event], data_sha: str) -> bool:
    """Return whether all events are about the data set of this digest."""
    return all(event.data_sha == data_sha for event in events)


class _Translator:
    def __init__(self, events: Sequence[Event], known: Meanings, own: SetMeanings) -> None:
        self.events = events
        self.known = known
        self.own = own
        self.raw = fold(map(self._by_text, events))
        self.passages = self._same_passages()
        self.queries = _Wordings(own, self._foreign_edits(), self.raw)
        self.moved = self._moved_by_evidence()

    def result(self) -> Translation:
        stacks: defaultdict[str, Stack] = defaultdict(Stack)
        applied: dict[str, Event] = {}
        strays: list[Stray] = []
        for event in self.events:
            effective = event.kind is EventKind.NOTE or stacks[event.annotator].add(event)
            if event.kind in _MARKS:
                about = applied.get(event.undoes or "")
                if effective and about is not None:
                    ids = {"query_id": about.query_id, "chunk_id": about.chunk_id}
                    applied[event.client_id] = event.model_copy(update=ids)
                continue
            placed = self._placed(event)
            if isinstance(placed, Event):
                applied[event.client_id] = placed
            elif self._is_current(event):
                strays.append(Stray(event, self._query_text(event), self._passage(event), placed))
        carried = sum(event.data_sha != self.own.data_sha and event.kind not in _MARKS for event in applied.values())
        return Translation(tuple(applied.values()), tuple(strays), carried)

    def _placed(self, event: Event) -> Event | str:
        """Return an event with the ids of the open set, or why it does not apply."""
        if event.data_sha == self.own.data_sha:
            return event
        query = self._query(event)
        if query is None or (event.chunk_id is not None and self._passage(event) is None):
            return NO_TEXT
        query_id = self.queries.of(event.query_id, query)
        if query_id is None:
            return SEVERAL_QUERIES if self.queries.several(query) else NO_QUERY
        return self._placed_passage(event, query_id)

    def _placed_passage(self, event: Event, query_id: str) -> Event | str:
        if event.chunk_id is None:
            return event.model_copy(update={"query_id": query_id})
        chunk_id = self.passages.get((event.data_sha, event.chunk_id))
        if chunk_id is None and self._follows_evidence(event):
            chunk_id = self.moved.get(self._pair(event))
        if chunk_id is None:
            return NO_PASSAGE if event.grade is not None and event.grade >= RELEVANT else NOT_RELEVANT
        return event.model_copy(update={"query_id": query_id, "chunk_id": chunk_id})

    def _is_current(self, event: Event) -> bool:
        """Return whether an event is a decision that holds: not undone, and not replaced by a later one."""
        if event.kind not in _DECISIONS or not self.raw.stands(event) or event.repeat:
            return False
        pair = self._pair(event)
        if event.kind is EventKind.ADJUDICATE:
            last = self.raw.adjudication(pair)
        elif event.chunk_id is not None and event.kind is not EventKind.BAD_QUERY:
            last = self.raw.says(event.annotator, pair)
        else:
            return True
        return last is not None and last.client_id == event.client_id

    def _by_text(self, event: Event) -> Event:
        """Return an event whose ids tell the texts, so that decisions on one text in several sets meet."""
        query_id, chunk_id = self._pair(event)
        return event.model_copy(update={"query_id": query_id, "chunk_id": chunk_id if event.chunk_id else None})

    def _pair(self, event: Event) -> Pair:
        query_meaning = self._query(event)
        judged = self._passage(event)
        query_id = query_meaning.digest.hex() if query_meaning else f"{event.data_sha} {event.query_id}"
        return query_id, judged.digest.hex() if judged else f"{event.data_sha} {event.chunk_id}"

    def _query(self, event: Event) -> QueryMeaning | None:
        meaning = self.known.queries.get((event.data_sha, event.query_id))
        return meaning or (self.own.query(event.query_id) if event.data_sha == self.own.data_sha else None)

    def _query_text(self, event: Event) -> str | None:
        query = self._query(event)
        return query.text if query else None

    def _passage(self, event: Event) -> PassageMeaning | None:
        if event.chunk_id is None:
            return None
        meaning = self.known.passages.get((event.data_sha, event.chunk_id))
        return meaning or (self.own.passage(event.chunk_id) if event.data_sha == self.own.data_sha else None)

    def _foreign_edits(self) -> Iterator[tuple[Event, QueryMeaning]]:
        for event in self.events:
            if event.kind is EventKind.EDIT_QUERY and (query := self._query(event)) is not None:
                yield event, query

    def _same_passages(self) -> dict[tuple[str, str], str]:
        """Return the passage of today with the same text, by earlier set and id."""
        foreign = {(event.data_sha, event.chunk_id) for event in self.events if event.data_sha != self.own.data_sha}
        wanted = {pair: meaning for pair, meaning in self.known.passages.items() if pair in foreign}
        digests = {meaning.digest for meaning in wanted.values()}
        if not digests:
            return {}
        later = [
            _recognised(chunk_id, passage)
            for chunk_id, passage in self.own.passages().items()
            if passage.digest in digests
        ]
        same_passages: dict[tuple[str, str], str] = {}
        for data_sha in {data_sha for data_sha, _ in wanted}:
            of_set = [(chunk_id, passage) for (sha, chunk_id), passage in wanted.items() if sha == data_sha]
            of_set.sort(key=lambda item: (item[1].source, item[1].start))
            earlier = [_recognised(chunk_id, passage) for chunk_id, passage in of_set]
            same_passages |= {(data_sha, before): now for before, now in successors(earlier, later).items()}
        return same_passages

    def _moved_by_evidence(self) -> dict[Pair, str]:
        """Return the passage of today that holds the evidence of each pair found relevant whose passage changed."""
        lost: dict[Pair, Event] = {
            self._pair(event): event
            for event in self.events
            if event.data_sha != self.own.data_sha
            and self._passage(event) is not None
            and (event.data_sha, event.chunk_id) not in self.passages
        }
        gold = self.raw.gold() if lost else {}
        relevant = [pair for pair in lost if gold.get(pair[0], {}).get(pair[1], 0) >= RELEVANT]
        finder = EvidenceFinder(self.own.passages()) if relevant else None
        moved: dict[Pair, str] = {}
        for pair in relevant:
            passage = self._passage(lost[pair])
            query = self._query(lost[pair])
            if finder is not None and passage is not None and query is not None:
                chunk_id = finder.of(passage, query, self._quotes(pair))
                if chunk_id is not None:
                    moved[pair] = chunk_id
        return moved

    def _quotes(self, pair: Pair) -> Iterator[str]:
        """Yield what those quoted who found a pair relevant."""
        for name in self.raw.judged_by(pair):
            review = self.raw.review(name, pair)
            if review is not None and review.grade >= RELEVANT:
                yield review.evidence
        decided = self.raw.adjudication(pair)
        if decided is not None:
            yield decided.evidence or ""

    def _follows_evidence(self, event: Event) -> bool:
        """Return whether an event helped to find its pair relevant: an adjudication, or a judgment that holds."""
        if event.kind is EventKind.ADJUDICATE:
            return True
        review = self.raw.review(event.annotator, self._pair(event))
        return review is not None and review.grade >= RELEVANT


class _Wordings:
    """The queries of a set by their text.

    Among them are those that it had before people changed them, and those that edits which hold make of them.
    """

    def __init__(self, own: SetMeanings, edits: Iterable[tuple[Event, QueryMeaning]], raw: State) -> None:
        self._present = set(own.material.queries)
        self._ids: defaultdict[bytes, list[str]] = defaultdict(list)
        for query_id, text in own.wordings.items():
            self._ids[wording_digest(text)].append(query_id)
        self._taken = set(own.wordings)
        waiting = [edit for edit in edits if raw.stands(edit[0])]
        self._edit(waiting, own.data_sha)

    def _edit(self, edits: Sequence[tuple[Event, QueryMeaning]], data_sha: str) -> None:
        """Add what the last edit that holds makes of each query, then what edits make of that."""
        while True:
            last = {}
            for event, wording in edits:
                name = event.query_id if event.data_sha == data_sha else self.of(event.query_id, wording)
                if name is not None:
                    last[name] = event
            new = {next_version(name): event for name, event in last.items() if next_version(name) not in self._taken}
            if not new:
                return
            for name, event in new.items():
                self._taken.add(name)
                self._ids[wording_digest(event.text or "")].append(name)

    def of(self, query_id: str, query_meaning: QueryMeaning) -> str | None:
        """Return the id of the query with the same text, the same id first, None if there is none or several."""
        query_ids = self._ids.get(query_meaning.digest, [])
        if query_id in query_ids:
            return query_id
        present = [same_id for same_id in query_ids if same_id in self._present]
        if len(present) == 1:
            return present[0]
        return query_ids[0] if len(query_ids) == 1 else None

    def several(self, query_meaning: QueryMeaning) -> bool:
        """Return whether several queries have this text."""
        return len(self._ids.get(query_meaning.digest, [])) > 1


def _recognised(chunk_id: str, meaning: PassageMeaning) -> KnownPassage:
    return KnownPassage(chunk_id, meaning.doc_id, meaning.source, meaning.digest)


class EvidenceFinder:
    """The passages of a set, in which evidence is looked for.

    Args:
        passages: The passages by id.
    """

    def __init__(self, passages: Mapping[str, PassageMeaning]) -> None:
        self._sources = {chunk_id: passage.source for chunk_id, passage in passages.items()}
        self._texts = {chunk_id: SearchedText(passage.text) for chunk_id, passage in passages.items()}

    def of(self, judged: PassageMeaning, query_meaning: QueryMeaning, quotes: Iterable[str]) -> str | None:
        """Return the one passage that holds the evidence for a judgment, None if there is none or several.

        Args:
            judged: The passage as it was judged.
            query_meaning: The query, whose evidence counts if nobody quoted any.
            quotes: What people quoted from the passage.
        """
        quoted = [find_quote(quote, judged.text) for quote in quotes if quote.strip()]
        stretches = [stretch for stretch in quoted if stretch] if quoted else judged.stretches(query_meaning.evidence)
        holders = {self._holder(Stretch.of(judged.text, *stretch), judged.source) for stretch in stretches}
        return holders.pop() if len(holders) == 1 else None

    def _holder(self, stretch: Stretch, source: str) -> str | None:
        """Return the passage that holds a stretch, in its own document or else in any; None if it cannot be told."""
        hits = [(place, chunk_id) for chunk_id, text in self._texts.items() for place in text.places_of(stretch)]
        return tell_place([hit for hit in hits if self._sources[hit[1]] == source]) or tell_place(hits)
