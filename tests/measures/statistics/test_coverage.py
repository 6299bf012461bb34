"""Coverage of one set of queries by another: against scikit-learn, scipy, and plain rules."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goldbench.measures.statistics.coverage import Words, salient_terms
from goldbench.measures.statistics.query_forms import form_of
from goldbench.measures.statistics.shares import divergence_by_chance, jensen_shannon

TERMS = st.lists(st.sampled_from("abcdefghij"), max_size=6)


@settings(max_examples=40)
@given(passages=st.lists(TERMS, min_size=1, max_size=8), queries=st.lists(TERMS, min_size=1, max_size=6))
def test_likeness_is_the_cosine_of_scikit_learns_tf_idf(passages: list[list[str]], queries: list[list[str]]) -> None:
    from sklearn.feature_extraction.text import TfidfVectorizer

    model = TfidfVectorizer(analyzer=lambda terms: terms, sublinear_tf=True, vocabulary=list("abcdefghij"))
    model.fit(passages)
    rows = model.transform(queries)
    cosines = (rows @ rows.T).toarray()
    np.fill_diagonal(cosines, -1.0)
    found = Words(passages).likeness(queries)
    expected = np.maximum(cosines.max(axis=1), 0.0)
    assert found.likeness == pytest.approx(expected, abs=1e-9)
    for row, place in enumerate(found.position):
        assert place == -1 if expected[row] <= 0 else cosines[row, place] == pytest.approx(expected[row], abs=1e-9)


@settings(max_examples=40)
@given(passages=st.lists(TERMS, min_size=1, max_size=8), queries=st.lists(TERMS, min_size=1, max_size=6))
def test_coverage_is_the_best_passages_share_of_the_weight_of_the_words(
    passages: list[list[str]], queries: list[list[str]]
) -> None:
    words = Words(passages)
    found = words.coverage(queries)
    for row, query in enumerate(queries):
        weights = {term: words.weight(term) for term in set(query)}
        shares = [
            sum(weight for term, weight in weights.items() if term in passage) / sum(weights.values())
            for passage in passages
            if weights
        ]
        assert found.likeness[row] == pytest.approx(max(shares, default=0.0))
        if found.likeness[row] > 0:
            assert shares[found.position[row]] == pytest.approx(max(shares))


def test_what_chance_gives_is_exceeded_by_few_pairs_of_samples_of_one_distribution() -> None:
    generator = np.random.default_rng(5)
    beyond = 0
    for seed in range(200):
        first, second = (
            dict(zip("abcd", (generator.multinomial(size, [0.4, 0.3, 0.2, 0.1]) + 0).tolist(), strict=True))
            for size in (60, 150)
        )
        beyond += jensen_shannon(first, second) > divergence_by_chance(first, second, seed=seed, draws=100)
    assert 2 <= beyond <= 22  # 5 % of 200, within four standard deviations


def test_clusters_gather_what_is_alike_around_the_heaviest() -> None:
    queries = [["card", "fee"], ["card", "renew"], ["card", "renew", "fee"], ["boiler"], ["card", "renew"]]
    words = Words([*queries, ["x"]])
    assert words.clusters(queries, [1, 1, 1, 2, 5], likeness=0.5) == [[2, 4, 0, 1], [3]]
    assert words.clusters(queries, [1, 1, 1, 2, 5], likeness=0.8) == [[4, 1], [0, 2], [3]]
    assert words.clusters(queries, [1, 1, 1, 9, 5], likeness=0.5)[0] == [3]
    assert words.clusters([], [], likeness=0.5) == []


@settings(max_examples=40)
@given(queries=st.lists(TERMS, min_size=1, max_size=12), likeness=st.floats(0.05, 1.0), data=st.data())
def test_every_query_is_in_one_cluster_and_near_its_centre(
    queries: list[list[str]], likeness: float, data: st.DataObject
) -> None:
    weights = data.draw(st.lists(st.integers(1, 9), min_size=len(queries), max_size=len(queries)))
    words = Words(queries)
    groups = words.clusters(queries, weights, likeness=likeness)
    assert sorted(place for group in groups for place in group) == list(range(len(queries)))
    for centre, *members in groups:
        for member in members:
            assert words.likeness([queries[member]], [queries[centre]]).likeness[0] >= likeness - 1e-6
    masses = [sum(weights[place] for place in group) for group in groups]
    assert masses == sorted(masses, reverse=True)


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("How do I renew a card", "question"),
        ("card renewal?", "question"),
        ("如何续借图书", "question"),
        ("图书续借要多少钱吗", "question"),
        ("library card renewal", "keywords"),
        ("图书续借", "keywords"),
        ("ERR-4012", "code"),
        ("iphone 12-b battery", "code"),
        ("the pump makes a noise", "sentence"),
        ("My card does not work.", "sentence"),
        ("printer paper jam tray two rear cover sensor", "sentence"),
    ],
)
def test_how_a_query_is_put(text: str, form: str) -> None:
    assert form_of(text, "en") == form


def test_a_name_is_made_of_the_words_that_weigh_most_as_they_are_spelled() -> None:
    words = Words([["card"], ["card"], ["card"], ["renew"]])
    asked = [("renewing the card", 3), ("renewals of a card", 1), ("card", 1)]
    assert salient_terms(asked, words, "en") == ["renewing", "card"]
    assert salient_terms([("to be or not to be", 1)], words, "en")
