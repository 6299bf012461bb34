"""The queries behind a figure, named in one line with the command that opens the first of them."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from math import isnan

from goldbench.measures.result import Result
from goldbench.text.display import cut, shell_command, shown

NAMED = 3
"""Most queries that a line names."""

PORT = 8809
"""The port of ``goldbench open`` unless another is given, to which links of pages lead."""

_LONGEST = 60
"""Characters of an id that are shown; the command needs it whole, and is left out for a longer one."""


def worst_of(result: Result, measure: str) -> list[str]:
    """Return the ids of the queries with the lowest values; see `lowest_of`.

    Args:
        result: The scores of a run.
        measure: A measure of it.
    """
    return [query_id for query_id, _ in lowest_of(result, measure, NAMED)]


def lowest_of(result: Result, measure: str, most: int) -> list[tuple[str, float]]:
    """Return the queries with the lowest values, the lowest first, ties by id; none if all values are equal.

    Args:
        result: The scores of a run.
        measure: A measure of it.
        most: Number of queries, 1 or more.
    """
    values = [(float(value), query_id) for value, query_id in _known(result, measure)]
    best = max((value for value, _ in values), default=0.0)
    return [(query_id, value) for value, query_id in sorted(values) if value < best][:most]


def most_different(first: Result, second: Result, measure: str) -> list[str]:
    """Return the queries on which two runs differ most, the largest difference first, ties by id.

    Args:
        first: The scores of a run.
        second: Those of another one.
        measure: A measure of both.
    """
    second_values = {query_id: value for value, query_id in _known(second, measure)}
    apart = sorted(
        (-abs(value - second_values[query_id]), query_id)
        for value, query_id in _known(first, measure)
        if query_id in second_values
    )
    return [query_id for distance, query_id in apart if distance < 0][:NAMED]


def worst_line(results: Mapping[str, Result], measure: str, folder: str | None) -> list[str]:
    """Return a line with the worst queries of the run with the highest mean, or no line if none stands out.

    Args:
        results: The scores of 1 run or more.
        measure: The measure.
        folder: The folder of the set as a shell takes it, or None.
    """
    best = max(results, key=lambda name: results[name].mean(measure))
    return line_of(f"Worst for {best} by {measure}", worst_of(results[best], measure), folder)


def difference_line(results: Mapping[str, Result], measure: str, folder: str | None) -> list[str]:
    """Return a line with the queries on which the two runs with the highest means differ most, or no line.

    Args:
        results: The scores of 2 runs or more.
        measure: The measure.
    """
    if len(results) < 2:
        return []
    first, second = sorted(results, key=lambda name: -results[name].mean(measure))[:2]
    differing = most_different(results[first], results[second], measure)
    return line_of(f"{first} and {second} differ most by {measure} on", differing, folder, colon="")


def line_of(what: str, query_ids: Sequence[str], folder: str | None, *, colon: str = ":") -> list[str]:
    """Return a line that names queries and how to open the first, or no line for none.

    Args:
        what: What the queries are.
        query_ids: Their ids.
        colon: What stands between the two.
    """
    if not query_ids:
        return []
    named = ", ".join(cut(shown(query_id), _LONGEST) for query_id in query_ids)
    command = command_for(query_ids[0], folder)
    how = f" ({command})" if command else ""
    return [f"{what}{colon} {named}{how}"]


def command_for(query_id: str, folder: str | None) -> str | None:
    """Return the command that opens a query; None without a folder, and for an id that no shell takes or is long.

    Args:
        query_id: The id.
    """
    if folder is None or not query_id.isprintable() or len(query_id) > _LONGEST:
        return None
    return shell_command("open", folder, query=shlex.quote(query_id))


def _known(result: Result, measure: str) -> list[tuple[float, str]]:
    pairs = zip(result.values[measure], result.query_ids, strict=True)
    return [(value, query_id) for value, query_id in pairs if not isnan(value)]
