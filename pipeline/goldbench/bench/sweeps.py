"""Sweeps: one system becomes many, one for every combination of the values to try."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

CHUNK_SIZE, CHUNK_OVERLAP = "chunk_size", "chunk_overlap"
"""Parameters of the corpus, not of the system: the documents are cut anew and the labels projected."""

MOST_POINTS = 1000
"""Limits the combinations of one sweep; a larger sweep is refused."""
_LONGEST_VALUE = 40
"""Characters of a value in the name of a point; of a longer value the end is shown."""


@dataclass(frozen=True, slots=True)
class Cut:
    """How documents are cut, in characters."""

    size: int
    overlap: int


@dataclass(frozen=True, slots=True)
class Point:
    """One system of the experiment.

    ``name`` is its name in tables; ``system`` the name of its settings, which points that differ only in the cut share;
    ``cut`` is None if the gold set's own passages are searched.
    """

    name: str
    system: str
    cut: Cut | None = None


def points_of(
    name: str, table: Mapping[str, Any], grids: Sequence[Mapping[str, Any]]
) -> tuple[dict[Point, dict[str, Any]], list[str]]:
    """Return the points of one system with the settings of each, and the problems of its sweep.

    Args:
        name: The system.
        table: Its settings as in the file.
        grids: Values to try by parameter; the points are all combinations within a grid.
    """
    points: dict[Point, dict[str, Any]] = {}
    problems: list[str] = []
    for grid in grids:
        wrong = _wrong(grid)
        problems += [f"sweep.{name}{problem}" for problem in wrong]
        for values in product(*grid.values()) if not wrong else ():
            try:
                point, settings = _point(name, table, dict(zip(grid, values, strict=True)))
            except ValueError as error:
                problems.append(f"sweep.{name}: {error}")
                continue
            if points.setdefault(point, settings) != settings:
                problems.append(
                    f"sweep.{name}: two combinations are called {point.name}; describe them as systems with names"
                )
    return points, list(dict.fromkeys(problems))


def _wrong(grid: Mapping[str, Any]) -> list[str]:
    if not isinstance(grid, Mapping) or not grid:
        return [": name parameters with the values to try, as k1 = [0.9, 1.2]"]
    empty = [key for key, values in grid.items() if not isinstance(values, list) or not values]
    size = math.prod(len(values) for key, values in grid.items() if key not in empty)
    problems = [f".{key}: give a list of the values to try" for key in empty]
    return problems + [f": {size:,} combinations, more than {MOST_POINTS:,}"] * (size > MOST_POINTS)


def _point(name: str, table: Mapping[str, Any], chosen: Mapping[str, Any]) -> tuple[Point, dict[str, Any]]:
    own = {key: value for key, value in chosen.items() if key not in {CHUNK_SIZE, CHUNK_OVERLAP}}
    system = f"{name}[{_label(own)}]" if own else name
    return Point(f"{name}[{_label(chosen)}]", system, _cut(chosen)), {**table, **own}


def _cut(chosen: Mapping[str, Any]) -> Cut | None:
    size, overlap = chosen.get(CHUNK_SIZE), chosen.get(CHUNK_OVERLAP)
    if size is None and overlap is None:
        return None
    if size is None:
        raise ValueError(f"{CHUNK_OVERLAP} needs {CHUNK_SIZE}")
    if type(size) is not int or size < 1:
        raise ValueError(f"{CHUNK_SIZE} {size!r} is not a whole number of characters from 1")
    overlap = size // 10 if overlap is None else overlap
    if type(overlap) is not int or not 0 <= overlap < size:
        raise ValueError(f"{CHUNK_OVERLAP} {overlap!r} is not a whole number from 0 to below {CHUNK_SIZE} {size}")
    return Cut(size, overlap)


def _label(chosen: Mapping[str, Any]) -> str:
    return ",".join(f"{key}={_value(value)}" for key, value in chosen.items())


def _value(value: object) -> str:
    if isinstance(value, list):
        return ":".join(_value(one) for one in value)
    text = str(value).lower() if isinstance(value, bool) else str(value)
    text = "".join("_" if character.isspace() else character for character in text)
    return text if len(text) <= _LONGEST_VALUE else "…" + text[1 - _LONGEST_VALUE :]
