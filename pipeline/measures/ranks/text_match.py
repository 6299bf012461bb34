"""Matching by text, for retrievers that return passages without ids: which judged passage is a retrieved text?

A retrieved text matches a judged one if either contains the other, after Unicode's compatibility forms, case and white
space are normalised. Each retrieved text matches one judged passage at most, and each judged passage is found once, by
the first text that matches. So no measure exceeds 1, and a passage that is retrieved twice counts once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from goldbench.pipeline.measures.ranks.judged_ranks import Qrels
from goldbench.pipeline.text.similarity import normal


def match_texts(
    qrels: Qrels, texts: Mapping[str, str], retrieved: Mapping[str, Sequence[str]]
) -> dict[str, dict[str, float]]:
    """Return the run of the retrieved texts; a text that matches no judged passage gets an id of its own.

    Args:
        qrels: The judgments.
        texts: The text of each judged document.
        retrieved: The texts that each query retrieved, best first.
    """
    return {
        query_id: _matched(_known(qrels.get(query_id, {}), texts), passages) for query_id, passages in retrieved.items()
    }


def _known(judged: Mapping[str, int], texts: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the judged documents with their texts, the highest grade first."""
    ranked = sorted((-grade, doc_id) for doc_id, grade in judged.items() if grade >= 0 and doc_id in texts)
    return [(doc_id, text) for _, doc_id in ranked if (text := normal(texts[doc_id]))]


def _matched(known: list[tuple[str, str]], passages: Sequence[str]) -> dict[str, float]:
    run: dict[str, float] = {}
    open_ = dict(known)
    for place, passage in enumerate(passages):
        text = normal(passage)
        found = next((doc_id for doc_id, other in open_.items() if text and (text in other or other in text)), None)
        if found is not None:
            del open_[found]
        run[f"\0{place}" if found is None else found] = -float(place)
    return run
