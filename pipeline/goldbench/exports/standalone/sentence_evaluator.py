"""The gold set in this folder as an evaluator of sentence-transformers.

``evaluator()(model)`` returns its measures. nDCG takes the grades as gains and equal scores are ordered by id, the
greater first, as goldbench does; all other measures are those of ``InformationRetrievalEvaluator``, by the passages
from the lowest relevant grade on.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from math import log2
from pathlib import Path
from typing import Any

from sentence_transformers.evaluation import InformationRetrievalEvaluator

FOLDER = Path(__file__).resolve().parent


class GradedEvaluator(InformationRetrievalEvaluator):  # type: ignore[misc, unused-ignore]  # of a package without types
    """An evaluator with graded judgments.

    ``grades`` holds the grade of each judged passage by query and passage.
    """

    def __init__(
        self,
        queries: Mapping[str, str],
        corpus: Mapping[str, str],
        grades: Mapping[str, Mapping[str, int]],
        *,
        relevant_from: int = 1,
        **options: Any,  # noqa: ANN401  those of the evaluator
    ) -> None:
        """Take the texts and the judgments.

        Args:
            queries: The text of each query.
            corpus: The text of each passage.
            grades: The grades.
            relevant_from: The lowest grade that counts as relevant.
            options: Those of ``InformationRetrievalEvaluator``, such as ``name`` and ``ndcg_at_k``.
        """
        relevant = {
            query_id: {doc_id for doc_id, grade in judged.items() if grade >= relevant_from}
            for query_id, judged in grades.items()
        }
        super().__init__(dict(queries), dict(corpus), relevant, **options)
        self.grades = grades

    def compute_metrics(self, queries_result_list: list[list[dict[str, Any]]]) -> dict[str, dict[int, float]]:
        """Return the measures of the passages found, each with its score, for each query."""
        ranked = [
            [hit["corpus_id"] for hit in sorted(hits, key=lambda hit: (hit["score"], hit["corpus_id"]), reverse=True)]
            for hits in queries_result_list
        ]
        by_rank = [[{"corpus_id": one, "score": -rank} for rank, one in enumerate(found)] for found in ranked]
        measures: dict[str, dict[int, float]] = super().compute_metrics(by_rank)
        for k in self.ndcg_at_k:
            figures = [self._ndcg(*one, k) for one in zip(self.queries_ids, ranked, strict=True)]
            measures["ndcg@k"][k] = sum(figures) / max(len(figures), 1)
        return measures

    def _ndcg(self, query_id: str, found: Sequence[str], k: int) -> float:
        grades = self.grades[query_id]
        ideal = _dcg(sorted(grades.values(), reverse=True)[:k])
        return _dcg([grades.get(doc_id, 0) for doc_id in found[:k]]) / ideal if ideal else 0.0


def _dcg(gains: Sequence[int]) -> float:
    return sum(max(gain, 0) / log2(rank + 1) for rank, gain in enumerate(gains, 1))


def evaluator(folder: str | Path = FOLDER, **options: Any) -> GradedEvaluator:  # noqa: ANN401  those of the evaluator
    """Return the evaluator.

    Args:
        folder: The folder of the set.
        options: As in ``GradedEvaluator``.
    """
    about = json.loads((Path(folder) / "goldbench.json").read_text(encoding="utf-8"))
    files = {part: Path(folder) / name for part, name in about["files"].items()}
    grades: dict[str, dict[str, int]] = {}
    with files["qrels"].open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            grades.setdefault(row["query-id"], {})[row["corpus-id"]] = int(row["score"])
    options = {"name": about["name"], "relevant_from": about["relevant_from"], **options}
    return GradedEvaluator(dict(_texts(files["queries"])), dict(_texts(files["corpus"])), grades, **options)


def _texts(path: Path) -> Iterator[tuple[str, str]]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            row = json.loads(line)
            yield row["_id"], row["text"]
