"""Coverage of kappas, alpha, bias and the worth of a grade: pairs of one query share their fate."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from goldbench.measures.statistics import agreement as kappa
from goldbench.measures.statistics.agreement import pair_figures
from goldbench.measures.statistics.shares import clustered_share, wilson
from goldbench.report.agreement_text import LABELS
from tests.benchmarks.coverage_populations import Floats, graded_pairs, made_tables
from tests.benchmarks.coverage_rows import Ends, Row, row_of

RESAMPLES = 300
LEVEL = 2


def populations() -> Iterator[tuple[str, Floats, tuple[int, ...]]]:
    """Yield populations of tables, shape (queries, 4, 4), and the numbers of queries to draw from each."""
    yield "made judge, 20 pairs a query", made_tables(5_000, 20, np.random.default_rng(0)), (10, 40)
    tables = graded_pairs()
    if tables is not None:
        yield "DL 2023 and GPT-4", tables, (25, 82)


def agreement(times: int) -> Iterator[Row]:
    for name, tables, sizes in populations():
        total = tables.sum(axis=0)
        truths = {
            "exact": kappa.exact(total),
            "kappa": kappa.cohen_kappa(total),
            "kappa_linear": kappa.linear_kappa(total),
            "kappa_quadratic": kappa.quadratic_kappa(total),
            "kappa_binary": kappa.cohen_kappa(kappa.binary(total, LEVEL)),
            "alpha": kappa.ordinal_alpha(kappa.coincidences(total)),
            "bias": kappa.bias(total, np.arange(4.0)),
        }
        for queries in sizes:
            draw, ends = np.random.default_rng(queries), {figure: [] for figure in truths}
            for seed in range(times):
                own = tables[draw.integers(0, len(tables), queries)]
                found = pair_figures(own, own, level=LEVEL, resamples=RESAMPLES, seed=seed)
                for figure in truths:
                    one = getattr(found, figure)
                    ends[figure].append((one.low, one.high))
            for figure, truth in truths.items():
                yield row_of(f"{LABELS[figure]}: {name}, {queries} queries", ends[figure], float(truth))


def worth(times: int) -> Iterator[Row]:
    tables = graded_pairs()
    if tables is None:
        return
    for grade in range(4):
        sizes, hits = tables[:, :, grade].sum(axis=1), tables[:, LEVEL:, grade].sum(axis=1)
        truth = float(hits.sum() / sizes.sum())
        for queries in (10, 25, 82):
            draw = np.random.default_rng(grade)
            rows = [draw.integers(0, len(sizes), queries) for _ in range(times)]
            ends: list[Ends] = [clustered_share(hits[one].tolist(), sizes[one].tolist()) for one in rows]
            before: list[Ends] = [wilson(hits[row].sum(), sizes[row].sum()) for row in rows]
            blind = row_of("", before, truth)
            told = f"grade {grade} of GPT-4, DL 2023, share {truth:.3f}, {queries} queries"
            yield row_of(f"{told} (Wilson over pairs: {blind.share:.3f}, width {blind.width:.3f})", ends, truth)


def clusters(times: int) -> Iterator[Row]:
    for queries in (5, 10, 25, 80, 200):
        for pairs, likeness, share in (
            (1, 0.0, 0.2),
            (5, 0.1, 0.05),
            (30, 0.1, 0.2),
            (30, 0.1, 0.5),
            (100, 0.2, 0.2),
            (100, 0.1, 0.01),
            (30, 0.35, 0.2),
        ):
            draw = np.random.default_rng(queries)
            ends = []
            for _ in range(times):
                size = np.maximum(1, np.rint(pairs * draw.lognormal(-0.32, 0.8, queries))).astype(int)
                size = np.ones(queries, dtype=int) if pairs == 1 else size
                odds = 1 / likeness - 1 if likeness else np.inf
                chance = draw.beta(share * odds, (1 - share) * odds, queries) if likeness else share
                ends.append(clustered_share(draw.binomial(size, chance).tolist(), size.tolist()))
            told = f"{queries} queries of {pairs} pair{'s' * (pairs > 1)}, likeness {likeness}, share {share}"
            yield row_of(told, ends, share)


STUDIES: dict[str, Callable[[int], Iterable[Row]]] = {
    "agreement": agreement,
    "worth of a grade": worth,
    "share of alike pairs": clusters,
}
