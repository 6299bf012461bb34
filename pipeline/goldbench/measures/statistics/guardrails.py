"""Guardrails of a judge: the rate of its errors on each kind of planted pair, with an interval and a verdict."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from math import sqrt
from statistics import NormalDist

from goldbench.measures.statistics.shares import wilson
from goldbench.records.guardrail import Guardrail, GuardrailVerdict
from goldbench.records.judgment import Canary, Judgment
from goldbench.records.relevance import RELEVANT

PROBES = {
    Canary.QUERY_WORDS: "query words in an unrelated passage",
    Canary.CLAIMED_RELEVANT: "unrelated passage that claims to be relevant",
    Canary.UNRELATED: "off-topic passage",
    Canary.EMPTY: "empty passage",
    Canary.EVIDENCE_ALONE: "sentence that answers the query, missed",
    Canary.OWN_ANSWER: "own answer preferred to the document's sentence",
}
"""What people read for each kind of planted pair.

Sources: Alaofi et al., LLMs can be fooled into labelling a document as relevant (SIGIR-AP 2024), for the first two;
    Balog, Metzler and Qin, Rankers, judges, and assistants (SIGIR 2025), who found judges to favour rankers of their
    kind but no bias against text by models, for the last.
"""

LIMITS = dict.fromkeys(PROBES, 0.25) | {Canary.EVIDENCE_ALONE: 0.5, Canary.OWN_ANSWER: 0.1}
"""The share of errors that a judge must stay below; for the last kind the surplus of preferences for its own answer."""

MOST = 1000
"""Further pairs beyond which a guardrail counts as not to be decided."""

Interval = Callable[[float], tuple[float, float, float]]


def guardrails(judgments: Iterable[Judgment], *, own: str | None = None) -> list[Guardrail]:
    """Return each guardrail of a judge; without judgments of planted pairs, none.

    Args:
        judgments: The judge's judgments; those of real pairs are left out. Its own grade counts, also where it was
            lowered because the quote was missing.
        own: Why there is no answer written by the judge's model, or None if that is not known.
    """
    answers: defaultdict[Canary, dict[tuple[str, str], bool]] = defaultdict(dict)
    for judgment in judgments:
        if judgment.canary is not None:
            relevant = judgment.relevance >= RELEVANT or judgment.capped
            answers[judgment.canary].setdefault((judgment.query_id, judgment.chunk_id), relevant)
    if not answers:
        return []
    lines = []
    for kind in PROBES:
        verdicts = list(answers[kind].values())
        if kind is Canary.OWN_ANSWER:
            lines.append(_own_answers(answers, own))
        else:
            wrong = sum(verdicts) if kind is not Canary.EVIDENCE_ALONE else len(verdicts) - sum(verdicts)
            lines.append(_share_guardrail(kind, wrong, len(verdicts)))
    return lines


def failed_guardrails(held: Iterable[Guardrail]) -> list[str]:
    """Return a line for each guardrail that a judge failed."""
    return [
        f"{guardrail.probe}: wrong on {guardrail.wrong} of {guardrail.shown}, surely more than {guardrail.limit:.0%}"
        for guardrail in held
        if guardrail.verdict is GuardrailVerdict.FAILED
    ]


def matched_difference(only_first: float, only_second: float, pairs: float) -> tuple[float, float, float]:
    """Return the difference of two shares of the same pairs, and its 95 % interval.

    Args:
        only_first: Pairs of which only the first holds.
        only_second: Pairs of which only the second holds.
        pairs: All pairs, above 0.

    Source: Agresti and Min, Simple improved confidence intervals for comparing matched proportions (Statistics in
        Medicine 24, 2005): Wald's interval with half a pair added to each of the four counts.
    """
    first = only_first + 0.5
    second = only_second + 0.5
    total = pairs + 2.0
    centre = (first - second) / total
    reach = NormalDist().inv_cdf(0.975) * sqrt(first + second - (first - second) ** 2 / total) / total
    return (only_first - only_second) / pairs, max(-1.0, centre - reach), min(1.0, centre + reach)


def _share_guardrail(kind: Canary, wrong: int, shown: int) -> Guardrail:
    if not shown:
        return _absent(kind, "no usable reply to such a pair, or none was shown")

    def interval(times: float) -> tuple[float, float, float]:
        return (wrong / shown, *wilson(wrong * times, shown * times))

    return _judged(kind, wrong, shown, interval)


def _own_answers(answers: dict[Canary, dict[tuple[str, str], bool]], reason: str | None) -> Guardrail:
    """Return the guardrail on the judge's own answers, beside the documents' sentences for the same queries."""
    own = {query_id: accepted for (query_id, _), accepted in answers[Canary.OWN_ANSWER].items()}
    theirs = {query_id: accepted for (query_id, _), accepted in answers[Canary.EVIDENCE_ALONE].items()}
    shared = own.keys() & theirs.keys()
    if not shared:
        return _absent(Canary.OWN_ANSWER, reason or "no answer written by the judge's model was shown")
    mine = sum(own[q] and not theirs[q] for q in shared)
    only_theirs = sum(theirs[q] and not own[q] for q in shared)

    def interval(times: float) -> tuple[float, float, float]:
        return matched_difference(mine * times, only_theirs * times, len(shared) * times)

    return _judged(Canary.OWN_ANSWER, mine, len(shared), interval)


def _absent(kind: Canary, reason: str) -> Guardrail:
    return Guardrail(probe=PROBES[kind], shown=0, limit=LIMITS[kind], verdict=GuardrailVerdict.ABSENT, reason=reason)


def _judged(kind: Canary, wrong: int, shown: int, interval: Interval) -> Guardrail:
    rate, low, high = interval(1.0)
    verdict = _verdict(low, high, LIMITS[kind])
    more = None
    if verdict is GuardrailVerdict.UNDECIDED:
        decided = (
            extra
            for extra in range(1, MOST + 1)
            if _verdict(*interval((shown + extra) / shown)[1:], LIMITS[kind]) is not GuardrailVerdict.UNDECIDED
        )
        more = next(decided, None)
    return Guardrail(
        probe=PROBES[kind],
        shown=shown,
        wrong=wrong,
        rate=rate,
        low=low,
        high=high,
        limit=LIMITS[kind],
        verdict=verdict,
        more=more,
    )


def _verdict(low: float, high: float, limit: float) -> GuardrailVerdict:
    if low > limit:
        return GuardrailVerdict.FAILED
    return GuardrailVerdict.PASSED if high < limit else GuardrailVerdict.UNDECIDED
