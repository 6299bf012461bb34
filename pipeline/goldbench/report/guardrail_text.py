"""The guardrails of a judge as lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from goldbench.records.guardrail import Guardrail, GuardrailVerdict
from goldbench.text.display import amount


def guardrail_lines(held: Sequence[Guardrail]) -> Iterator[str]:
    """Yield a line for each guardrail: its rate, its interval, its limit and the verdict."""
    for one in held:
        yield f"guardrail, {one.probe}: {guardrail_text(one)}"


def guardrail_text(one: Guardrail) -> str:
    """Return what was found on a guardrail, in a few words."""
    if one.verdict is GuardrailVerdict.ABSENT or one.rate is None or one.low is None or one.high is None:
        return f"not tested: {one.reason}"
    verdict = one.verdict.value
    if one.verdict is GuardrailVerdict.UNDECIDED:
        verdict += f", {amount(one.more, 'more pair')} would" if one.more is not None else ", too close to the limit"
    return (
        f"wrong on {one.wrong:,} of {one.shown:,} ({one.rate:.0%}, 95 % interval {one.low:.0%} to {one.high:.0%}; "
        f"limit {one.limit:.0%}): {verdict}"
    )
