"""How often ``drift`` is wrong about people's questions, with and without the passages that answer them.

``python -m tests.benchmarks.drift_validity [--only NAME ...] [--words N ...]``

Each question is decided twice: with the whole collection, where it has an answer, and with its relevant passages taken
away, where it has none as far as people judged. With ``--words 3``, three of its content words, drawn at random, stand
for it, as in a log of short queries (not in scripts without spaces). Only in XQuAD is the answer surely gone with the
paragraph; in collections of abstracts others may answer that nobody judged, the more so the shorter the query.
``pool`` is the share of what rules leave undecided for which a relevant passage is among the nearest 3, 5, 10 and 20,
neighbours included: a model that reads them without a mistake calls the others wrongly not covered.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Sequence

from goldbench.explore.log_coverage import main_language
from goldbench.explore.passage_pool import pooled
from goldbench.explore.word_rules import CoverageState, Passages, WordVerdict, is_foreign
from goldbench.grade.pool import pool_settings
from goldbench.systems import open_systems
from goldbench.text.words import content_terms, stop_words, terms
from tests.benchmarks.collections import Collection, collections_folder, is_collection, load

CHOSEN = ("xquad_en", "xquad_de", "xquad_zh", "xquad_ar", "xquad_hi", "xquad_th", "cystic_fibrosis", "npl", "cranfield")
MOST = 1200
POOLED, DEPTHS = ("bm25", "ngrams", "lsi"), (3, 5, 10, 20)


def main() -> None:
    """Print one line per collection and length of query."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=CHOSEN)
    parser.add_argument("--words", nargs="*", type=int, default=[0, 3])
    options = parser.parse_args()
    for name in options.only:
        if is_collection(collections_folder() / name):
            found = load(collections_folder() / name)
            for count in [0] if found.spaceless else options.words:
                print(f"{name:16} {count or 'all'} words: {_measured(found, count)}", flush=True)
                print(f"{name:16} {count or 'all'} words: {_pooled(found, count)}", flush=True)


def _measured(collection: Collection, count: int) -> str:
    language = main_language(collection.documents)
    draws = random.Random(1)
    texts = [_shortened(text, count, language, draws) for text in collection.queries[:MOST]]
    relevant = [{place for place, gain in gains.items() if gain > 0} for gains in collection.gains[: len(texts)]]
    passages = Passages(collection.documents, texts, language)
    answered = _shares([passages.verdict(text) for text in texts])
    gone = _shares([passages.verdict(text, without=answers) for text, answers in zip(texts, relevant, strict=True)])
    return f"{len(texts)} queries; answered: {answered}; answer taken away: {gone}"


def _pooled(collection: Collection, count: int) -> str:
    """Return for the questions that rules leave undecided how often a relevant passage is among those to read."""
    language = main_language(collection.documents)
    draws = random.Random(1)
    asked = [_shortened(text, count, language, draws) for text in collection.queries[:MOST]]
    passages = Passages(collection.documents, asked, language)
    undecided = {
        str(n): text for n, text in enumerate(asked) if passages.verdict(text).state is CoverageState.UNDECIDED
    }
    corpus = {str(position): text for position, text in enumerate(collection.documents)}
    with open_systems(POOLED, pool_settings(language)) as systems:
        retrievers = [systems.retriever(name) for name in POOLED]
        for retriever in retrievers:
            retriever.index(corpus)
        shares = []
        for depth in DEPTHS:
            pools = pooled(undecided, corpus, retrievers, count=depth)
            hits = sum(any(collection.gains[int(n)].get(int(one), 0) > 0 for one in pools[n]) for n in undecided)
            read = sum(map(len, pools.values())) / len(undecided)
            shares.append(f"{depth}: {hits / len(undecided):.1%} ({read:.1f} passages)")
    foreign = sum(is_foreign(text, [language] if language else []) for text in undecided.values())
    return f"{len(undecided)} undecided; pool {', '.join(shares)}; taken for another language {foreign}"


def _shortened(text: str, count: int, language: str | None, draws: random.Random) -> str:
    stop = stop_words(language)
    kept = [word for word in terms(text) if word not in stop and content_terms(word, language)]
    if not count or len(kept) <= count:
        return text
    places = sorted(draws.sample(range(len(kept)), count))
    return " ".join(kept[place] for place in places)


def _shares(verdicts: Sequence[WordVerdict]) -> str:
    counts = Counter(verdict.state for verdict in verdicts)
    return ", ".join(f"{state.value.replace('_', ' ')} {counts[state] / len(verdicts):.1%}" for state in CoverageState)


if __name__ == "__main__":
    main()
