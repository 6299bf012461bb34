"""The verdict on a gold set as lines for a terminal and as Markdown."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from goldbench.text.display import printable

if TYPE_CHECKING:
    from goldbench.records.set_verdict import SetVerdict

_HEADING = "What would change it most, the cheapest first:"


def verdict_lines(verdict: SetVerdict | None) -> list[str]:
    """Return the verdict, and a line for each improvement below a heading; nothing for None."""
    if verdict is None:
        return []
    lines = [f"Verdict: {verdict.sentence}."]
    if verdict.improvements:
        lines += [_HEADING, *(f"- {one}" for one in verdict.improvements)]
    return [printable(line) for line in lines]


def first_lines(verdict: SetVerdict | None) -> list[str]:
    """Return the verdict in one line, as a command prints it first; nothing for None."""
    return verdict_lines(None if verdict is None else replace(verdict, improvements=()))


def further_lines(verdict: SetVerdict | None, *, whole: bool) -> list[str]:
    """Return what would change the verdict: the cheapest improvement in one line, or with ``whole`` every one."""
    if verdict is None or not verdict.improvements:
        return []
    if whole:
        return verdict_lines(verdict)[1:]
    first, rest = verdict.improvements[0], len(verdict.improvements) - 1
    more = f" ({rest:,} more with -v)" if rest else ""
    return [printable(f"To improve it: {first}{more}")]


def verdict_markdown(verdict: SetVerdict) -> str:
    """Return the verdict and the list of improvements, without a line end."""
    from goldbench.text.markdown import escaped

    sentence = f"**Verdict:** {escaped(verdict.sentence)}."
    if not verdict.improvements:
        return sentence
    return "\n".join([sentence, "", escaped(_HEADING), "", *(f"- {escaped(one)}" for one in verdict.improvements)])
