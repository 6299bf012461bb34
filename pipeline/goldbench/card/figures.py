"""How a figure of the card is made: rounded, with a state that follows from its threshold, or absent with a reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite

from goldbench.records.set_card import Figure, FigureState, Value

DIGITS = 4
"""Decimal places of a figure; beyond them figures of retrieval differ between machines."""


def figure(
    section: str,
    name: str,
    value: Value,
    meaning: str,
    *,
    unit: str = "",
    values: Mapping[str, Value] | None = None,
    items: Sequence[str] = (),
    limit: tuple[str | None, bool | FigureState] = (None, FigureState.INFO),
) -> Figure:
    """Return a figure, its numbers rounded.

    Args:
        section: Section of the card.
        name: Name of the figure, unique on the card.
        value: The figure itself.
        meaning: One or two sentences: what the figure says.
        unit: Unit of ``value``; a share counts from 0 to 1.
        values: The numbers that ``value`` is made of, by name.
        items: Ids of the queries or names of the systems it concerns.
        limit: When the figure is good, in words, and whether it is, or its state.
    """
    threshold, state = limit
    return Figure(
        section=section,
        name=name,
        value=_rounded(value),
        unit=unit,
        values={writable(key): _rounded(item) for key, item in (values or {}).items()},
        items=[writable(item) for item in items],
        threshold=threshold,
        state=state if isinstance(state, FigureState) else FigureState.OK if state else FigureState.WARN,
        meaning=writable(meaning),
    )


def absent(section: str, name: str, reason: str) -> Figure:
    """Return a figure that cannot be computed.

    Args:
        section: As in `figure`.
        name: As in `figure`.
        reason: Why the figure is absent, one line.
    """
    return Figure(section=section, name=name, state=FigureState.ABSENT, meaning=writable(reason))


def writable(text: str) -> str:
    """Return a text that can be written as UTF-8, lone surrogates replaced."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _rounded(value: Value) -> Value:
    if isinstance(value, str):
        return writable(value)
    if not isinstance(value, float):
        return value
    assert isfinite(value)
    return round(value, DIGITS) + 0.0  # never -0.0
