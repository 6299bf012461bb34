"""The verdict on a gold set in words: what it is good for, and what would change that most, the cheapest first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt

from goldbench.measures.result import Result
from goldbench.measures.statistics.comparison import aligned
from goldbench.measures.statistics.fitness import (
    COARSE,
    ENOUGH_CHANCE,
    FEWEST,
    Fitness,
    FitnessLevel,
    Reason,
    fitness,
    has_holes,
    missing_of,
)
from goldbench.records.calibrated import CorrectedRanking
from goldbench.records.set_verdict import SetVerdict
from goldbench.score.runs import Gold
from goldbench.score.set_makers import Makers, makers_of
from goldbench.text.display import amount, cut, one_line, queries, shell_command

USUAL = 100
"""A first number of real queries to ask for: with it the card calls a set large enough."""

_OF_USERS = ": " + shell_command("build", "DOCUMENTS", queries_from="FILE", out="NEW")

_ORDERED = {FitnessLevel.RANKS, FitnessLevel.SEPARATES, FitnessLevel.REGRESSIONS}
"""Levels whose sentence tells something about the order of systems."""

_MOST_NAMES = 3
_LONGEST = 40
"""Limits the systems that an improvement names, and the characters of a name."""


@dataclass(frozen=True, slots=True)
class Case:
    """What a verdict is about.

    ``measure`` is what the order of systems is by, ``results`` are their results over it. ``systems`` is what people
    read for the systems, with ``{n}`` for their number in the plural. ``has_runs`` says that the user has the results
    of the systems in files, and can have them judged. ``unread`` is why people's judgments could not be read, empty if
    they could; ``counted`` says that those in the set's ledger were looked at.
    """

    measure: str
    makers: Makers
    results: Mapping[str, Result]
    systems: str = "these {n} systems"
    ranking: CorrectedRanking | None = None
    has_runs: bool = True
    unread: str = ""
    counted: bool = False

    @classmethod
    def of(cls, gold: Gold, results: Mapping[str, Result]) -> Case:
        """Return the case of systems that were scored on a set, 1 or more."""
        return cls(deciding(list(next(iter(results.values())).values)), makers_of(gold), results)

    @property
    def holes(self) -> list[float]:
        """The share of each system's top results that has no judgment."""
        return [result.unjudged / result.top for result in self.results.values() if result.top]

    @property
    def strange(self) -> list[str]:
        """The systems without any judged result."""
        return [name for name, result in self.results.items() if result.strange]

    @property
    def leaves_people_out(self) -> bool:
        """Whether the set has a ledger of people's judgments that nobody looked at."""
        return self.makers.reviewed and self.ranking is None and not self.counted


def deciding(measures: Sequence[str]) -> str:
    """Return the measure that a verdict is about: the first nDCG, else the first that measures quality.

    Args:
        measures: Canonical names, at least 1.
    """
    quality = [name for name in measures if not name.startswith(("judged", "all"))] or list(measures)
    return next((name for name in quality if name.startswith("ndcg")), quality[0])


def verdict_on(case: Case, *, separated: int | None = None) -> SetVerdict:
    """Return what a set is good for: every command and the card decide by this function.

    Args:
        case: What the verdict is about, with 1 system or more.
        separated: Pairs that a test separated, if one was made.
    """
    columns = aligned(case.results, [case.measure]).scores[:, :, 0].T.tolist()
    if case.strange or not columns[0]:
        verdict = Fitness(FitnessLevel.UNUSABLE, Reason.NOTHING_JUDGED, len(columns[0]), len(columns))
    else:
        verdict = fitness(columns, case.makers.basis, unjudged=case.holes, ranking=case.ranking, separated=separated)
    if case.measure.startswith("judged") and verdict.level in _ORDERED and verdict.systems > 1:
        verdict = replace(verdict, level=FitnessLevel.REGRESSIONS, reason=Reason.NO_QUALITY)
    number, means = _number(verdict)
    improvements = sorted(_improvements(verdict, case), key=lambda improvement: improvement[0])
    return SetVerdict(
        level=verdict.level.value,
        sentence=_sentence(verdict, case),
        number=number,
        means=means,
        improvements=tuple(text for _, text in improvements),
    )


def _number(fitness: Fitness) -> tuple[float | None, str]:
    if fitness.reason in {Reason.FEW_QUERIES, Reason.NOTHING_JUDGED, Reason.SIMULATED}:
        return float(fitness.queries), "queries"
    if fitness.level in {FitnessLevel.RANKS, FitnessLevel.SEPARATES} or fitness.reason is Reason.CHANCE:
        return fitness.chance, "probability that the order of the systems is right (tau 0.8 or more)"
    return fitness.detectable, "smallest difference that a test finds with probability 0.8"


def _sentence(fitness: Fitness, case: Case) -> str:
    systems = case.systems.format(n=f"{fitness.systems:,}")
    if fitness.level is FitnessLevel.UNUSABLE:
        return f"unusable: {_fault(case)}"
    if fitness.level is FitnessLevel.SMOKE:
        return f"good for smoke tests of one system only: {_weakness(fitness, case)}"
    if fitness.level is FitnessLevel.RANKS:
        share = f"{_percent(fitness.chance or 0.0)} ({queries(fitness.queries)})"
        condition = "" if case.makers.basis.judged_by else ", if people made its judgments: who did is not recorded"
        nearly = " but for 1 pair of 10" if fitness.systems > 4 else ""
        by = f"corrected {case.measure}" if case.ranking is not None else case.measure
        return f"ranks {systems} by {by}: the chance that their order is right{nearly} is {share}{condition}"
    if fitness.level is FitnessLevel.SEPARATES:
        pairs = f"{fitness.separated:,} of {amount(fitness.pairs, 'pair')} of {systems}"
        return f"tells apart {pairs} by {case.measure}, but does not rank them: {_doubt(fitness)}"
    if fitness.detectable is None:
        return f"good for regressions of one system; {_against(fitness, case, systems)}"
    difference = f"it shows differences of {fitness.detectable:.3f} or more in {case.measure}"
    if fitness.mean is not None:
        ends = f"{fitness.mean - fitness.reach:.3f} to {fitness.mean + fitness.reach:.3f}"
        difference = f"{difference} (its mean is {fitness.mean:.3f}, 95% interval {ends})"
    return f"good for regressions of one system: {difference}{_against(fitness, case, systems)}"


def _fault(case: Case) -> str:
    if case.strange:
        return f"no result of {_listed(case.strange)} is judged; use the same ids in runs and judgments"
    return "no query is left to score"


def _weakness(fitness: Fitness, case: Case) -> str:
    if fitness.reason is Reason.SIMULATED:
        return f"its queries are simulated or written by a tiny model ({queries(fitness.queries)})"
    if fitness.reason is Reason.FEW_QUERIES:
        return f"it has {queries(fitness.queries)}, and anything more needs {FEWEST}"
    return f"differences of {case.measure} below {fitness.detectable or 0.0:.2f} are noise ({queries(fitness.queries)})"


def _against(fitness: Fitness, case: Case, systems: str) -> str:
    """Return why a set that shows regressions does not rank."""
    if fitness.reason is Reason.ONE_SYSTEM:
        known = fitness.detectable is not None
        return ", if its versions differ as two systems do" if known else f"every query has the same {case.measure}"
    if fitness.reason is Reason.EQUAL:
        return f"{systems} have the same {case.measure} on every query"
    why = {
        Reason.MODEL: f"a model judged, and {_by_people(case)}",
        Reason.SOURCE: "the only label of a query is the passage that it was written from",
        Reason.UNJUDGED: f"up to {_percent(max(case.holes, default=0.0))} of their top results are unjudged",
        Reason.CHANCE: _doubt(fitness),
        Reason.TEST: "the test tells none of them apart",
        Reason.NO_QUALITY: f"{case.measure} does not measure quality",
    }
    start = "; " if fitness.detectable is not None else ""
    return f"{start}does not rank {systems.removesuffix(',')}: {why[fitness.reason or Reason.CHANCE]}"


def _by_people(case: Case) -> str:
    if case.unread:
        return f"people's judgments cannot be read ({case.unread})"
    if case.leaves_people_out:
        return "people's judgments in its ledger are not counted here"
    return f"people judged fewer than {queries(FEWEST)} completely"


def _doubt(fitness: Fitness) -> str:
    least = _percent(ENOUGH_CHANCE)
    chance = f"the chance that their order is right is {_percent(fitness.chance or 0.0)}"
    chance = f"{chance}, and {least} is needed"
    if fitness.more or fitness.systems < 2:
        return chance
    return f"{chance}; those not told apart differ by less than {fitness.delta:.2f}"


def _improvements(fitness: Fitness, case: Case) -> Iterator[tuple[float, str]]:
    """Yield what would change the verdict, each with its cost in judgments."""
    makers = case.makers
    if fitness.level is FitnessLevel.RANKS or fitness.reason in {Reason.NOTHING_JUDGED, Reason.NO_QUALITY}:
        return
    if case.has_runs and makers.basis.lists_others and has_holes(case.holes):
        yield _judge_the_rest(case)
    if fitness.reason is Reason.SOURCE:
        yield 0.0, f"judge a pool of passages for every query{_command(makers, 'grade')}"
    if fitness.reason in {Reason.MODEL, Reason.CHANCE, Reason.TEST} and makers.basis.judged_by == "model":
        yield from _ask_people(fitness, case)
    if fitness.reason is Reason.SIMULATED:
        yield _ask_users(fitness, case)
    elif fitness.reason in {Reason.FEW_QUERIES, Reason.COARSE}:
        yield _add(_first_queries(fitness), case)
    elif case.ranking is None and fitness.more:
        yield _add(fitness.more, case, fitness.delta)
    elif case.ranking is not None and case.ranking.queries_more and not case.ranking.together:
        yield _add(case.ranking.queries_more, case, case.ranking.delta)


def _first_queries(fitness: Fitness) -> int:
    """Return the queries that a set for smoke tests lacks to be good for more."""
    wanted = fitness.queries * ((fitness.detectable or COARSE) / COARSE) ** 2
    return missing_of(max(wanted, USUAL), fitness.queries)


def _add(count: int, case: Case, delta: float | None = None) -> tuple[float, str]:
    aim = "" if delta is None else f", for differences of {delta:.2f}"
    return count * case.makers.per_query, f"add {queries(count)}{aim}{_command(case.makers, 'add', 'FILE')}"


def _ask_users(fitness: Fitness, case: Case) -> tuple[float, str]:
    """Return what real queries would do in place of these, whose spread stands for theirs.

    The command builds another set: queries that are added leave the simulated ones in this set, and its level.
    """
    text = f"replace the queries with {queries(USUAL)} of users or people"
    if fitness.detectable:
        shown = fitness.detectable * sqrt(fitness.queries / USUAL)
        text = f"{text}, which show differences of about {shown:.2f}"
    return USUAL * case.makers.per_query, text + ("" if case.makers.place is None else _OF_USERS)


def _judge_the_rest(case: Case) -> tuple[float, str]:
    unjudged = {name: result.unjudged for name, result in case.results.items() if result.unjudged}
    count = sum(unjudged.values())
    text = f"judge {amount(count, 'unjudged result')} of {_listed(list(unjudged))}"
    command = "topup" if case.makers.basis.judged_by == "model" else "grade"
    return count, text + _command(case.makers, command, run="NAME=FILE")


def _ask_people(fitness: Fitness, case: Case) -> Iterator[tuple[float, str]]:
    makers = case.makers
    ranking = case.ranking
    if case.leaves_people_out:
        command = _command(makers, "score", calibrated="", run="NAME=FILE")
        yield 0.0, f"use the judgments of people so far{command}"
    done = ranking.complete if ranking is not None else 0
    wanted = FEWEST - done if ranking is None or done < FEWEST else ranking.judged_more or 0
    besides = ranking.queries_more or 0 if ranking is not None and ranking.together else 0
    wanted = min(wanted, fitness.queries + besides - done)
    if wanted > 0:
        pairs = max(1, round(wanted * makers.per_query))
        more = "more " if done else ""
        text = f"let people judge {amount(wanted, f'{more}query', f'{more}queries')} completely"
        text = f"{text} (about {amount(pairs, 'pair')})" + (f" and add {queries(besides)}" if besides else "")
        yield float(pairs), f"{text}{_command(makers, 'review')}"


def _command(makers: Makers, name: str, *files: str, **options: str) -> str:
    return "" if makers.place is None else f": {shell_command(name, makers.place, *files, **options)}"


def _listed(names: Sequence[str]) -> str:
    """Return the first names, printable and short, and how many there are besides."""
    shown = [cut(one_line(name), _LONGEST) for name in names[:_MOST_NAMES]]
    rest = len(names) - len(shown)
    listed = [*shown, f"{rest:,} more"] if rest else shown
    return " and ".join(filter(None, (", ".join(listed[:-1]), listed[-1])))


def _percent(share: float) -> str:
    """Return a share as a percentage that never claims certainty."""
    return f"{share:.0%}" if 0.005 <= share <= 0.995 else ("> 99%" if share > 0.5 else "< 1%")
