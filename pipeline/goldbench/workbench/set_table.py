"""A set with its systems and people's decisions: a line for every query, and the figures of every system."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from statistics import fmean
from typing import TYPE_CHECKING, Any

from goldbench.formats.runs.judgments import level_of
from goldbench.goldset.folder import GoldFolder
from goldbench.goldset.gold_path import notice_of
from goldbench.measures.ranks.failure_causes import MEANINGS, TITLES, Cause, ListedResult, failure_causes
from goldbench.records.query import NOWHERE, Candidate
from goldbench.records.review_event import EventKind
from goldbench.review.payload import clean
from goldbench.review.people import Grades, lineage, people_of
from goldbench.review.queue import QueueSettings, calibration
from goldbench.review.reviewable_set import ReviewableSet
from goldbench.review.state import State
from goldbench.score.runs import Gold
from goldbench.stages.select.near_duplicates import PassageLikeness
from goldbench.text.display import brief, shown
from goldbench.text.matched_words import shares_words
from goldbench.workbench.system_runs import HeldRun

if TYPE_CHECKING:
    from goldbench.measures.names import Measure

VERDICTS = {EventKind.ACCEPT_QUERY: "accepted", EventKind.EDIT_QUERY: "edited", EventKind.REJECT_QUERY: "rejected"}
REPORTED = "sent to review"
UNDECIDED = "undecided"

MAX_COMPARISONS = 2**16
"""Pairs of passages whose likeness is remembered."""

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class SystemRuns:
    """What a set is shown with: runs of systems, their measures, a line on each run that cannot be read or is old.

    A system fails at a query if none of its first ``k`` results is relevant.
    """

    runs: Sequence[HeldRun]
    measures: Sequence[Measure]
    k: int
    problems: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class LeftOutQuery:
    """A query that is not in the set, with the passage that it was written from, the rule, and why it broke it.

    ``key`` has a space, which no id of a query has; ``stage`` left it out.
    """

    key: str
    stage: str
    chunk_id: str
    rule: str
    reason: str
    candidate: Candidate


def left_out_queries(home: GoldFolder) -> Iterator[LeftOutQuery]:
    """Yield the queries rejected by a check, left out by grading or review, or retired with their documents.

    Raises:
        InputError: A file is damaged.
    """
    for number, rejection in enumerate(home.rejections.read_any(), start=1):
        if rejection.candidate is not None:
            key = f"rejected {number}"
            yield LeftOutQuery(
                key, "check", rejection.chunk_id, rejection.filter, rejection.reason, rejection.candidate
            )
    for stage, records in (("grading", home.ungraded), ("review", home.rejected)):
        for dropped in records.read_any():
            query = dropped.query
            yield LeftOutQuery(
                f"{stage} {query.query_id}", stage, query.chunk_id, dropped.filter, dropped.reason, query
            )
    for retired in home.retired.read_any():
        query = retired.query
        yield LeftOutQuery(f"refresh {query.query_id}", "refresh", query.chunk_id, "retired", retired.reason, query)


class SetTable:
    """A line for every query, made when it is first asked for, and again when its grades change."""

    def __init__(self, material: ReviewableSet, gold: Gold, systems: SystemRuns, decide: Callable[[], State]) -> None:
        """Read the queries that are not in the set.

        Args:
            material: The set.
            gold: Its judgments.
            systems: Its systems.
            decide: Returns people's decisions by now.

        Raises:
            InputError: A file with queries that are not in the set is damaged.
        """
        self.material = material
        self.gold = gold
        self.systems = systems
        self.state = decide()
        self.notice = notice_of(material.folder)
        """The warning of the set."""
        self.level = gold.level
        """The smallest relevant grade when people's decisions are applied."""
        self._decide = decide
        self._people: Grades = {}
        self._seq = -1
        self._rows: dict[str, Row] = {}
        self._are_alike = lru_cache(MAX_COMPARISONS)(PassageLikeness(material.corpus).are_alike)
        self.left_out = {each.key: each for each in left_out_queries(GoldFolder(material.folder))}
        self.left_out_by_chunk: defaultdict[str, list[LeftOutQuery]] = defaultdict(list)
        for each in self.left_out.values():
            self.left_out_by_chunk[each.chunk_id].append(each)

    def renew(self) -> State:
        """Return people's decisions by now; what they changed is computed again."""
        self.state = self._decide()
        if self.state.seq == self._seq:
            return self.state
        self._seq = self.state.seq
        before = self._people
        level = self.level
        material = self.material
        earlier = lineage(material.metadata)
        self._people = people_of(
            self.state, material.queries, corpus=material.corpus, pool=material.pool, earlier=earlier
        )
        known = before.keys() | self._people.keys()
        self.level = level_of({query_id: self.grades(query_id) for query_id in self.gold.qrels.keys() | known})
        changed = {query_id for query_id in known if before.get(query_id) != self._people.get(query_id)}
        for query_id in changed if self.level == level else list(self._rows):
            self._rows.pop(query_id, None)
        return self.state

    # --- grades -------------------------------------------------------------------------------------------------------

    def people(self, query_id: str) -> Mapping[str, int]:
        """Return the grades that people settled for a query."""
        return self._people.get(query_id, {})

    def grades(self, query_id: str) -> dict[str, int]:
        """Return the grade of each judged passage of a query, people's over the set's."""
        return {**self.gold.qrels.get(query_id, {}), **self.people(query_id)}

    def is_pending(self, query_id: str) -> bool:
        """Whether people graded a passage of a query otherwise than the set does."""
        applied = self.gold.qrels.get(query_id, {})
        return any(applied.get(doc_id) != grade for doc_id, grade in self.people(query_id).items())

    def relevant(self, query_id: str) -> list[str]:
        """Return the relevant passages of a query, the highest grade first."""
        grades = self.grades(query_id)
        relevant = [doc_id for doc_id, grade in grades.items() if grade >= self.level]
        return sorted(relevant, key=lambda doc_id: (-grades[doc_id], doc_id))

    @cached_property
    def sampled(self) -> Container[tuple[str, str]]:
        """The pairs of the random sample that the review draws unless it is told otherwise."""
        usual = QueueSettings()
        own = [pair for pair in self.material.pool if pair.shared_from is None]
        return calibration(own, self.material.judged, size=usual.calibration, seed=usual.seed)

    # --- systems ------------------------------------------------------------------------------------------------------

    def results(self, run: HeldRun, query_id: str) -> list[ListedResult]:
        """Return the results of a system for a query with their grades."""
        results = run.of(query_id)
        grades = self.grades(query_id)
        pairs = zip(results.doc_ids, results.scores, strict=True)
        return [ListedResult(doc_id, score, grades.get(doc_id)) for doc_id, score in pairs]

    def scores(self, run: HeldRun, query_id: str) -> list[float | None]:
        """Return the value of each measure of a system for a query, with people's decisions.

        Each is None if no passage is relevant: such a query leaves the set when the decisions are applied.
        """
        values = run.values.get(query_id)
        if not self.relevant(query_id):
            values = None
        elif self.is_pending(query_id) or self.level != self.gold.level:
            measures = [
                replace(each, rel=self.level) if each.rel == self.gold.level else each for each in self._measures
            ]
            values = run.values_by(query_id, self.grades(query_id), measures)
        return [_round(values[column]) if values else None for column in range(len(self._measures))]

    def causes(self, run: HeldRun, query_id: str) -> tuple[Cause, ...]:
        """Return why a system fails at a query; empty if it does not."""
        relevant = self.relevant(query_id)
        k = self.systems.k
        if not relevant or not set(run.of(query_id).doc_ids[:k]).isdisjoint(relevant):
            return ()
        query = self.material.asked[query_id].judged
        language = self.material.language(query_id)

        def shares(doc_id: str) -> bool:
            text = self.material.corpus.get(doc_id)
            return text is None or shares_words(query, text, language)

        results = self.results(run, query_id)
        return failure_causes(results, relevant, k, level=self.level, shares_words=shares, alike=self._are_alike)

    def copy_of(self, doc_id: str, relevant: Sequence[str]) -> str | None:
        """Return the first relevant passage that a passage is a near-duplicate of, None if there is none."""
        return next((each for each in relevant if each != doc_id and self._are_alike(doc_id, each)), None)

    @property
    def _measures(self) -> Sequence[Measure]:
        return self.systems.measures

    # --- lines --------------------------------------------------------------------------------------------------------

    def overview(self) -> dict[str, Any]:
        """Return everything that the list of queries shows, with the set's warning."""
        state = self.renew()
        verdicts = {query_id: VERDICTS[event.kind] for query_id, event in state.query_verdicts().items()}
        verdicts = dict.fromkeys(state.bad_queries(), REPORTED) | verdicts
        own = ({**self._row(each), "verdict": verdicts.get(each, UNDECIDED)} for each in self.material.queries)
        rows = [*own, *(self._left_out_row(each) for each in self.left_out.values())]
        folder = self.material.folder
        return {
            "set": shown(folder),
            "name": shown(folder.resolve().name),
            "brief": brief(self.notice, "") if self.notice else None,
            "queries": len(self.material.queries),
            "passages": len(self.material.corpus),
            "notice": self.notice,
            "problems": list(self.systems.problems),
            "systems": [run.name for run in self.systems.runs],
            "measures": [measure.name for measure in self._measures],
            "k": self.systems.k,
            "level": self.level,
            "pending": state.seq > 0 and any(map(self.is_pending, self.material.queries)),
            "means": self._means(),
            "causes": self._count_causes(),
            "rows": rows,
        }

    def _means(self) -> list[dict[str, Any]]:
        """Return the mean of each measure by system: by the set as it is, and with people's decisions applied."""
        verdicts = self.state.query_verdicts()
        rejected = {query_id for query_id, event in verdicts.items() if event.kind is EventKind.REJECT_QUERY}
        rows = [row for query_id, row in self._rows.items() if query_id not in rejected and row["relevant"]]
        columns = range(len(self._measures))
        return [
            {
                "system": run.name,
                "now": [_mean(values[column] for values in run.values.values()) for column in columns],
                "applied": [_mean(row["scores"][number][column] for row in rows) for column in columns],
                "failed": sum(bool(row["causes"][number]) for row in rows),
            }
            for number, run in enumerate(self.systems.runs)
        ]

    def _count_causes(self) -> list[dict[str, Any]]:
        """Return each cause with its words, and how many queries of each system fail by it."""
        counts = {cause: [0] * len(self.systems.runs) for cause in Cause}
        for row in self._rows.values():
            for number, causes in enumerate(row["causes"]):
                for cause in causes:
                    counts[Cause(cause)][number] += 1
        return [
            {"cause": each.value, "title": TITLES[each], "meaning": MEANINGS[each], "queries": counts[each]}
            for each in Cause
            if any(counts[each])
        ]

    def _row(self, query_id: str) -> Row:
        if query_id not in self._rows:
            self._rows[query_id] = self._make_row(query_id)
        return self._rows[query_id]

    def _make_row(self, query_id: str) -> Row:
        runs = self.systems.runs
        grades = self.grades(query_id)
        tops = [run.of(query_id).doc_ids[: self.systems.k] for run in runs]
        return {
            "id": query_id,
            "text": clean(self.material.asked[query_id].judged),
            "where": "set" if query_id in self.gold.qrels else "waiting",
            **_describe(self.material.notes.get(query_id, {})),
            "document": self.document(self.source(query_id)),
            "answer": self.answer(query_id),
            "relevant": len(self.relevant(query_id)),
            "people": len(self.people(query_id)),
            "scores": [self.scores(run, query_id) for run in runs],
            "causes": [list(self.causes(run, query_id)) for run in runs],
            "unjudged": [sum(doc_id not in grades for doc_id in top) for top in tops],
        }

    def _left_out_row(self, left_out: LeftOutQuery) -> Row:
        candidate = left_out.candidate
        return {
            "id": left_out.key,
            "text": clean(candidate.alone),
            "where": left_out.stage,
            **_describe(candidate.model_dump(include={"kind", "style", "language"})),
            "document": self.document(left_out.chunk_id),
            "answer": clean(candidate.answer or ""),
            "rule": left_out.rule,
            "verdict": UNDECIDED,
        }

    def names(self, query_id: str) -> list[str]:
        """Return the id of a query and those that it had before it was edited."""
        return [query_id, *lineage(self.material.metadata).get(query_id, ())]

    def source(self, query_id: str) -> str | None:
        """Return the passage that a query was written from, else its best relevant one, None if there is none."""
        chunk_id = self.material.notes.get(query_id, {}).get("chunk_id")
        if isinstance(chunk_id, str) and chunk_id != NOWHERE and chunk_id in self.material.corpus:
            return chunk_id
        return next(iter(self.relevant(query_id)), None)

    def document(self, chunk_id: str | None) -> str:
        """Return how the document of a passage is called."""
        position = self.material.position(chunk_id or "")
        return clean(position.title or (position.span.doc_id if position.span else ""))

    def answer(self, query_id: str) -> str:
        """Return the reference answer of a query, empty if there is none."""
        answer = self.material.answers.get(query_id, {}).get("text")
        return clean(str(answer or self.material.notes.get(query_id, {}).get("answer") or ""))

    def search_passages(self, words: Sequence[str]) -> list[str]:
        """Return the queries whose relevant passages, taken together, hold all words, given in folded case."""
        return [query_id for query_id in self.material.queries if all(map(self._texts(query_id).__contains__, words))]

    def _texts(self, query_id: str) -> str:
        chunk_ids = dict.fromkeys([self.source(query_id), *self.relevant(query_id)])
        return "\n".join(self.material.corpus[each] for each in chunk_ids if each in self.material.corpus).casefold()


def _describe(notes: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(notes.get(name) or "") for name in ("kind", "style", "language")}


def _round(value: float) -> float | None:
    return None if math.isnan(value) else round(value, 4)


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None and not math.isnan(value)]
    return round(fmean(known), 4) if known else None
