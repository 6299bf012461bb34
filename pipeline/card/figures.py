"""How figures of the card are made: rounded, with a state that follows from a threshold, or absent with a reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite

from schemas.set_card import Figure, State, Value

DIGITS = 4
"""Beyond these, figures of retrieval differ between machines."""


def figure(  # noqa: PLR0913  a figure has as many parts as it has
    section: str,
    name: str,
    value: Value,
    meaning: str,
    *,
    unit: str = "",
    values: Mapping[str, Value] | None = None,
    items: Sequence[str] = (),
    threshold: str | None = None,
    state: State = State.INFO,
) -> Figure:
    """Return a figure, its numbers rounded."""
    return Figure(
        section=section,
        name=name,
        value=_rounded(value),
        unit=unit,
        values={writable(key): _rounded(item) for key, item in (values or {}).items()},
        items=[writable(item) for item in items],
        threshold=threshold,
        state=state,
        meaning=writable(meaning),
    )


def absent(section: str, name: str, reason: str) -> Figure:
    """Return a figure that cannot be computed."""
    return Figure(section=section, name=name, state=State.ABSENT, meaning=reason)


def good(condition: bool) -> State:
    """Return that a figure is as it should be, or to be looked at."""
    return State.OK if condition else State.WARN


def share(part: int, whole: int) -> float | None:
    """Return a share, None of nothing."""
    return part / whole if whole else None


def percent(value: float | None) -> str:
    """Return a share as people read it."""
    return "none" if value is None else f"{value:.0%}"


def writable(text: str) -> str:
    """Return a text that can be written as UTF-8, whatever it holds."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _rounded(value: Value) -> Value:
    if isinstance(value, str):
        return writable(value)
    if not isinstance(value, float):
        return value
    assert isfinite(value)
    return round(value, DIGITS) + 0.0  # never -0.0
