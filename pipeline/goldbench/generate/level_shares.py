"""Shares of difficulty: which level is asked for, which one a candidate has, and what was reached."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from goldbench.config import Generation, Generator, OfflineRecipe
from goldbench.errors import Message
from goldbench.generate.drawn_queries import Outcome, Task
from goldbench.generate.quotas import Quotas, missing_beside
from goldbench.generate.rank_meter import RankMeter
from goldbench.records.manifest import LevelCount, LevelSelection
from goldbench.records.query import Difficulty, Level, Query
from goldbench.stages.check import Finding
from goldbench.stages.difficulty import overlap_complaint
from goldbench.stages.generate import quotas

DIFFICULTY = "difficulty"
"""The rule by which a candidate is left out that no share of difficulty needs."""


@dataclass(slots=True, kw_only=True)
class LevelShares:
    """Says how hard queries should be, so that each level of difficulty gets its number.

    Args:
        shares: Share of each level, 0 or more, not all 0.
        seed: Seed of the run.
        meter: Measures the difficulty of queries.
        steers: Whether the generator is told a level; if not, each proposal is a try of every level.
    """

    shares: Mapping[Level, float]
    seed: int
    meter: RankMeter
    steers: bool = True
    takes_all: bool = False
    """Whether every level is accepted, because no more is asked for."""
    _total: int = field(default=0, init=False)
    _rejected: int = field(default=0, init=False)
    _quotas: Quotas[Level] = field(init=False)

    def begin(self, count: int, existing: Counter[Level]) -> None:
        """Set how many queries of each level are wanted.

        Args:
            count: How many queries are to be drawn.
            existing: How many of each level there are besides.
        """
        self._total = count + existing.total()
        missing = missing_beside(existing, quotas(self.shares, self._total), count=count)
        # a level is often missed by a model that can reach it, so six tries say little
        self._quotas = Quotas(self.shares, missing, gives_up_early=False)

    def request(self, chunk_ids: Sequence[str]) -> dict[str, Level]:
        """Return the level to ask for about each chunk, by its id; none if nothing is steered any more."""
        if self.takes_all or not self.steers:
            return {}
        return self._quotas.request(Level, chunk_ids, seed=self.seed)

    def complaint(self, outcome: Outcome, share: float | None) -> str | None:
        """Return why a candidate should be put into other words, None if it should not.

        Args:
            outcome: The candidate.
            share: Its overlap with its passage, 0 to 1.
        """
        requested = outcome.task.brief.level
        order = list(Level)
        if requested is None or order.index(self._difficulty(outcome).level) >= order.index(requested):
            return None
        return overlap_complaint(requested, share)

    def is_missing(self, outcome: Outcome) -> bool:
        """Return whether a query of the candidate's level is missing."""
        if self.takes_all or outcome.planned:
            return True
        return self._quotas.count_missing([self._difficulty(outcome).level]) > 0

    def count_try(self, task: Task) -> None:
        """Count the proposals about a passage as a try of the level that was asked for."""
        if not self.steers:
            self._quotas.tries.update(Level)
        elif task.brief.level is not None:
            self._quotas.tries[task.brief.level] += 1

    def count(self, outcome: Outcome) -> None:
        """Count an accepted candidate; a stand-in has the level that was asked for."""
        requested = outcome.task.brief.level
        level = requested if outcome.planned else self._difficulty(outcome).level
        if level is not None:
            self._quotas.count(level, requested=requested if self.steers else level)

    def give_up_hopeless(self) -> bool:
        """Give up the levels that too few proposals reached; return whether there were any."""
        hopeless = False
        for level, reason in self._quotas.hopeless():
            self._quotas.give_up(level, reason)
            hopeless = True
        if all(level in self._quotas.given_up for level, share in self.shares.items() if share > 0):
            self.takes_all = True
        return hopeless

    def reject(self, outcome: Outcome) -> Finding:
        """Count a candidate that no level needs, and return why it is left out."""
        self._rejected += 1
        difficulty = self._difficulty(outcome)
        ranks = ", ".join(f"{rank or 'none'} in {name}" for name, rank in difficulty.ranks.items())
        return Finding(DIFFICULTY, f"there are enough queries of the level {difficulty.level.value} (rank {ranks})")

    def selection(self, queries: Iterable[Query]) -> LevelSelection:
        """Return what was wanted and reached; noisy forms of other queries are not counted.

        Args:
            queries: The queries of the set, measured.
        """
        wanted = quotas(self.shares, self._total)
        counts = Counter(query.difficulty.level for query in queries if query.difficulty and query.original is None)
        given_up = self._quotas.given_up
        levels = {
            level.value: LevelCount(wanted=wanted.get(level, 0), kept=counts[level], given_up=given_up.get(level))
            for level in Level
        }
        return LevelSelection(systems=list(self.meter.systems), levels=levels, set_aside=self._rejected)

    def _difficulty(self, outcome: Outcome) -> Difficulty:
        return self.meter.measure(outcome.candidate.text, outcome.task.positions)


def levels_for(settings: Generation, meter: Callable[[], RankMeter], note: Callable[[str], None]) -> LevelShares | None:
    """Return what steers difficulty, None if nothing does; a line says what cannot be done here.

    Args:
        settings: The shares, and who writes.
        meter: Makes what measures the difficulty of queries.
        note: Shows a person one line.
    """
    if settings.difficulty is None:
        return None
    in_full = settings.generator is Generator.MODEL and not settings.asks_in_short
    if not in_full and settings.recipe is not OfflineRecipe.TERMS:
        ignored = f"[generate.difficulty] is ignored: the recipe {settings.recipe.value} takes words out of the corpus"
        remedy = Message("ranks are known only once the set is complete; use {offline_recipe='terms'}.")
        note(Message("{}, so {}", ignored, remedy))
        return None
    if not in_full:
        note(
            "[generate.difficulty] selects queries, but their wording is not steered: only a model that is asked at "
            "length can follow that."
        )
    return LevelShares(shares=settings.difficulty, seed=settings.seed, meter=meter(), steers=in_full)
