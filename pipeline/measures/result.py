"""What scoring one system gives: a value per query and measure, and the counts that say how to read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum


@dataclass(frozen=True, slots=True)
class Counts:
    """How the run met the judgments, in queries.

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
    in the order of ``query_ids``; never NaN. ``strange`` says that no document the run retrieved is judged, for any
    query: a sign that the ids of run and judgments differ.
    """

    query_ids: Sequence[str]
    values: Mapping[str, Sequence[float]]
    counts: Counts
    strange: bool = False

    def mean(self, measure: str) -> float:
        """The arithmetic mean of ``measure``, in any spelling, over the queries.

        Raises:
            KeyError: it was not measured.
        """
        values = self.values.get(measure)
        if values is None:
            from pipeline.measures.names import parse_measure

            values = self.values.get(parse_measure(measure).name)
        if values is None:
            raise KeyError(f"{measure} was not measured; there are {', '.join(self.values)}")
        return fsum(values) / len(self.query_ids)
