"""How alike the pairs of one query are: what `USUAL_LIKENESS` of clustered shares rests on.

``python -m tests.benchmarks.coverage_likeness`` prints by grade the correlation, within a query, of whether people find
a pair with this grade relevant: quartiles over 34 judges, GPT-4 on TREC Deep Learning 2023 and LLMJudge's 33.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

import numpy as np

from goldbench.measures.statistics.shares import USUAL_LIKENESS
from goldbench.records.relevance import RELEVANT, Relevance
from tests.benchmarks.collections import collections_folder
from tests.benchmarks.coverage_populations import Floats
from tests.benchmarks.queue_validity import Pair, judges


def likeness(hits: Floats, sizes: Floats) -> float:
    """Return the correlation of two pairs of one query; NaN if all pairs are alike or no query has two.

    Args:
        hits: Relevant pairs of each query.
        sizes: Pairs of each query, above 0.

    Source: the analysis of variance of Fisher, Statistical methods for research workers (1925), chapter 7.
    """
    queries, total = len(sizes), sizes.sum()
    share = hits.sum() / max(1, total)
    if queries < 2 or total <= queries or share in {0, 1}:
        return float("nan")
    own = hits / sizes
    between = (sizes * (own - share) ** 2).sum() / (queries - 1)
    within = (sizes * own * (1 - own)).sum() / (total - queries)
    size = (total - (sizes**2).sum() / total) / (queries - 1)
    return float((between - within) / (between + (size - 1) * within))


def of_grade(people: Mapping[Pair, Relevance], judge: Mapping[Pair, Relevance], grade: Relevance) -> float:
    """Return the likeness of the pairs to which a judge gave a grade.

    Args:
        people: People's grades.
        judge: The judge's.
        grade: The grade.
    """
    found: dict[str, list[bool]] = defaultdict(list)
    for pair in people.keys() & judge.keys():
        if judge[pair] == grade:
            found[pair[0]].append(people[pair] >= RELEVANT)
    hits, sizes = (np.array([of(one) for one in found.values()], dtype=np.float64) for of in (sum, len))
    return likeness(hits, sizes)


def main() -> None:
    """Print a line for each grade and for all."""
    named = judges(collections_folder() / "llm_judgments")
    single = [(name, people, panel[0]) for name, people, panel in named if len(panel) == 1 and name != "stern judge"]
    table = np.array([[of_grade(people, judge, grade) for grade in Relevance] for _, people, judge in single])
    print(f"used: {USUAL_LIKENESS}\n\n| grade | lower quartile | median | upper quartile | {single[0][0]} |")
    print("| --- | --- | --- | --- | --- |")
    for name, values in [*((str(int(grade)), table[:, [grade]]) for grade in Relevance), ("all", table)]:
        low, middle, high = np.nanquantile(values, [0.25, 0.5, 0.75])
        print(f"| {name} | {low:.2f} | {middle:.2f} | {high:.2f} | {np.nanmedian(values[0]):.2f} |")


if __name__ == "__main__":
    main()
