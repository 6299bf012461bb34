"""Character n-grams: cosines against scikit-learn's own, and their order."""

from __future__ import annotations

import random

import pytest

from goldbench.retrieval import gram_bands
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


@pytest.mark.parametrize("rows", [3, 4096])
def test_many_queries_together_find_what_each_finds_alone(monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    monkeypatch.setattr(gram_bands, "_ROWS", rows)
    chance = random.Random(rows)
    words = ["pump", "pumps", "valve", "seal", "seals", "bolt", "a", "centrifugal"]
    texts = [" ".join(chance.choices(words, k=chance.randint(0, 6))) for _ in range(100)]
    corpus = {f"p{number}": text for number, text in enumerate(texts)}
    queries = {f"q{number}": text for number, text in enumerate(chance.choices([*texts, "zzz", "pmup"], k=50))}
    retriever = Ngrams(NgramSettings(shortest=2, longest=3))
    retriever.index(corpus)
    together = retriever.search(queries, k=7)
    alone = {query_id: retriever.search({query_id: text}, k=7)[query_id] for query_id, text in queries.items()}
    assert [list(found.items()) for found in together.values()] == [list(found.items()) for found in alone.values()]
    assert any(len(set(found.values())) < len(found) for found in together.values())  # with equal scores


def test_many_queries_have_the_cosines_of_scikit_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.metrics.pairwise import cosine_similarity

    monkeypatch.setattr(gram_bands, "_ROWS", 2)
    retriever = Ngrams(NgramSettings(shortest=2, longest=4))
    retriever.index(CORPUS)
    queries = {str(number): f"pump seal{'s' * (number % 4)} {number}" for number in range(40)}
    cut = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4), sublinear_tf=True)
    rows = cut.fit_transform(CORPUS.values())
    cosines = cosine_similarity(cut.transform(queries.values()), rows)
    for found, expected in zip(retriever.search(queries, k=5).values(), cosines, strict=True):
        assert found == pytest.approx({key: one for key, one in zip(CORPUS, expected, strict=True) if one}, abs=1e-6)
