"""BM25 against a plain reading of its formula, and its order of equal scores."""

from __future__ import annotations

import math
import random
from collections import Counter

import bm25s
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goldbench.retrieval.bm25 import BM25
from goldbench.retrieval.postings import Occurrences, Postings
from goldbench.retrieval.system_settings import Analyzer, BM25Settings
from goldbench.retrieval.tokens import tokenizer

WORDS = st.lists(st.sampled_from(["pump", "valve", "seal", "tank", "hose", "gauge"]), max_size=12).map(" ".join)
CORPORA = st.dictionaries(st.text("abZ9é", min_size=1, max_size=3), WORDS, min_size=1, max_size=12)


def reference(query: str, corpus: dict[str, str], k1: float, b: float) -> dict[str, float]:
    texts = {doc_id: text.split() for doc_id, text in corpus.items()}
    mean = sum(map(len, texts.values())) / len(texts)
    found: dict[str, float] = {}
    for doc_id, text in texts.items():
        counts, total = Counter(text), 0.0
        for term in query.split():
            df = sum(term in other for other in texts.values())
            if counts[term]:
                idf = math.log(1 + (len(texts) - df + 0.5) / (df + 0.5))
                total += idf * counts[term] / (counts[term] + k1 * (1 - b + b * len(text) / mean))
        if total > 0:
            found[doc_id] = total
    return found


@settings(max_examples=100)
@given(CORPORA, WORDS, st.sampled_from([0.9, 1.2, 2.0]), st.sampled_from([0.0, 0.4, 0.75, 1.0]), st.integers(1, 14))
def test_scores_are_those_of_the_formula(corpus: dict[str, str], query: str, k1: float, b: float, k: int) -> None:
    retriever = BM25(BM25Settings(k1=k1, b=b), tokens=tokenizer(Analyzer.UNICODE))
    retriever.index(corpus)
    found = retriever.search({"q": query}, k=k)["q"]
    expected = reference(query, corpus, k1, b)
    assert len(found) == min(k, len(expected))
    assert found == pytest.approx({doc_id: expected[doc_id] for doc_id in found}, abs=1e-9)
    worst = min(found.values(), default=0.0)
    assert all(score <= worst + 1e-9 for doc_id, score in expected.items() if doc_id not in found)


def test_equal_scores_are_ordered_by_id_descending() -> None:
    retriever = BM25(BM25Settings(), tokens=tokenizer(Analyzer.UNICODE))
    retriever.index(dict.fromkeys(("a", "Z", "10", "9", "é"), "pump"))
    assert list(retriever.search({"q": "pump"}, k=3)["q"]) == ["é", "a", "Z"]


def test_nothing_in_common_is_nothing_found() -> None:
    retriever = BM25(BM25Settings(), tokens=tokenizer(Analyzer.UNICODE))
    retriever.index({"a": "pump", "b": "", "c": "!?"})
    assert retriever.search({"q": "valve", "r": "", "s": "Pump"}, k=5)["q"] == {}
    retriever.index({"b": ""})
    assert retriever.search({"q": "pump"}, k=5) == {"q": {}}


def test_scripts_without_spaces_are_cut_as_asked() -> None:
    assert tokenizer(Analyzer.UNICODE)("水泵 Pump") == ["水", "泵", "pump"]
    assert tokenizer(Analyzer.CJK_BIGRAM)("循环水泵 Pump 站") == ["循环", "环水", "水泵", "pump", "站"]
    assert tokenizer(Analyzer.UNICODE, language="en")("the running pumps") == ["run", "pump"]


def test_scores_are_those_of_bm25s() -> None:
    draw = random.Random(5)
    corpus = [draw.choices("abcdefghij", range(1, 11), k=draw.randint(1, 20)) for _ in range(200)]
    library = bm25s.BM25(method="lucene", k1=1.5, b=0.6, dtype="float64")
    library.index(corpus, show_progress=False)
    retriever = BM25(BM25Settings(k1=1.5, b=0.6), tokens=tokenizer(Analyzer.UNICODE))
    retriever.index({f"{place:03}": " ".join(words) for place, words in enumerate(corpus)})
    for query in ("a", "j i", "b a b c", "e e e f g j h"):
        scores = {f"{position:03}": float(score) for position, score in enumerate(library.get_scores(query.split()))}
        expected = {doc_id: score for doc_id, score in scores.items() if score > 0}
        assert retriever.search({"q": query}, k=200)["q"] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("k", [1, 10, 300])
def test_what_cannot_be_among_the_best_is_left_out_and_nothing_else(k: int) -> None:
    """The best of 80,000 passages are those by the sums of all postings, equal scores in the order of places."""
    draw = np.random.default_rng(11)
    words = draw.zipf(1.3, (80_000, 12)) % 5000
    occurrences = Occurrences.of([list(map(str, row)) for row in words.tolist()])
    weights = draw.choice([0.5, 0.75, 1.0], len(occurrences.places)) / np.log2(
        2 + np.repeat(np.diff(occurrences.starts), np.diff(occurrences.starts))
    )
    postings = Postings(occurrences.starts, occurrences.places, weights, len(words))
    buffer = postings.buffer()
    asked = [["1"], ["1", "2"], ["1", "700", "2"], ["900", "1", "1", "3", "77"], ["4999", "1"], ["17", "18", "1", "2"]]
    left_out = 0
    for query in asked:
        terms = [occurrences.vocabulary[word] for word in query]
        sums, held = np.zeros(len(words)), 0
        for term in terms:
            part = slice(occurrences.starts[term], occurrences.starts[term + 1])
            sums[occurrences.places[part]] += weights[part]
            held += part.stop - part.start
        left_out += held > len(terms) * max(16_000, 16 * k)
        expected = sorted(np.flatnonzero(sums), key=lambda place: (-sums[place], place))[:k]
        places, scores = postings.best(terms, k, buffer)
        assert places.tolist() == expected
        assert np.array_equal(scores, sums[expected])
        assert not buffer.any()
    assert left_out >= 3


def test_terms_that_most_passages_hold_are_scored_as_the_formula_says() -> None:
    draw = random.Random(7)
    words = [f"w{number}" for number in range(400)]
    weights = [1 / (1 + number) for number in range(400)]
    corpus = {f"d{number}": " ".join(draw.choices(words, weights, k=9)) for number in range(2000)}
    queries = {f"q{number}": " ".join(draw.choices(words, weights, k=1 + number % 5)) for number in range(10)}
    retriever = BM25(BM25Settings(), tokens=tokenizer(Analyzer.UNICODE))
    retriever.index(corpus)
    scores = {query_id: scored(text, corpus, 1.2, 0.75) for query_id, text in queries.items()}
    for k in (1, 10, 300, 3000):
        match = retriever.search(queries, k=k)
        for query_id, expected in scores.items():
            best = sorted(((round(score, 9), doc_id) for doc_id, score in expected.items()), reverse=True)[:k]
            assert [round(score, 9) for score in match[query_id].values()] == [score for score, _ in best]
            assert list(match[query_id].items()) == sorted(
                match[query_id].items(), key=lambda pair: (pair[1], pair[0]), reverse=True
            )


def test_scores_are_those_of_elasticsearch_worked_by_hand() -> None:
    """Three passages of 2, 4 and 3 words (3 on average); ``pump`` stands in two of them, once and twice."""
    retriever = BM25(BM25Settings(), tokens=tokenizer(Analyzer.STANDARD))
    retriever.index({"a": "pump hums", "b": "pump beside a pump", "c": "the tank leaks"})
    rarity = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5))
    assert retriever.search({"q": "Pump?"}, k=9)["q"] == pytest.approx(
        {"b": rarity * 2 / (2 + 1.2 * (0.25 + 0.75 * 4 / 3)), "a": rarity * 1 / (1 + 1.2 * (0.25 + 0.75 * 2 / 3))}
    )


def scored(query: str, corpus: dict[str, str], k1: float, b: float) -> dict[str, float]:
    """Return what ``reference`` does, with the counts of the corpus taken once."""
    counts = {doc_id: Counter(text.split()) for doc_id, text in corpus.items()}
    mean = sum(count.total() for count in counts.values()) / len(counts)
    found: dict[str, float] = {}
    for term in query.split():
        holding = {doc_id: count for doc_id, count in counts.items() if count[term]}
        rarity = math.log(1 + (len(counts) - len(holding) + 0.5) / (len(holding) + 0.5))
        for doc_id, count in holding.items():
            damping = k1 * (1 - b + b * count.total() / mean)
            found[doc_id] = found.get(doc_id, 0.0) + rarity * count[term] / (count[term] + damping)
    return found
