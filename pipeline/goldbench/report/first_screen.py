"""What a page says first: the verdict, three numbers, and one line for each doubt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from goldbench.records.scorecard import Verdict
from goldbench.report.text_tables import with_interval
from goldbench.report.trust import Fact, facts
from goldbench.text.display import queries

if TYPE_CHECKING:
    from goldbench.records.scorecard import Comparison, Scorecard
    from goldbench.report.failure_browser import Behind


@dataclass(frozen=True, slots=True)
class Number:
    """A number, what it is, and the part of the address that leads to the queries behind it, None if none does.

    ``name`` is the system that it belongs to, as text of its own direction.
    """

    value: str
    meaning: str
    name: str = ""
    link: str | None = None


@dataclass(frozen=True, slots=True)
class FirstScreen:
    """The verdict with what would change it, who is best, three numbers, doubts, and facts without a doubt."""

    verdict: str
    improvements: Sequence[str]
    best: Sequence[str]
    numbers: Sequence[Number]
    doubts: Sequence[str]
    facts: Sequence[Fact] = field(default=())


def first_screen(
    card: Scorecard,
    behind: Behind | None,
    best: str | Sequence[str] | None,
    notice: str | None,
    more: Sequence[Fact] = (),
) -> FirstScreen:
    """Return what a page says first.

    Args:
        card: The scorecard, its best system first.
        behind: The queries behind the figures; None if the page does not hold them.
        best: Lines on the best systems, or None.
        notice: The gold set's warning, or None.
        more: Further facts.
    """
    known = [*facts(card), *more]
    return FirstScreen(
        verdict=card.verdict.sentence if card.verdict else "",
        improvements=card.verdict.improvements if card.verdict else (),
        best=[best] if isinstance(best, str) else list(best or ()),
        numbers=list(_numbers(card, behind)),
        doubts=[*_doubts(card, known), *([notice] if notice else [])],
        facts=[one for one in known if not one.doubt],
    )


def _doubts(card: Scorecard, known: Sequence[Fact]) -> Iterator[str]:
    if card.verdict is not None and card.verdict.doubt:
        yield card.verdict.doubt
    yield from (one.doubt for one in known if one.doubt)
    yield from card.warnings


def _numbers(card: Scorecard, behind: Behind | None) -> Iterator[Number]:
    measure, top = card.measures[0], card.systems[0]
    score = top.scores[measure]
    link = None if behind is None else "measure=" + measure + "&first=0&sort=first"
    yield Number(with_interval(score.mean, score.low, score.high, places=3), f"{measure} of", top.system, link)
    if len(card.systems) > 1:
        yield _lead(card, linked=behind is not None)
    if behind is not None and behind.ranks:
        ranks = next(iter(behind.ranks.values()))
        failed = sum(rank is None or rank > behind.k for rank in ranks)
        link = f"first=0&missed={behind.k}&sort=first"
        meaning = f"of {queries(len(ranks))} have nothing relevant in the top {behind.k} of"
        yield Number(f"{failed:,}", meaning, behind.systems[0], link)
    else:
        yield Number(f"{card.gold.queries:,}", "judged query" if card.gold.queries == 1 else "judged queries")
    if len(card.systems) == 1 and behind is not None:
        yield Number(f"{card.gold.queries:,}", "judged query" if card.gold.queries == 1 else "judged queries")


def _lead(card: Scorecard, *, linked: bool) -> Number:
    """Return how far the best system is ahead of the next one by the first measure."""
    measure, first, second = card.measures[0], card.systems[0], card.systems[1]
    lead = first.scores[measure].mean - second.scores[measure].mean
    found = next((one for one in card.comparisons if _is_of(one, measure, first.system, second.system)), None)
    told = ""
    if found is not None:
        settled = found.verdict in {Verdict.FIRST, Verdict.SECOND}
        told = ", significant" if settled else ", may be chance"
    link = f"measure={measure}&first=0&second=1&which=first-wins" if linked else None
    return Number(f"{lead:+.3f}", f"{measure} ahead of the next{told}:", second.system, link)


def _is_of(found: Comparison, measure: str, first: str, second: str) -> bool:
    return found.measure == measure and {found.first, found.second} == {first, second}
