"""A set with its systems and people's decisions: a line for every query, and the figures of every system."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from typing import TYPE_CHECKING, Any

from goldbench.goldset.folder import GoldFolder
from goldbench.measures.ranks.failure_causes import MEANINGS, TITLES, Cause
from goldbench.records.query import NOWHERE
from goldbench.records.review_event import EventKind
from goldbench.review.payload import clean
from goldbench.review.people import lineage
from goldbench.review.queue import QueueSettings, calibration
from goldbench.review.reviewable_set import Place, ReviewableSet
from goldbench.review.state import State
from goldbench.score.runs import Gold
from goldbench.workbench.earlier_version import EarlierVersion, QueryChange
from goldbench.workbench.failure_search import FailureSearch
from goldbench.workbench.gold_labels import GoldLabels
from goldbench.workbench.left_out_queries import LeftOut, LeftOutQueries
from goldbench.workbench.system_runs import HeldRun

if TYPE_CHECKING:
    from goldbench.measures.names import Measure

VERDICTS = {EventKind.ACCEPT_QUERY: "accepted", EventKind.EDIT_QUERY: "edited", EventKind.REJECT_QUERY: "rejected"}
REPORTED, UNDECIDED = "sent to review", "undecided"

EARLIER = "earlier"
"""Where a query is that only the earlier version has."""

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Systems:
    """What a set is shown with: runs of systems, their measures, a line on each run that cannot be read or is old."""

    runs: Sequence[HeldRun]
    measures: Sequence[Measure]
    k: int
    problems: Sequence[str] = ()
    earlier: EarlierVersion | None = None
    """The earlier version of the set that it is compared with."""


class SetTable:
    """A line for every query, made when it is first asked for, and again when its grades change.

    Args:
        material: The set.
        gold: Its judgments.
        systems: Its systems.
        state: Returns people's decisions by now.

    Raises:
        InputError: A file with queries that are not in the set is damaged.
    """

    def __init__(self, material: ReviewableSet, gold: Gold, systems: Systems, state: Callable[[], State]) -> None:
        self.material, self.gold, self.systems = material, gold, systems
        self.labels = GoldLabels(gold, material)
        self.failures = FailureSearch(material, self.labels, systems.k)
        self.state = state()
        self._now = state
        self._rows: dict[str, Row] = {}
        self.left_out = LeftOutQueries(GoldFolder(material.folder))

    def renew(self) -> State:
        """Return people's decisions by now; what they changed is computed again."""
        self.state = self._now()
        for query_id in self.labels.renew(self.state):
            self._rows.pop(query_id, None)
        return self.state

    def rows(self) -> list[Row]:
        """Return the lines of all queries: first those of the set, then those that are not in it."""
        state = self.renew()
        verdicts = state.query_verdicts()
        told = {one: VERDICTS[event.kind] for one, event in verdicts.items()}
        told = dict.fromkeys(state.bad_queries(), REPORTED) | told
        own = ({**self._row(one), "verdict": told.get(one, UNDECIDED)} for one in self.material.queries)
        gone = (self._removed_row(key, one) for key, one in self.removed.items())
        return [*own, *(self._left_out_row(one) for one in self.left_out.by_key.values()), *gone]

    def prepare(self, query_ids: Iterable[str]) -> None:
        """Make the lines of these queries, which `rows` then has at hand."""
        self.renew()
        for query_id in query_ids:
            self._row(query_id)

    @cached_property
    def removed(self) -> dict[str, QueryChange]:
        """The queries that only the earlier version has, by a key with a space, which no id of a query has."""
        earlier = self.systems.earlier
        return {f"{EARLIER} {one}": change for one, change in earlier.removed.items()} if earlier else {}

    def means(self) -> list[dict[str, Any]]:
        """Return the mean of each measure by system: by the set as it is, and with people's decisions applied."""
        verdicts = self.state.query_verdicts()
        gone = {one for one, event in verdicts.items() if event.kind is EventKind.REJECT_QUERY}
        stays = [row for query_id, row in self._rows.items() if query_id not in gone and row["relevant"]]
        return [
            {
                "system": run.name,
                "now": [_mean(values[at] for values in run.values.values()) for at in self._places],
                "applied": [_mean(row["scores"][number][at] for row in stays) for at in self._places],
                "failed": sum(bool(row["causes"][number]) for row in stays),
            }
            for number, run in enumerate(self.systems.runs)
        ]

    def causes(self) -> list[dict[str, Any]]:
        """Return each cause with its words, and how many queries of each system fail by it."""
        counts = {cause: [0] * len(self.systems.runs) for cause in Cause}
        for row in self._rows.values():
            for number, causes in enumerate(row["causes"]):
                for cause in causes:
                    counts[Cause(cause)][number] += 1
        return [
            {"cause": one.value, "title": TITLES[one], "meaning": MEANINGS[one], "queries": counts[one]}
            for one in Cause
            if any(counts[one])
        ]

    @property
    def _places(self) -> range:
        return range(len(self.systems.measures))

    def _row(self, query_id: str) -> Row:
        found = self._rows.get(query_id)
        if found is None:
            found = self._rows[query_id] = self._made(query_id)
        return found

    def scores(self, run: HeldRun, query_id: str) -> list[float | None]:
        """Return the value of each measure of a system for a query, with people's decisions.

        Each is None if no passage is relevant: such a query leaves the set when the decisions are applied.
        """
        values = run.values.get(query_id)
        if not self.labels.relevant(query_id):
            values = None
        elif self.labels.is_pending(query_id) or self.labels.level != self.gold.level:
            measures = self.labels.at_level(self.systems.measures)
            values = run.values_by(query_id, self.labels.grades(query_id), measures)
        return [_rounded(values[at]) if values else None for at in self._places]

    def names(self, query_id: str) -> list[str]:
        """Return the id of a query and those that it had before it was edited."""
        return [query_id, *lineage(self.material.metadata).get(query_id, ())]

    def source(self, query_id: str) -> str | None:
        """Return the passage that a query was written from, else its best relevant one, None if there is none."""
        noted = self.material.notes.get(query_id, {}).get("chunk_id")
        if isinstance(noted, str) and noted != NOWHERE and noted in self.material.corpus:
            return noted
        return next(iter(self.labels.relevant(query_id)), None)

    def document(self, chunk_id: str | None) -> str:
        """Return how the document of a passage is called."""
        place = self.material.places.get(chunk_id or "", Place())
        return clean(place.title or (place.span.doc_id if place.span else ""))

    def _made(self, query_id: str) -> Row:
        notes, runs = self.material.notes.get(query_id, {}), self.systems.runs
        grades = self.labels.grades(query_id)
        tops = [run.of(query_id).doc_ids[: self.systems.k] for run in runs]
        return {
            "id": query_id,
            "text": clean(self.material.asked[query_id].judged),
            "where": "set" if query_id in self.gold.qrels else "waiting",
            **_described(notes),
            "document": self.document(self.source(query_id)),
            "answer": clean(self._answer(query_id)),
            "relevant": len(self.labels.relevant(query_id)),
            "people": len(self.labels.people(query_id)),
            "scores": [self.scores(run, query_id) for run in runs],
            "causes": [list(self.failures.causes(run, query_id)) for run in runs],
            "unjudged": [sum(doc_id not in grades for doc_id in top) for top in tops],
            **({"since": self.systems.earlier.status(query_id)} if self.systems.earlier else {}),
        }

    def holding(self, words: Sequence[str]) -> list[str]:
        """Return the queries whose relevant passages, taken together, hold all words, given in folded case."""
        return [one for one in self.material.queries if all(word in self._passages_of(one) for word in words)]

    def _passages_of(self, query_id: str) -> str:
        found = dict.fromkeys([self.source(query_id), *self.labels.relevant(query_id)])
        return "\n".join(self.material.corpus[one] for one in found if one in self.material.corpus).casefold()

    @cached_property
    def sampled(self) -> Container[tuple[str, str]]:
        """The pairs of the random sample that the review draws unless it is told otherwise."""
        usual = QueueSettings()
        own = [one for one in self.material.pool if one.shared_from is None]
        return calibration(own, self.material.judged, size=usual.calibration, seed=usual.seed)

    def _answer(self, query_id: str) -> str:
        found = self.material.answers.get(query_id, {}).get("text")
        noted = self.material.notes.get(query_id, {}).get("answer")
        return next((one for one in (found, noted) if isinstance(one, str)), "")

    def _left_out_row(self, one: LeftOut) -> Row:
        assert one.candidate is not None
        return {
            "id": one.key,
            "text": clean(one.candidate.alone),
            "where": one.by.value,
            **_described(one.candidate.model_dump(include={"kind", "style", "language"})),
            "document": self.document(one.chunk_id),
            "answer": clean(one.candidate.answer or ""),
            "rule": one.rule,
            "verdict": UNDECIDED,
        }

    def _removed_row(self, key: str, one: QueryChange) -> Row:
        row = {"id": key, "text": clean(one.text), "where": EARLIER, **_described({}), "document": "", "answer": ""}
        return {**row, "verdict": UNDECIDED, "since": one.status}


def _described(notes: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(notes.get(name) or "") for name in ("kind", "style", "language")}


def _rounded(value: float) -> float | None:
    return None if math.isnan(value) else round(value, 4)


def _mean(values: Iterable[float | None]) -> float | None:
    found = [value for value in values if value is not None and not math.isnan(value)]
    return round(fmean(found), 4) if found else None
