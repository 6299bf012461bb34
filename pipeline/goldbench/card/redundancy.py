"""Figures on what the set holds twice: queries that are alike, near-duplicate passages, and the labels they share."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

from goldbench.card.described_set import DescribedSet
from goldbench.card.figures import figure
from goldbench.records.set_card import Figure
from goldbench.retrieval.ngrams import grams
from goldbench.retrieval.tfidf import TfIdf
from goldbench.stages.check.set_checks import MOST_ALIKE
from goldbench.stages.select.near_duplicates import NEAR_DUPLICATE, Sketches, cluster, write_sketch
from goldbench.text.display import amount, queries
from goldbench.text.similarity import WORDS
from goldbench.text.words import terms

ALIKE = "near-duplicates"
_ROWS = 256


def alike_figures(material: DescribedSet) -> Iterator[Figure]:
    """Yield the figures on queries and passages that are alike."""
    yield _alike_queries(material)
    yield from _alike_passages(material)
    if material.derived:
        yield _derived(material)


def _derived(material: DescribedSet) -> Figure:
    """Return how many labels nobody read, given because a sentence holds the same answer about the same subject."""
    labels = [
        (query_id, doc_id)
        for query_id, found in material.derived.items()
        for doc_id in found
        if doc_id in material.qrels.get(query_id, {})
    ]
    asked = {query_id for query_id, _ in labels}
    return figure(
        ALIKE,
        "derived labels",
        len(labels),
        f"{amount(len(labels), 'label')} of {queries(len(asked))} that nobody read: a sentence of the passage gives "
        "the same answer about the same subject.",
        unit="labels",
        values={"queries": len(asked)},
        items=sorted(asked)[:20],
    )


def _alike_queries(material: DescribedSet) -> Figure:
    ids = list(material.queries)
    made_from = [material.originals.get(query_id, query_id) for query_id in ids]
    pairs, members = _alike_pairs([" ".join(terms(text)) for text in material.queries.values()], made_from)
    rate = len(members) / len(ids)
    return figure(
        ALIKE,
        "queries alike",
        rate,
        f"{queries(len(members))} with another query that is at least {MOST_ALIKE:.0%} alike in its characters.",
        unit="share of queries",
        values={"pairs": pairs},
        items=[ids[place] for place in sorted(members)[:20]],
        limit=("< 2 % (judgement)", rate < 0.02),
    )


def _alike_pairs(texts: list[str], made_from: list[str]) -> tuple[int, set[int]]:
    """Return how many pairs of texts have a cosine of ``MOST_ALIKE`` or more, and which texts are in one.

    Args:
        texts: The texts.
        made_from: The query that each was made from, else its own; texts made from one query do not count.
    """
    if len(texts) < 2 or not any(texts):
        return 0, set()
    rows = TfIdf.of(texts, grams(3, 5), damped=False).rows()
    pairs, members = 0, set[int]()
    for start in range(0, len(texts), _ROWS):
        near = (rows[start : start + _ROWS] @ rows.T).tocoo()
        above = near.data >= MOST_ALIKE
        for one, other in zip((near.row[above] + start).tolist(), near.col[above].tolist(), strict=True):
            if one < other and made_from[one] != made_from[other]:
                pairs += 1
                members |= {one, other}
    return pairs, members


def _alike_passages(material: DescribedSet) -> Iterator[Figure]:
    ids = sorted(material.corpus)
    sketches = Sketches.empty(len(ids))
    for position, doc_id in enumerate(ids):
        write_sketch(material.corpus[doc_id], sketches, position)
    labels = cluster(sketches, text_at=lambda position: material.corpus[ids[position]]).tolist()
    sizes = Counter(labels)
    clusters = {label for label, size in sizes.items() if size > 1}
    inside = sum(sizes[label] for label in clusters)
    yield figure(
        ALIKE,
        "passages alike",
        inside / len(ids),
        f"{amount(inside, 'passage')} with a near-duplicate (Jaccard similarity of {WORDS}-word shingles of at least "
        f"{NEAR_DUPLICATE:.2f}), in {amount(len(clusters), 'cluster')}.",
        unit="share of passages",
        values={"passages": inside, "clusters": len(clusters), "largest": max(sizes.values())},
    )
    shared, missing = _propagated(material, dict(zip(ids, labels, strict=True)), clusters)
    yield figure(
        ALIKE,
        "propagated labels",
        shared,
        f"{amount(shared, 'label')} shared with a near-duplicate; {amount(missing, 'near-duplicate')} of relevant "
        "passages without a label.",
        unit="labels",
        values={"near-duplicates without a label": missing},
        limit=("no near-duplicate without the label", not missing),
    )


def _propagated(material: DescribedSet, label_of: Mapping[str, int], alike: set[int]) -> tuple[int, int]:
    """Return how many labels near-duplicates share, and how many near-duplicates of a relevant passage have none."""
    members: dict[int, list[str]] = defaultdict(list)
    for doc_id, label in label_of.items():
        if label in alike:
            members[label].append(doc_id)
    shared = missing = 0
    for judged in material.qrels.values():
        seen: Counter[int] = Counter(label_of[doc_id] for doc_id in judged if label_of.get(doc_id) in alike)
        shared += sum(count - 1 for count in seen.values())
        relevant = {
            label_of[doc_id]
            for doc_id, grade in judged.items()
            if grade >= material.level and label_of.get(doc_id) in alike
        }
        missing += sum(doc_id not in judged for label in relevant for doc_id in members[label])
    return shared, missing
