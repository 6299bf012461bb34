"""What comparisons say, in words."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.text.display import queries
from schemas.scorecard import Comparison, Scorecard, Verdict

SMOKE = "smoke"


def sentences(card: Scorecard) -> Iterator[str]:
    """Yield one sentence per comparison, pair by pair."""
    claims = card.gold.evidence_level != SMOKE
    for comparison in card.comparisons:
        yield sentence(comparison, alpha=card.method.alpha, claims=claims)


def sentence(found: Comparison, *, alpha: float, claims: bool = True) -> str:
    """Return what one comparison says; without ``claims`` only about these queries, not about the systems."""
    figures = (
        f"{found.difference:+.4f}, interval {found.low:+.4f} to {found.high:+.4f}, p {p_value(found.p_holm)} after Holm"
    )
    if found.verdict is Verdict.SAME:
        return f"{found.first} and {found.second} have the same {found.measure} on every query."
    if found.verdict is Verdict.NOT_SEPARABLE:
        return (
            f"{found.first} and {found.second} are not separable by {found.measure} ({figures}); "
            f"{queries(found.queries)} can show differences from about {found.detectable:.4f} on."
        )
    better, worse = found.first, found.second
    if found.verdict is Verdict.SECOND:
        better, worse = worse, better
    if not claims:
        return f"{better} scores higher than {worse} by {found.measure} on these simulated queries ({figures})."
    return f"{better} is better than {worse} by {found.measure} ({figures}, level {alpha:g})."


def p_value(p: float) -> str:
    """Return a p-value as people read it; never 0."""
    return f"{p:.4f}" if p >= 0.0001 else f"{p:.1e}"


def best(card: Scorecard) -> str | None:
    """Return which systems may be the best by the first measure, or None where nothing was compared.

    A system is among the best unless another is found better than it.
    """
    if not card.comparisons or card.gold.evidence_level == SMOKE:
        return None
    measure = card.measures[0]
    top = unbeaten(card)
    if len(top) == 1:
        return f"By {measure}, {top[0]} is the best of {len(card.systems)}."
    return f"By {measure}, these are not separable from the best: {', '.join(top)}."


def unbeaten(card: Scorecard) -> list[str]:
    """Return the systems that none is found better than by the first measure, in the order of the card."""
    beaten = set()
    for found in card.comparisons:
        if found.measure == card.measures[0]:
            beaten |= {Verdict.FIRST: {found.second}, Verdict.SECOND: {found.first}}.get(found.verdict, set())
    return [system.system for system in card.systems if system.system not in beaten]
