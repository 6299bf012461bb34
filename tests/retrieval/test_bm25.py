"""BM25 against a plain reading of its formula, and its order of equal scores."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.retrieval.bm25 import BM25
from pipeline.retrieval.names import Analyzer
from pipeline.retrieval.tokens import tokenizer

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


@settings(max_examples=200, deadline=None)
@given(CORPORA, WORDS, st.sampled_from([0.9, 1.2, 2.0]), st.sampled_from([0.0, 0.4, 0.75, 1.0]), st.integers(1, 14))
def test_scores_are_those_of_the_formula(corpus: dict[str, str], query: str, k1: float, b: float, k: int) -> None:
    retriever = BM25(tokens=tokenizer(Analyzer.UNICODE), k1=k1, b=b)
    retriever.index(corpus)
    found = retriever.search({"q": query}, k=k)["q"]
    expected = reference(query, corpus, k1, b)
    assert len(found) == min(k, len(expected))
    assert found == pytest.approx({doc_id: expected[doc_id] for doc_id in found}, abs=1e-9)
    worst = min(found.values(), default=0.0)
    assert all(score <= worst + 1e-9 for doc_id, score in expected.items() if doc_id not in found)


def test_equal_scores_are_ordered_by_id_descending() -> None:
    retriever = BM25(tokens=tokenizer(Analyzer.UNICODE))
    retriever.index(dict.fromkeys(("a", "Z", "10", "9", "é"), "pump"))
    assert list(retriever.search({"q": "pump"}, k=3)["q"]) == ["é", "a", "Z"]


def test_nothing_in_common_is_nothing_found() -> None:
    retriever = BM25(tokens=tokenizer(Analyzer.UNICODE))
    retriever.index({"a": "pump", "b": "", "c": "!?"})
    assert retriever.search({"q": "valve", "r": "", "s": "Pump"}, k=5)["q"] == {}
    retriever.index({"b": ""})
    assert retriever.search({"q": "pump"}, k=5) == {"q": {}}


def test_scripts_without_spaces_are_cut_as_asked() -> None:
    assert tokenizer(Analyzer.UNICODE)("水泵 Pump") == ["水", "泵", "pump"]
    assert tokenizer(Analyzer.CJK_BIGRAM)("循环水泵 Pump 站") == ["循环", "环水", "水泵", "pump", "站"]
    assert tokenizer(Analyzer.UNICODE, language="en")("the running pumps") == ["run", "pump"]
