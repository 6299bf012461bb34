"""Coverage of the interval of tau: two sets of labels, the same queries or others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from goldbench.measures.statistics.rank_correlation import Rows, order_interval, tau_ap_rows, tau_b_rows
from tests.benchmarks.coverage_populations import Floats, deep_learning, model_measures
from tests.benchmarks.coverage_rows import Ends, Row

RESAMPLES = 300
SETTINGS = (
    (3, 50),
    (5, 25),
    (5, 100),
    (8, 50),
    (15, 25),
    (15, 50),
    (15, 100),
    (15, 300),
    (35, 25),
    (35, 50),
    (35, 100),
)


def orders(
    times: int,
    rows: Rows,
    *,
    paired: bool,
    settings: Iterable[tuple[int, int]],
    told: str = "DL 2023",
    track: tuple[Floats, Floats] | None = None,
) -> Iterator[Row]:
    track = track or deep_learning()
    if track is None:
        return
    for systems, queries in settings:
        draw = np.random.default_rng(systems)
        held, widths = [], []
        for seed in range(times):
            chosen = draw.choice(35, systems, replace=False)
            people, model = (side[:, chosen] for side in track)
            truth = rows(people.mean(axis=0)[None], model.mean(axis=0)[None])[0]
            one = draw.integers(0, len(people), queries)
            other = one if paired else draw.integers(0, len(people), queries)
            ends: Ends = order_interval(people[one], model[other], rows, paired=paired, resamples=RESAMPLES, seed=seed)
            if ends is not None and not np.isnan(truth):
                low, high = ends
                held.append(low - 1e-9 <= truth <= high + 1e-9)
                widths.append(high - low)
        yield Row(f"{told}, {systems} systems, {queries} queries", float(np.mean(held)), float(np.mean(widths)))


def _tau(times: int) -> Iterator[Row]:
    yield from orders(times, tau_b_rows, paired=True, settings=SETTINGS)


def _tau_ap(times: int) -> Iterator[Row]:
    yield from orders(times, tau_ap_rows, paired=True, settings=((5, 50), (15, 25), (15, 50), (15, 100), (35, 50)))


def _apart(times: int) -> Iterator[Row]:
    yield from orders(times, tau_b_rows, paired=False, settings=((8, 50), (15, 100)))


def _measures(times: int) -> Iterator[Row]:
    scores = model_measures()
    for other in ("map", "recip_rank") if scores else ():
        yield from orders(
            times,
            tau_b_rows,
            paired=True,
            settings=((5, 25), (5, 100), (8, 50), (15, 50)),
            told=f"SynDL, nDCG@10 and {'MAP' if other == 'map' else 'MRR'}",
            track=(scores["ndcg_cut_10"], scores[other]),
        )


STUDIES: dict[str, Callable[[int], Iterable[Row]]] = {
    "tau": _tau,
    "tau_AP": _tau_ap,
    "tau, queries of their own": _apart,
    "tau of two measures": _measures,
}
