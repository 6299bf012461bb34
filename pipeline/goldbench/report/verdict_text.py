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
    told = [f"Verdict: {verdict.sentence}.", *_doubt(verdict)]
    if verdict.improvements:
        told += [_HEADING, *(f"- {one}" for one in verdict.improvements)]
    return [printable(line) for line in told]


def first_lines(verdict: SetVerdict | None) -> list[str]:
    """Return the verdict in one line, as a command prints it first, and its doubt; nothing for None."""
    return verdict_lines(None if verdict is None else replace(verdict, improvements=()))


def further_lines(verdict: SetVerdict | None, *, whole: bool) -> list[str]:
    """Return what would change the verdict: the cheapest improvement in one line, or with ``whole`` every one."""
    if verdict is None or not verdict.improvements:
        return []
    if whole:
        return verdict_lines(verdict)[1 + len(_doubt(verdict)) :]
    first, rest = verdict.improvements[0], len(verdict.improvements) - 1
    more = f" ({rest:,} more with -v)" if rest else ""
    return [printable(f"To improve it: {first}{more}")]


def verdict_markdown(verdict: SetVerdict) -> str:
    """Return the verdict and the list of improvements, without a line end."""
    from goldbench.text.markdown import escaped

    told = "\n\n".join([f"**Verdict:** {escaped(verdict.sentence)}.", *map(escaped, _doubt(verdict))])
    if not verdict.improvements:
        return told
    return "\n".join([told, "", escaped(_HEADING), "", *(f"- {escaped(one)}" for one in verdict.improvements)])


def _doubt(verdict: SetVerdict) -> list[str]:
    """Return the line on what the verdict could not take into account; no line if there is nothing."""
    return [f"Warning: {verdict.doubt}."] if verdict.doubt else []
