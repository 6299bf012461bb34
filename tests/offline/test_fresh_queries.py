"""Queries simulated for one measurement: seeded, apart from one another, and safe on any corpus."""

from __future__ import annotations

import pytest

from goldbench.offline.fresh_queries import fresh_queries
from tests.measures.statistics.spoken import sentences


@pytest.fixture(scope="module")
def corpus() -> dict[str, str]:
    told = sentences(120, seed=1)
    return {f"d{number}": " ".join(told[4 * number : 4 * number + 4]) for number in range(30)}


def test_the_seed_decides_and_no_passage_is_asked_about_twice(corpus: dict[str, str]) -> None:
    first, again, other = (fresh_queries(corpus, "terms", count=20, draws=3, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first.queries != other.queries
    assert len(first.queries) == len(set(first.sources.values())) == 20
    assert sorted(query_id for draw in first.draws for query_id in draw) == sorted(first.queries)
    assert {len(draw) for draw in first.draws} == {6, 7}


def test_held_out_words_are_taken_out_of_the_passages_that_are_searched(corpus: dict[str, str]) -> None:
    made = fresh_queries(corpus, "held-out", count=20, draws=1, seed=1)
    assert made.masked
    searched = made.searched(corpus)
    for doc_id, text in corpus.items():
        assert (len(searched[doc_id]) < len(text)) == (doc_id in made.masked)
    assert made.masked.keys() <= set(made.sources.values())


@pytest.mark.parametrize("texts", [{}, {"a": ""}, {"a": "…", "b": "12 34 56"}, {"a": "one two"}])
def test_a_corpus_without_words_gives_no_query(texts: dict[str, str]) -> None:
    made = fresh_queries(texts, "held-out", count=10, draws=3, seed=0)
    assert made.queries == {}
    assert made.draws == ((), (), ())
