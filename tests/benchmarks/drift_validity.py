"""How often the rules of ``drift`` are wrong, on people's questions with and without the passages that answer them.

``python -m tests.benchmarks.drift_validity [--collections DIR] [--only NAME ...] [--words N ...]``

Each question is decided twice: with the whole collection, where it has an answer, and with its relevant passages taken
away, where it has none as far as people judged. With ``--words 3``, three of its content words, drawn at random, stand
for it, as in a log of short queries (not in scripts without spaces). Only in XQuAD is the answer surely gone with the
paragraph; in collections of abstracts others may answer that nobody judged, the more so the shorter the query.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from pathlib import Path

from goldbench.pipeline.explore.log_coverage import main_language
from goldbench.pipeline.explore.word_rules import Passages, State
from goldbench.pipeline.text.words import content_terms, stop_words, terms
from tests.benchmarks.collections import Collection, collections_folder, is_collection, load

CHOSEN = ("xquad_en", "xquad_de", "xquad_zh", "xquad_ar", "xquad_hi", "xquad_th", "cystic_fibrosis", "npl", "cranfield")
MOST = 1200


def main() -> None:
    """Print one line per collection and length of query."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--collections", type=Path, default=collections_folder())
    parser.add_argument("--only", nargs="*", default=CHOSEN)
    parser.add_argument("--words", nargs="*", type=int, default=[0, 3])
    options = parser.parse_args()
    for name in options.only:
        if is_collection(options.collections / name):
            found = load(options.collections / name)
            for count in [0] if found.spaceless else options.words:
                print(f"{name:16} {count or 'all'} words: {_measured(found, count)}", flush=True)


def _measured(found: Collection, count: int) -> str:
    language = main_language(found.documents)
    draws = random.Random(1)
    asked = [_shortened(text, count, language, draws) for text in found.queries[:MOST]]
    passages = Passages(found.documents, asked, language)
    answered: Counter[State] = Counter()
    removed: Counter[State] = Counter()
    for text, gains in zip(asked, found.gains, strict=False):
        relevant = {place for place, gain in gains.items() if gain > 0}
        answered[passages.verdict(text).state] += 1
        removed[passages.verdict(text, without=relevant).state] += 1
    return f"{len(asked)} queries; answered: {_shares(answered)}; answer taken away: {_shares(removed)}"


def _shortened(text: str, count: int, language: str | None, draws: random.Random) -> str:
    stop = stop_words(language)
    kept = [word for word in terms(text) if word not in stop and content_terms(word, language)]
    if not count or len(kept) <= count:
        return text
    places = sorted(draws.sample(range(len(kept)), count))
    return " ".join(kept[place] for place in places)


def _shares(counts: Counter[State]) -> str:
    total = sum(counts.values())
    return ", ".join(f"{state.value.replace('_', ' ')} {counts[state] / total:.1%}" for state in State)


if __name__ == "__main__":
    main()
