"""How many queries of each level of difficulty are wanted and there; candidates beyond that are set aside."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from goldbench.pipeline.build.drawn_queries import Drawn, Outcome, rejection
from goldbench.pipeline.build.kind_counts import too_few
from goldbench.pipeline.build.rank_meter import RankMeter
from goldbench.pipeline.config import Generation, Generator, OfflineRecipe
from goldbench.pipeline.errors import Message
from goldbench.pipeline.stages.check import Finding
from goldbench.pipeline.stages.difficulty import overlap_complaint
from goldbench.pipeline.stages.generate import allotted, quotas
from goldbench.schemas.manifest import LevelCount, LevelSelection
from goldbench.schemas.query import Level, Query

DIFFICULTY = "difficulty"
"""The rule by which a candidate is set aside that no share of difficulty needs."""


@dataclass(slots=True, kw_only=True)
class LevelShares:
    """What is asked for about single passages, so that each level of difficulty gets its number.

    A candidate whose level has its number is set aside, and taken back if the others cannot be filled.

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
    given_up: dict[Level, str] = field(default_factory=dict)
    aside: list[Outcome] = field(default_factory=list)
    set_aside: int = 0
    """How many candidates were left out of the set because of their level."""
    _total: int = 0
    _room: dict[Level, int] = field(default_factory=dict)
    _open: bool = False
    _tries: Counter[Level] = field(default_factory=Counter)
    _kept_as_asked: Counter[Level] = field(default_factory=Counter)

    def begin(self, total: int, count: int, there: Iterable[Level] = ()) -> None:
        """Set what is wanted of the queries about single passages.

        Args:
            total: Queries that the shares are of.
            count: Those of them that are about single passages.
            there: The levels of the others.
        """
        self._total = total
        wanted, known = quotas(self.shares, total), Counter(there)
        lacking = {level: number - known[level] for level, number in wanted.items() if number > known[level]}
        self._room = quotas(lacking or wanted, count)

    def asked(self, chunk_ids: Sequence[str]) -> dict[str, Level]:
        """Return the level to ask for about each chunk, by its id; none if nothing is steered any more."""
        missing = {level: room for level, room in self._room.items() if room > 0 and level not in self.given_up}
        if self._open or not missing or not self.steers:
            return {}
        return dict(zip(chunk_ids, allotted(chunk_ids, missing, seed=self.seed), strict=True))

    def level(self, outcome: Outcome) -> Level:
        """Return the measured level of a candidate."""
        return self.meter.measure(outcome.candidate.text, (outcome.position,)).level

    def complaint(self, outcome: Outcome, share: float | None) -> str | None:
        """Return why a candidate should be put into other words, None if it should not.

        Args:
            outcome: The candidate.
            share: Its overlap with its passage, 0 to 1.
        """
        asked, order = outcome.brief.level, list(Level)
        if asked is None or order.index(self.level(outcome)) >= order.index(asked):
            return None
        return overlap_complaint(asked, share)

    def keeps(self, outcome: Outcome) -> bool:
        """Return whether a query of the candidate's level is missing; if not, it is set aside."""
        if self._open or outcome.planned or self._room.get(self.level(outcome), 0) > 0:
            return True
        self.aside.append(outcome)
        return False

    def count(self, outcome: Outcome) -> None:
        """Count an accepted candidate; a stand-in counts as what is asked for."""
        level = outcome.brief.level if outcome.planned else self.level(outcome)
        if level is None:
            return
        self._room[level] = self._room.get(level, 0) - 1
        self._kept_as_asked[level] += not self.steers or outcome.brief.level is level

    def tried(self, levels: Iterable[Level | None]) -> None:
        """Count the proposals about one chunk as a try of the level that was asked for."""
        self._tries.update({level for level in levels if level is not None} if self.steers else Level)

    def drop_hopeless(self) -> None:
        """Give up the levels of which too few proposals were what was asked for, and share out what they lack."""
        for level, room in list(self._room.items()):
            reason = too_few(self._kept_as_asked[level], self._tries[level])
            if room <= 0 or reason is None or level in self.given_up:
                continue
            self.given_up[level] = reason
            self._room[level] = 0
            others = {one: share for one, share in self.shares.items() if one not in self.given_up and share > 0}
            if not others:
                self.open()
                return
            for other, more in quotas(others, room).items():
                self._room[other] = self._room.get(other, 0) + more

    def open(self) -> None:
        """Take every level from now on, because no more is asked for."""
        self._open = True

    def taken_back(self) -> list[Outcome]:
        """Return the candidates that were set aside; those that are still not needed come back by ``keeps``."""
        aside, self.aside = self.aside, []
        return aside

    def reject_rest(self, drawn: Drawn) -> None:
        """Enter the candidates that nothing needed as rejections."""
        for outcome in self.taken_back():
            self.set_aside += 1
            ranks = self.meter.measure(outcome.candidate.text, (outcome.position,)).ranks
            placed = ", ".join(f"{rank or 'none'} in {name}" for name, rank in ranks.items())
            reason = f"there are enough queries of the level {self.level(outcome).value} (rank {placed})"
            drawn.rejections.append(rejection(Finding(DIFFICULTY, reason), outcome.candidate))

    def selection(self, queries: Iterable[Query]) -> LevelSelection:
        """Return what was wanted and reached; noisy forms of other queries are not counted.

        Args:
            queries: The queries of the set, measured.
        """
        wanted = quotas(self.shares, self._total)
        kept = Counter(one.difficulty.level for one in queries if one.difficulty and one.original is None)
        levels = {
            level.value: LevelCount(wanted=wanted.get(level, 0), kept=kept[level], given_up=self.given_up.get(level))
            for level in Level
        }
        return LevelSelection(systems=list(self.meter.systems), levels=levels, set_aside=self.set_aside)


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
