"""People's decisions about queries: which stay, under which id and wording, and which are left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from goldbench.errors import InputError
from goldbench.records.query import NOWHERE, DroppedQuery, Query
from goldbench.records.relevance import RELEVANT, Relevance
from goldbench.records.review_event import Event, EventKind
from goldbench.review.meanings import next_version
from goldbench.review.people import Grades, ReviewedSet, lineage
from goldbench.review.unreviewed import UnreviewedSet

REJECTED = "rejected"
BAD = "bad-query"
UNANSWERED = "unanswered"
_VERDICTS = {EventKind.ACCEPT_QUERY, EventKind.EDIT_QUERY, EventKind.REJECT_QUERY}


@dataclass(frozen=True, slots=True)
class DecidedSet:
    """The set as decided: its queries, their earlier ids (the latest first), who decided, and what is left out.

    ``waiting`` are the ids of queries that came without a label and still have none.
    """

    queries: list[Query]
    earlier: dict[str, list[str]]
    notes: dict[str, dict[str, Any]]
    dropped: list[DroppedQuery]
    waiting: list[str] = field(default_factory=list)

    def rules(self) -> dict[str, int]:
        """Return how many queries are left out by each rule."""
        return dict(sorted(Counter(rejection.filter for rejection in self.dropped).items()))

    def now(self) -> dict[str, str]:
        """Return the new id of a query by each id it ever had; waiting queries keep their first."""
        ids = {query_id: query_id for query_id in self.waiting}
        ids |= {query.query_id: query.query_id for query in self.queries}
        for query in self.queries:
            ids |= dict.fromkeys(self.earlier.get(query.query_id, ()), query.query_id)
        return ids


def decide(start: UnreviewedSet, reviewed: ReviewedSet, *, reject_bad: bool) -> DecidedSet:
    """Return which queries stay and under which id and wording.

    Args:
        start: The set before people's decisions.
        reviewed: What people decided.
        reject_bad: Whether a query that somebody called bad, and nobody accepted or edited, is left out.
    """
    last, edits = _verdicts(reviewed)
    bad = reviewed.state.bad_queries()
    before = {} if start.kept else lineage(reviewed.material.metadata)
    decided_set = DecidedSet([], {}, {}, [])
    query_ids = {query.query_id for query in start.queries}
    for position, original in enumerate(start.queries):
        query = original
        earlier = list(before.get(original.query_id, ()))
        while (edit := edits.get(query.query_id)) is not None and _wording(edit) != query.alone:
            if _rejected(last, query):
                break
            earlier.insert(0, query.query_id)
            query = _edited(query, edit, query_ids)
        verdict = last.get(query.query_id)
        reasons = bad.get(query.query_id) if reject_bad and verdict is None else None
        if _rejected(last, query) and verdict is not None:
            reason = verdict.reason.value if verdict.reason else "rejected by a person"
            decided_set.dropped.append(DroppedQuery(position=position, filter=REJECTED, reason=reason, query=query))
        elif reasons:
            reason = ", ".join(sorted({reason_given.value for reason_given in reasons.values()}))
            decided_set.dropped.append(DroppedQuery(position=position, filter=BAD, reason=reason, query=query))
        else:
            decided_set.queries.append(query)
            if earlier:
                decided_set.earlier[query.query_id] = earlier
            decided_set.notes.update(_noted(query, earlier, last))
    return decided_set


def _verdicts(reviewed: ReviewedSet) -> tuple[dict[str, Event], dict[str, Event]]:
    """Return the last valid verdict on each query, and the last edit; accepting after an edit accepts the edit."""
    last: dict[str, Event] = {}
    edits: dict[str, Event] = {}
    for event in reviewed.events:
        if event.kind in _VERDICTS and reviewed.state.stands(event):
            last[event.query_id] = event
            if event.kind is EventKind.EDIT_QUERY:
                edits[event.query_id] = event
    return last, edits


def _rejected(last: Mapping[str, Event], query: Query) -> bool:
    verdict = last.get(query.query_id)
    return verdict is not None and verdict.kind is EventKind.REJECT_QUERY


def _wording(edit: Event) -> str:
    return " ".join((edit.text or "").split())


def _edited(query: Query, edit: Event, query_ids: set[str]) -> Query:
    """Return the next version of a query, without what was measured on the old wording.

    Of a conversation the stand-alone form is changed, which is what people read and judge. A noisy query and its
    original do not stay a pair, since noise would no longer explain their difference.
    """
    name = next_version(query.query_id)
    if name in query_ids:
        raise InputError("the gold set", f"already holds a query {name!r}, the id of the edited query; rename that one")
    unknown: dict[str, Any] = {
        "scores": {},
        "overlap": None,
        "reached_by": None,
        "unreachable": None,
        "too_broad": None,
        "difficulty": None,
    }
    of_a_conversation = query.standalone is not None  # what people judge, and so what they put otherwise
    wording = {"standalone" if of_a_conversation else "text": _wording(edit), "first_text": query.alone}
    no_longer_noise = {"original": None, "noise": None}
    return query.model_copy(update={"query_id": name, **wording, **unknown, **no_longer_noise, "source_grade": None})


def _noted(query: Query, earlier: Sequence[str], last: Mapping[str, Event]) -> dict[str, dict[str, Any]]:
    """Return who decided what about a query, by its id; empty if nobody did."""
    decided = last.get(query.query_id) or (last.get(earlier[0]) if earlier else None)
    if decided is None and not earlier:
        return {}
    note: dict[str, Any] = {"earlier": list(earlier), "earlier_text": query.first_text} if earlier else {}
    if decided is not None:
        verdict = "edited" if earlier and decided.kind is EventKind.EDIT_QUERY else "accepted"
        note |= {"verdict": verdict, "by": decided.annotator, "at": decided.at}
    return {query.query_id: note}


def answered(decided: DecidedSet, start: UnreviewedSet, people: Grades) -> dict[str, dict[str, Relevance]]:
    """Return the grades of every query, people's over the model's; leave out queries without a relevant passage.

    Args:
        decided: The set as decided; queries are moved from its queries to its dropped ones.
        start: The set before people's decisions.
        people: People's grades, by the new ids.
    """
    position = {query.query_id: number for number, query in enumerate(start.queries)}
    grades: dict[str, dict[str, Relevance]] = {}
    for query in list(decided.queries):
        first = decided.earlier.get(query.query_id, [])
        known = next(name for name in (query.query_id, *first) if name in position)
        graded = start.grades.get(known, {}) | people.get(query.query_id, {})
        if any(grade >= RELEVANT for grade in graded.values()):
            grades[query.query_id] = {chunk_id: Relevance(grade) for chunk_id, grade in sorted(graded.items())}
            if query.chunk_id == NOWHERE:
                best = max(sorted(graded), key=graded.__getitem__)
                number = decided.queries.index(query)
                decided.queries[number] = query.model_copy(update={"chunk_id": best})
            continue
        decided.queries.remove(query)
        decided.notes.pop(query.query_id, None)
        if query.chunk_id == NOWHERE:
            decided.waiting.append(known)
            continue
        reason = "people found no passage that answers it"
        decided.dropped.append(DroppedQuery(position=position[known], filter=UNANSWERED, reason=reason, query=query))
    decided.dropped.sort(key=lambda rejection: rejection.position)
    return grades
