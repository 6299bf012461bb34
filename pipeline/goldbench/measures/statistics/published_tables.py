"""Published tables: figures from a publication, to compare with measured ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from typing import Any

from goldbench.errors import UnknownMeasure
from goldbench.measures.names import parse_measure
from goldbench.records.experiment import Difference, PublishedRow

CUTOFFS = ("top_k", "cutoffs")
_WORDS = {"beside", "note"}


def printed_rows(
    table: Mapping[str, Any], *, cutoffs: Sequence[int], level: int
) -> tuple[list[PublishedRow], list[str]]:
    """Return the rows of a published table, and one line for each problem with it.

    Args:
        table: Figures by system and measure; for a measure without a cutoff, a list of figures, one for each of the
            cutoffs in the table's ``top_k``.
        cutoffs: Cutoffs of a table without ``top_k``.
        level: The smallest grade that counts as relevant.
    """
    rows: list[PublishedRow] = []
    problems: list[str] = []
    own = next((table[key] for key in CUTOFFS if key in table), list(cutoffs))
    if not isinstance(own, list) or not own or not all(type(k) is int and k > 0 for k in own):
        return [], ["published.top_k: give the cutoffs as whole numbers from 1"]
    for name, figures in table.items():
        if name in CUTOFFS:
            continue
        if not isinstance(figures, Mapping):
            if isinstance(figures, list | int | float):
                problems.append(f"published.{name}: give the figures by measure, as {name}.mrr = 0.5")
            continue
        values: dict[str, float] = {}
        for key in (key for key in figures if key not in _WORDS):
            try:
                values |= dict(_values(key, figures[key], own, level))
            except (ValueError, UnknownMeasure) as error:
                problems.append(f"published.{name}.{key}: {error}")
        beside, note = figures.get("beside", ()), figures.get("note")
        beside = (beside,) if isinstance(beside, str) else beside
        if isinstance(beside, list | tuple) and all(isinstance(one, str) for one in beside):
            rows.append(
                PublishedRow(published=name, values=values, beside=tuple(beside), note=str(note) if note else None)
            )
        else:
            problems.append(f"published.{name}.beside: give a list of systems")
    return rows, problems


def differences(
    rows: Sequence[PublishedRow], means: Mapping[str, Mapping[str, float]], queries: int
) -> Iterator[Difference]:
    """Yield every published figure with the measured one, in the order of the table.

    Args:
        rows: Published rows; a row without ``beside`` is compared with the measured system of the same name.
        means: Our means by system and measure.
        queries: Number of queries of the measured means.
    """
    for row in rows:
        for system in row.beside or (row.published,):
            for measure, value in row.values.items():
                ours = means.get(system, {}).get(measure)
                if ours is not None:
                    yield Difference(
                        published=row.published,
                        system=system,
                        measure=measure,
                        value=value,
                        ours=ours,
                        difference=ours - value,
                        queries=(ours - value) * queries,
                    )


def _values(key: str, found: object, cutoffs: Sequence[int], level: int) -> Iterator[tuple[str, float]]:
    if isinstance(found, list):
        if len(found) > len(cutoffs):
            raise ValueError(f"{len(found)} figures for {len(cutoffs)} cutoffs; give the cutoffs as published.top_k")
        for cutoff, value in zip(cutoffs, found, strict=False):
            yield parse_measure(f"{key}@{cutoff}", rel=level).name, _figure(value)
    else:
        yield parse_measure(key, rel=level).name, _figure(found)


def _figure(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise ValueError("not a finite number")
    return float(value)
