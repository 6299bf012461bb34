"""The result of scoring one system: a value per query and measure, and counts that say how to read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum, isnan

ROUNDING = 1e-9
"""Values of measures closer than this are equal: rounding alone can set them apart."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Numbers of queries that say how the run met the judgments.

    ``queries`` is the number averaged over; ``missing`` are judged but not in the run, ``extra`` in the run but not
    judged, ``no_relevant`` judged without a relevant document, ``tied`` have a value that depends on the order of
    equal scores, ``holes`` have an unjudged document at or above the largest cutoff.
    """

    queries: int
    missing: int
    extra: int
    no_relevant: int
    tied: int
    holes: int


@dataclass(frozen=True, slots=True)
class Result:
    """The scores of one run.

    ``query_ids`` are in code point order; ``values`` maps the canonical name of a measure to one float per query,
    in the order of ``query_ids``: NaN where the measure is not defined for the query (all@k), which the mean leaves
    out. ``strange`` says that no document that the run retrieved is judged, for any query, a sign that run and
    judgments use different ids. ``empty`` is the number of judged queries that the run answers with no results; they
    score 0 and are not missing. ``top`` is the number of results in the top 10 of all queries, ``unjudged`` how many of
    them have no judgment. ``weights`` are what the queries count in means, above 0, in the order of
    ``query_ids``, ``weighted_by`` names what they are; both are None where every query counts the same.
    """

    query_ids: Sequence[str]
    values: Mapping[str, Sequence[float]]
    counts: Counts
    strange: bool = False
    empty: int = 0
    top: int = 0
    unjudged: int = 0
    weights: Sequence[float] | None = None
    weighted_by: str | None = None

    def mean(self, measure: str) -> float:
        """Return the mean over the queries of a measure, in any spelling of its name: arithmetic, or by weight.

        Raises:
            KeyError: The measure was not computed.
        """
        values = self.values.get(measure)
        if values is None:
            from goldbench.measures.names import parse_measure

            values = self.values.get(parse_measure(measure).name)
        if values is None:
            raise KeyError(f"{measure} was not measured; measured were {', '.join(self.values)}")
        if self.weights is not None:
            pairs = [(value, weight) for value, weight in zip(values, self.weights, strict=True) if not isnan(value)]
            return fsum(value * weight for value, weight in pairs) / fsum(weight for _, weight in pairs)
        defined = [value for value in values if not isnan(value)]
        return fsum(defined) / len(defined)

    def defined(self, measure: str) -> int:
        """Return the number of queries that a measure is defined for."""
        return sum(not isnan(value) for value in self.values[measure])
