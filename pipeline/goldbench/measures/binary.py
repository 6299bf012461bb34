"""The measures that ask which ranks hold a relevant document: hit, precision, recall, F1, MRR, MAP and their like."""

from __future__ import annotations

from bisect import bisect_right

from goldbench.measures.family import Family, Options, RankedQuery


def hit(ranked: RankedQuery, k: int, rel: int, _: Options) -> float:
    """Return whether one of the first k documents is relevant.

    Formula: 1 if a document of grade >= rel stands at a rank <= k, else 0.
    Range: 0 or 1.
    Source: trec_eval ``success``; the mean over queries is the hit rate of the RAG literature.

    Args:
        ranked: Judged documents of the query.
        k: Cutoff, from 1.
        rel: Smallest grade that counts as relevant.
    """
    ranks = ranked.relevant(rel)[0]
    return 1.0 if ranks and ranks[0] <= k else 0.0


HIT = Family("hit", ("success", "hitrate", "hits"), "Success", "optional", hit)


def precision(ranked: RankedQuery, k: int, rel: int, options: Options) -> float:
    """Return the share of relevant documents among the first k.

    Formula: |relevant in the first k| / k, also when fewer than k were retrieved. ``p@k(k=returned)`` divides by
    min(k, retrieved), as LlamaIndex and ragas do; without a cutoff by all retrieved, as ``set_P`` of trec_eval and
    ``SetP`` of ir_measures do. Nothing retrieved is 0.
    Range: 0 to 1.
    Source: trec_eval ``P``.

    Args:
        ranked: Judged documents of the query.
        k: Cutoff, from 1.
        rel: Smallest grade that counts as relevant.
        options: Options of the measure.
    """
    size = min(k, ranked.retrieved) if options.get("k") == "returned" else k
    return ranked.hits(k, rel) / size if size else 0.0


PRECISION = Family("p", ("precision", "prec"), "P", "required", precision, {"k": ("asked", "returned")})


def recall(ranked: RankedQuery, k: int, rel: int, _: Options) -> float:
    """Return the share of the relevant documents that stand among the first k.

    Formula: |relevant in the first k| / |relevant|, 0 for a query without a relevant document.
    Range: 0 to 1.
    Source: trec_eval ``recall``; without a cutoff ``set_recall``.

    Args:
        ranked: Judged documents of the query.
        k: Cutoff, from 1.
        rel: Smallest grade that counts as relevant.
    """
    total = ranked.relevant(rel)[1]
    return ranked.hits(k, rel) / total if total else 0.0


RECALL = Family("r", ("recall", "rec"), "R", "optional", recall)


def f1(ranked: RankedQuery, k: int, rel: int, options: Options) -> float:
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


def reciprocal_rank(ranked: RankedQuery, k: int, rel: int, _: Options) -> float:
    """Return one over the rank of the first relevant document.

    Formula: 1 / rank of the first document of grade >= rel, 0 if there is none among the first k.
    Range: 0 to 1.
    Source: trec_eval ``recip_rank``; with a cutoff ``-M k -m recip_rank``.

    Args:
        ranked: Judged documents of the query.
        k: Cutoff, from 1.
        rel: Smallest grade that counts as relevant.
    """
    ranks = ranked.relevant(rel)[0]
    return 1.0 / ranks[0] if ranks and ranks[0] <= k else 0.0


RECIPROCAL_RANK = Family(
    "mrr", ("rr", "reciprank", "reciprocalrank", "meanreciprocalrank"), "RR", "optional", reciprocal_rank
)


def average_precision(ranked: RankedQuery, k: int, rel: int, options: Options) -> float:
    """Return the mean of the precisions at the ranks of the relevant documents.

    Formula: sum over relevant documents at ranks r <= k of |relevant in the first r| / r, divided by |relevant|.
    Variants divide by something else: ``norm=hits`` by the relevant documents among the first k (ragas' context
    precision, many blogs), ``norm=min`` by min(k, |relevant|) (Kaggle's ``apk``).
    Range: 0 to 1.
    Source: trec_eval ``map`` and ``map_cut``.

    Args:
        ranked: Judged documents of the query.
        k: Cutoff, from 1.
        rel: Smallest grade that counts as relevant.
        options: Options of the measure.
    """
    ranks, total = ranked.relevant(rel)
    precisions = 0.0
    relevant_so_far = 0
    for rank in ranks:
        if rank > k:
            break
        relevant_so_far += 1
        precisions += relevant_so_far / rank
    if not relevant_so_far:
        return 0.0
    norm = options.get("norm")
    return precisions / (relevant_so_far if norm == "hits" else min(k, total) if norm == "min" else total)


AVERAGE_PRECISION = Family(
    "map", ("ap", "mapcut", "averageprecision", "meanaverageprecision"), "AP", "optional", average_precision,
    {"norm": ("relevant", "hits", "min")},
)  # fmt: skip


def r_precision(ranked: RankedQuery, _: int, rel: int, __: Options) -> float:
    """Return the precision at R, the number of relevant documents of the query.

    Formula: |relevant in the first R| / R, 0 where R is 0.
    Range: 0 to 1.
    Source: trec_eval ``Rprec``.
    """
    total = ranked.relevant(rel)[1]
    return ranked.hits(total, rel) / total if total else 0.0


R_PRECISION = Family("rprec", ("rprecision",), "Rprec", "none", r_precision)


def bpref(ranked: RankedQuery, _: int, rel: int, __: Options) -> float:
    """Return how seldom a document judged not relevant ranks above a relevant one; unjudged documents do not count.

    Formula: 1/R times the sum over retrieved relevant documents of 1 - min(n, R) / min(N, R), where n is the number of
    documents judged not relevant before it, N of all judged not relevant, R of all relevant; 0 where R is 0.
    Range: 0 to 1.
    Source: Buckley and Voorhees 2004 as corrected in trec_eval ``bpref``.
    """
    total = ranked.relevant(rel)[1]
    bound = min(len(ranked.judged) - total, total)
    value = 0.0
    before = 0
    for grade in ranked.grades:
        if grade < rel:
            before += 1
        elif before:
            value += 1.0 - min(before, total) / bound
        else:
            value += 1.0
    return value / total if total else 0.0


BPREF = Family("bpref", ("binarypreference",), "Bpref", "none", bpref)


def judged(ranked: RankedQuery, k: int, _: int, __: Options) -> float:
    """Return the share of the first k documents that were judged, relevant or not.

    Formula: |judged among the first k| / min(k, retrieved), 0 where nothing was retrieved.
    Range: 0 to 1.
    Source: ir_measures ``Judged``.
    """
    size = min(k, ranked.retrieved)
    return bisect_right(ranked.ranks, k) / size if size else 0.0


JUDGED = Family("judged", ("judgedrate", "judgmentrate"), "Judged", "optional", judged, has_rel=False)


def all_needed(ranked: RankedQuery, k: int, rel: int, _: Options) -> float:
    """Return whether all relevant documents are among the first k, for judgments that hold the needed ones alone.

    Formula: 1 if every needed document, or a relevant near-duplicate of it, stands at a rank <= k, else 0.
    Range: 0 or 1; defined for queries that need two passages or more, and averaged over these alone.
    Source: the share of questions whose complete evidence is found, as multi-hop retrieval is measured (HotpotQA,
        MuSiQue).

    Args:
        ranked: The needed documents of the query.
        k: Cutoff, from 1.
        rel: Smallest grade of a needed document.
    """
    return 1.0 if ranked.hits(k, rel) == ranked.relevant(rel)[1] else 0.0


ALL_NEEDED = Family("all", ("allneeded", "allsupporting"), None, "required", all_needed, has_rel=False)
