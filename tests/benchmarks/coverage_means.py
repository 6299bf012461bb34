"""Coverage of means, differences, uplifts, corrected scores and other figures of scores; power of differences."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from goldbench.measures.statistics.detectable import detectable_difference, detectable_hits, hit_share
from goldbench.measures.statistics.intervals import bootstrap_intervals, weighted_intervals
from goldbench.measures.statistics.joint_calibration import joint_estimate
from goldbench.measures.statistics.ppi import estimate
from goldbench.measures.statistics.shares import wilson
from goldbench.measures.statistics.significance import sign_flip_p
from goldbench.measures.statistics.special_figures import separation
from tests.benchmarks.coverage_populations import Floats, deep_learning, like_ndcg
from tests.benchmarks.coverage_rows import Row, row_of

RESAMPLES = 2_000
_AT_ONCE = 250
"""Simulations whose data are held in one array; they share the draws of queries, not the data."""


def pairs_of_systems() -> Iterator[tuple[str, Floats]]:
    """Yield populations of two systems, shape (queries, 2)."""
    yield "like nDCG", like_ndcg(2)
    yield "hit@1 of .1", (like_ndcg(2, zeros=0.85) > 0.3).astype(float)
    track = deep_learning()
    if track is not None:
        yield "DL 2023, runs 1 and 20", track[0][:, [1, 20]]


def drawn(population: Floats, queries: int, times: int, seed: int) -> Iterator[Floats]:
    """Yield draws of the population's queries, shape (queries, simulations, systems), in parts."""
    draw = np.random.default_rng(seed)
    for start in range(0, times, _AT_ONCE):
        picks = draw.integers(0, len(population), (queries, min(_AT_ONCE, times - start)))
        yield population[picks]


def means(times: int) -> Iterator[Row]:
    for name, population in pairs_of_systems():
        for queries in (3, 5, 10, 30, 100, 300):
            ends = []
            for part in drawn(population, queries, times, queries):
                found = bootstrap_intervals(part[:, :, :1], [], resamples=RESAMPLES, seed=queries)
                ends += list(zip(found.mean_low[:, 0], found.mean_high[:, 0], strict=True))
            yield row_of(f"{name}, {queries} queries", ends, population[:, 0].mean())


def compared(times: int) -> Iterator[Row]:
    for name, population in pairs_of_systems():
        mean = population.mean(axis=0)
        truth = mean[0] - mean[1]
        for queries in (5, 10, 30, 100, 300):
            ends = []
            for part in drawn(population, queries, times, queries):
                count = part.shape[1]
                flat = part.reshape(queries, 2 * count, 1)
                pairs = [(2 * number, 2 * number + 1) for number in range(count)]
                found = bootstrap_intervals(flat, pairs, resamples=RESAMPLES, seed=queries)
                ends += list(zip(found.difference_low[:, 0], found.difference_high[:, 0], strict=True))
            yield row_of(f"{name}, {queries} queries", ends, truth)


def weighted(times: int) -> Iterator[Row]:
    scores = like_ndcg(1)[:, 0]
    weights = np.random.default_rng(3).lognormal(0, 0.8, len(scores))
    truth = float(np.average(scores, weights=weights))
    draw = np.random.default_rng(4)
    for queries in (30, 100):
        ends = []
        for _ in range(times):
            rows = draw.integers(0, len(scores), queries)
            found = weighted_intervals(scores[rows, None, None], weights[rows], resamples=500, seed=1)
            ends.append((float(found.mean_low[0, 0]), float(found.mean_high[0, 0])))
        yield row_of(f"like nDCG, log-normal weights, {queries} queries", ends, truth)


def shares(times: int) -> Iterator[Row]:
    draw = np.random.default_rng(5)
    for asked, share in ((20, 0.3), (20, 0.05), (200, 0.3), (200, 0.05)):
        yield row_of(
            f"{asked} questions, share {share}", (wilson(n, asked) for n in draw.binomial(asked, share, times)), share
        )


def areas(times: int) -> Iterator[Row]:
    draw = np.random.default_rng(6)
    for answerable, unanswerable, shift in ((50, 10, 1.0), (200, 50, 2.0)):
        truth = float((draw.normal(shift, 1, 2_000_000) > draw.normal(0, 1, 2_000_000)).mean())
        ends = []
        for _ in range(times):
            found = separation(draw.normal(shift, 1, answerable).tolist(), draw.normal(0, 1, unanswerable).tolist())
            ends.append((found.low, found.high))
        yield row_of(f"{answerable} and {unanswerable} queries, area {truth:.2f}", ends, truth)


def corrected(times: int) -> Iterator[Row]:
    track = deep_learning()
    if track is None:
        return
    people, model = track[0][:, 7], track[1][:, 7]
    draw = np.random.default_rng(7)
    for judged in (10, 20, 50):
        ends = []
        for _ in range(times):
            rows = draw.integers(0, len(people), 300)
            found = estimate(people[rows[:judged]], model[rows[:judged]], model[rows[judged:]])
            ends.append((found.low, found.high))
        yield row_of(f"DL 2023, {judged} of 300 judged", ends, people.mean())


def corrected_together(times: int) -> Iterator[Row]:
    track = deep_learning()
    if track is None:
        return
    draw = np.random.default_rng(8)
    for systems, judged in ((5, 10), (5, 50), (12, 20)):
        held: list[tuple[bool, bool, float, float]] = []
        one, other = np.triu_indices(systems, 1)
        for number in range(times):
            chosen, rows = draw.choice(35, systems, replace=False), draw.integers(0, 82, 300)
            people, model = (side[:, chosen].T for side in track)
            found = joint_estimate(
                people[:, rows[:judged]], model[:, rows[:judged]], model[:, rows[judged:]], seed=number
            )
            truth = people.mean(axis=1)
            low, high = found.means_limits()
            below, above = found.differences_limits()
            apart = truth[one] - truth[other]
            held.append((
                bool(((low <= truth) & (truth <= high)).all()),
                bool(((below <= apart) & (apart <= above)).all()),
                float((high - low).mean()),
                float((above - below).mean()),
            ))  # fmt: skip
        figures = np.mean(np.array(held, dtype=np.float64), axis=0)
        yield Row(f"DL 2023, {systems} systems, {judged} of 300 judged: all means", figures[0], figures[2])
        yield Row(f"DL 2023, {systems} systems, {judged} of 300 judged: all differences", figures[1], figures[3])


def powers(times: int) -> Iterator[Row]:
    """Power of the sign-flip test at the detectable difference, for one pair and for one of M pairs after Holm.

    One given pair differs by the detectable difference, the others are equal: then Holm's first step decides.
    """
    for name, population in pairs_of_systems():
        for queries in (10, 15, 20, 30, 100, 300):
            for pairs in (1, 6, 28):
                apart, shift = _at_the_difference(population, queries, pairs)
                if not np.isfinite(shift):
                    continue
                found = _found(apart, queries, times, level=0.05 / pairs)
                yield Row(
                    f"{name}, {queries} queries, {'1 pair' if pairs == 1 else f'{pairs} pairs'}",
                    found,
                    shift,
                    power=True,
                )


def _at_the_difference(population: Floats, queries: int, pairs: int) -> tuple[Floats, float]:
    """Return differences by query whose mean is the detectable difference, and that; hits stay -1, 0 and 1."""
    apart = population[:, 0] - population[:, 1]
    deviation = float(apart.std())
    if not np.isin(apart, (-1, 0, 1)).all():
        shift = detectable_difference(deviation, queries, pairs=pairs)
        return apart - apart.mean() + shift, shift
    shift = detectable_hits(deviation, queries, pairs=pairs)
    difference = min(shift, 1.0)
    differing = hit_share(deviation, difference)
    counts = [round(len(apart) * share / 2) for share in (differing + difference, differing - difference)]
    return np.repeat([1.0, -1.0, 0.0], [*counts, len(apart) - sum(counts)]), shift


def _found(apart: Floats, queries: int, times: int, *, level: float) -> float:
    count = 0
    for part in drawn(apart[:, None], queries, times, queries):
        sims = part.shape[1]
        scores = np.concatenate([part, np.zeros_like(part)], axis=1)
        pairs = [(number, sims + number) for number in range(sims)]
        count += int((sign_flip_p(scores, pairs, permutations=10_000, seed=queries) <= level).sum())
    return count / times


STUDIES: dict[str, Callable[[int], Iterable[Row]]] = {
    "mean of a score": means,
    "difference": compared,
    "weighted mean": weighted,
    "share of declined questions": shares,
    "AUROC": areas,
    "corrected score, one system": corrected,
    "corrected scores, all together": corrected_together,
    "power at the detectable difference": powers,
}
