"""Random judgments and runs as hypothesis draws them, and the rules of trec_eval written out plainly."""

from __future__ import annotations

from math import log2

import numpy as np
from hypothesis import strategies as st

IDS = ["a", "b", "B", "1", "10", "9", "é", "日本", "\U0001f600", "\uffee", "d-1", "d.1"]
SPECIAL = [0.0, -0.0, 1.0, 2.0, 0.5, -1.0, 20.0000001, 20.0000002, 1e-46, 2e-46, 1e39, 2e39, 0.1, 0.1 + 1e-9]
SCORES = st.one_of(st.sampled_from(SPECIAL), st.floats(-1e6, 1e6))
RETRIEVED = [*IDS, *(f"u{i}" for i in range(8))]
QUERY_IDS = ["q1", "q2", "q10", "é"]


@st.composite
def qrels(draw: st.DrawFn, lowest: int = -2) -> dict[str, dict[str, int]]:
    """Judgments with at least one positive grade in each query, as trec_eval wants."""
    found = {}
    for query_id in draw(st.lists(st.sampled_from(QUERY_IDS), min_size=1, unique=True)):
        judged = draw(st.dictionaries(st.sampled_from(IDS), st.integers(lowest, 3), min_size=1))
        judged[draw(st.sampled_from(IDS))] = draw(st.integers(1, 3))
        found[query_id] = judged
    return found


def runs() -> st.SearchStrategy[dict[str, dict[str, float]]]:
    documents = st.dictionaries(st.sampled_from(RETRIEVED), SCORES, min_size=1)
    return st.dictionaries(st.sampled_from([*QUERY_IDS, "unjudged"]), documents, min_size=1)


def order(documents: dict[str, float], *, single: bool) -> list[str]:
    """The documents of a query in trec_eval's order, by sorting twice."""
    with np.errstate(over="ignore"):
        value = {d: float(np.float32(s)) if single else s for d, s in documents.items()}
    by_id = sorted(documents, reverse=True)
    return sorted(by_id, key=lambda d: -value[d])


def plain(measure: str, judged: dict[str, int], ranking: list[str], k: int) -> float:
    """The value of one query, by the book."""
    top = ranking[:k]
    relevant = {d for d, g in judged.items() if g >= 1}
    hits = [d in relevant for d in top]
    if measure == "hit":
        return float(any(hits))
    if measure == "p":
        return sum(hits) / k
    if measure == "r":
        return sum(hits) / len(relevant) if relevant else 0.0
    if measure == "mrr":
        return next((1 / rank for rank, hit in enumerate(hits, 1) if hit), 0.0)
    if measure == "map":
        return sum(sum(hits[:r]) / r for r, hit in enumerate(hits, 1) if hit) / len(relevant) if relevant else 0.0
    if measure == "f1":
        p, r = plain("p", judged, ranking, k), plain("r", judged, ranking, k)
        return 2 * p * r / (p + r) if p + r else 0.0
    if measure in {"dcg", "ndcg"}:
        reached = sum(max(judged.get(d, 0), 0) / log2(r + 1) for r, d in enumerate(top, 1))
        if measure == "dcg":
            return reached
        ideal = sorted((g for g in judged.values() if g > 0), reverse=True)[:k]
        best = sum(g / log2(r + 1) for r, g in enumerate(ideal, 1))
        return reached / best if best else 0.0
    if measure == "judged":
        return sum(judged.get(d, -1) >= 0 for d in top) / len(top) if top else 0.0
    raise ValueError(measure)
