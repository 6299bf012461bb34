"""Character n-grams: cosines against scikit-learn's own, and their order."""

from __future__ import annotations

import pytest

from goldbench.retrieval.ngrams import Ngrams
from goldbench.retrieval.system_settings import NgramSettings

CORPUS = {"a": "centrifugal pump", "b": "valves and seals", "c": "pumps", "d": "", "e": "pumps"}


def test_scores_are_the_cosines_of_scikit_learn() -> None:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.metrics.pairwise import cosine_similarity

    retriever = Ngrams(NgramSettings(shortest=2, longest=4))
    retriever.index(CORPUS)
    found = retriever.search({"q": "pmup pump"}, k=5)["q"]
    cut = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4), sublinear_tf=True)
    rows = cut.fit_transform(CORPUS.values())
    expected = dict(zip(CORPUS, cosine_similarity(cut.transform(["pmup pump"]), rows)[0], strict=True))
    assert found == pytest.approx({doc_id: score for doc_id, score in expected.items() if score > 0}, abs=1e-6)


def test_equal_scores_are_ordered_by_id_and_cut_there() -> None:
    retriever = Ngrams(NgramSettings())
    retriever.index(CORPUS)
    assert list(retriever.search({"q": "pumps"}, k=1)["q"]) == ["e"]
    assert list(retriever.search({"q": "pumps"}, k=9)["q"]) == ["e", "c", "a"]
    assert retriever.search({"q": "zzz", "r": ""}, k=9) == {"q": {}, "r": {}}


def test_a_corpus_without_any_ngram_finds_nothing() -> None:
    retriever = Ngrams(NgramSettings())
    retriever.index({"a": "", "b": "?"})
    assert retriever.search({"q": "pump"}, k=3) == {"q": {}}
    retriever.index({})
    assert retriever.search({"q": "pump"}, k=3) == {"q": {}}
