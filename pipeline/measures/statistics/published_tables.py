"""Published tables: figures that somebody printed, to stand beside ours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from typing import Any

from pipeline.errors import UnknownMeasure
from pipeline.measures.names import parse_measure
from schemas.experiment import Difference, PublishedRow

CUTOFFS = ("top_k", "cutoffs")
_WORDS = {"beside", "note"}


def printed_rows(
    table: Mapping[str, Any], *, cutoffs: Sequence[int], level: int
) -> tuple[list[PublishedRow], list[str]]:
    """Return the rows of a published table, and what is wrong with it.

    Args:
        table: by system, and within by measure, a figure; or for a measure without a cutoff a list of figures, one for
            each of the cutoffs in the table's ``top_k``.
        cutoffs: where the table has no ``top_k``.
        level: the smallest grade that counts as relevant.
    """
    rows: list[PublishedRow] = []
    problems: list[str] = []
    own = next((table[key] for key in CUTOFFS if key in table), list(cutoffs))
    if not isinstance(own, list) or not own or not all(type(k) is int and k > 0 for k in own):
        return [], ["published.top_k: give the cutoffs as whole numbers from 1"]
    for name, figures in table.items():
        if name in CUTOFFS or not isinstance(figures, Mapping):
            if isinstance(figures, list | int | float) and name not in CUTOFFS:
                problems.append(f"published.{name}: name the measures it has figures of")
            continue
        values: dict[str, float] = {}
        for key, found in figures.items():
            if key not in _WORDS:
                try:
                    values |= dict(_values(key, found, own, level))
                except (ValueError, UnknownMeasure) as error:
                    problems.append(f"published.{name}.{key}: {error}")
        beside, note = figures.get("beside", (name,)), figures.get("note")
        beside = (beside,) if isinstance(beside, str) else beside
        if not isinstance(beside, list | tuple) or not all(isinstance(one, str) for one in beside):
            problems.append(f"published.{name}.beside: give a list of systems")
            continue
        row = PublishedRow(published=name, values=values, note=str(note) if note else None)
        rows.append(row.model_copy(update={"beside": tuple(beside) if "beside" in figures else ()}))
    return rows, problems


def differences(
    rows: Sequence[PublishedRow], means: Mapping[str, Mapping[str, float]], queries: int
) -> Iterator[Difference]:
    """Yield every published figure beside ours, in the order of the table.

    Args:
        rows: what was published; a row without ``beside`` stands beside our system of the same name.
        means: ours by system and measure.
        queries: how many they are means of.
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
            raise ValueError(f"{len(found)} figures for {len(cutoffs)} cutoffs; say top_k")
        for cutoff, value in zip(cutoffs, found, strict=False):
            yield parse_measure(f"{key}@{cutoff}", rel=level).name, _figure(value)
    else:
        yield parse_measure(key, rel=level).name, _figure(found)


def _figure(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise ValueError("is no number")
    return float(value)
