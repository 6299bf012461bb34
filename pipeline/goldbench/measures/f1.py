"""The measure F1 at k."""

from __future__ import annotations

from goldbench.measures.family import Family, Options, Ranked


def f1(ranked: Ranked, k: int, rel: int, options: Options) -> float:
    """Return the harmonic mean of precision and recall at k.

    Formula: 2 P R / (P + R) with P = hits / k and R = hits / |relevant|; 0 where both are 0. The mean over queries is
    the macro mean. ``f1@k(k=returned)`` takes P = hits / min(k, retrieved); without a cutoff that is ``set_F`` of
    trec_eval.
    Range: 0 to 1.
    Source: van Rijsbergen, Information Retrieval, 1979, chapter 7; trec_eval has no F1@k.

    Args:
        ranked: Judged documents of the query.
        k: Cutoff, from 1.
        rel: Smallest grade that counts as relevant.
        options: Options of the measure.
    """
    hits = ranked.hits(k, rel)
    if not hits:
        return 0.0
    precision = hits / (min(k, ranked.retrieved) if options.get("k") == "returned" else k)
    recall = hits / ranked.relevant(rel)[1]
    return 2 * precision * recall / (precision + recall)


F1 = Family("f1", ("f", "fscore", "f1score", "fmeasure"), None, "required", f1, {"k": ("asked", "returned")})
