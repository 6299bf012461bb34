"""Sweeps: one system becomes many, one for every combination of the values to be tried."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

CHUNK_SIZE, CHUNK_OVERLAP = "chunk_size", "chunk_overlap"
"""Parameters of the corpus, not of the system: the documents are cut anew and the labels projected."""

MOST_POINTS = 1000
_LONGEST_VALUE = 40


@dataclass(frozen=True, slots=True)
class Cut:
    """How documents are cut, in characters."""

    size: int
    overlap: int


@dataclass(frozen=True, slots=True)
class Point:
    """One system of the experiment.

    ``name`` is what tables call it, ``system`` its settings' name, which points that differ in the cut alone share,
    ``base`` the system it was made from, ``cut`` None where the gold set's own passages are searched.
    """

    name: str
    system: str
    base: str
    cut: Cut | None = None


def points_of(
    name: str, table: Mapping[str, Any], grids: Sequence[Mapping[str, Any]]
) -> tuple[dict[Point, dict[str, Any]], list[str]]:
    """Return the points of one system with the settings of each, and what is wrong with its sweep.

    Args:
        name: the system.
        table: its settings as they stand in the file.
        grids: each a parameter's values by its name; the points are all combinations within a grid.
    """
    points: dict[Point, dict[str, Any]] = {}
    problems: list[str] = []
    for grid in grids:
        wrong = list(_wrong(name, grid))
        problems += wrong
        if wrong:
            continue
        for values in product(*grid.values()):
            chosen = dict(zip(grid, values, strict=True))
            try:
                point, settings = _point(name, table, chosen)
            except ValueError as error:
                problems.append(f"sweep.{name}: {error}")
                continue
            if points.setdefault(point, settings) != settings:
                problems.append(f"sweep.{name}: two combinations are called {point.name}; make them systems by name")
    return points, list(dict.fromkeys(problems))


def _wrong(name: str, grid: Mapping[str, Any]) -> Iterator[str]:
    if not isinstance(grid, Mapping) or not grid:
        yield f"sweep.{name}: name parameters with the values to be tried, as k1 = [0.9, 1.2]"
        return
    size = 1
    for key, values in grid.items():
        if not isinstance(values, list) or not values:
            yield f"sweep.{name}.{key}: give a list of the values to be tried"
        else:
            size *= len(values)
    if size > MOST_POINTS:
        yield f"sweep.{name}: {size:,} combinations, more than {MOST_POINTS:,}"


def _point(name: str, table: Mapping[str, Any], chosen: Mapping[str, Any]) -> tuple[Point, dict[str, Any]]:
    own = {key: value for key, value in chosen.items() if key not in {CHUNK_SIZE, CHUNK_OVERLAP}}
    system = f"{name}[{_label(own)}]" if own else name
    return Point(f"{name}[{_label(chosen)}]", system, name, _cut(chosen)), {**table, **own}


def _cut(chosen: Mapping[str, Any]) -> Cut | None:
    size, overlap = chosen.get(CHUNK_SIZE), chosen.get(CHUNK_OVERLAP)
    if size is None and overlap is None:
        return None
    if size is None:
        raise ValueError(f"{CHUNK_OVERLAP} needs {CHUNK_SIZE}")
    if not _is_whole(size) or size < 1:
        raise ValueError(f"{CHUNK_SIZE} {size!r} is no whole number of characters from 1 on")
    overlap = size // 10 if overlap is None else overlap
    if not _is_whole(overlap) or not 0 <= overlap < size:
        raise ValueError(f"{CHUNK_OVERLAP} {overlap!r} is no whole number from 0 to below {CHUNK_SIZE} {size}")
    return Cut(size, overlap)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _label(chosen: Mapping[str, Any]) -> str:
    return ",".join(f"{key}={_value(value)}" for key, value in chosen.items())


def _value(value: object) -> str:
    if isinstance(value, list):
        return ":".join(_value(one) for one in value)
    text = str(value).lower() if isinstance(value, bool) else str(value)
    text = "".join("_" if character.isspace() else character for character in text)
    return text if len(text) <= _LONGEST_VALUE else "…" + text[1 - _LONGEST_VALUE :]
