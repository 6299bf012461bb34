"""Latent semantic indexing against scikit-learn's own pipeline, and where a corpus leaves little to index."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics.pairwise import cosine_similarity

from goldbench.measures import evaluate
from goldbench.retrieval.lsi import LSI, Space
from goldbench.retrieval.stopwatch import Stopwatch
from goldbench.retrieval.system_settings import Analyzer, LSISettings
from goldbench.retrieval.tokens import tokenizer
from goldbench.systems import open_systems

WORDS = tokenizer(Analyzer.UNICODE)
PASSAGES = {
    "a": "The pump lifts water into the upper tank.",
    "b": "A valve closes when the pressure in the pipe falls.",
    "c": "The tank is drained through the lower valve.",
    "d": "Bearings are greased every spring by the operators.",
    "e": "Operators log the pressure of the pump every hour.",
}


def lsi(**settings: int) -> LSI:
    described = LSISettings(**settings)
    return LSI(described, Space(described, tokens=WORDS, stopwatch=Stopwatch()))


def test_scores_are_the_cosines_of_scikit_learns_truncated_svd() -> None:
    index = lsi(dimensions=3)
    index.index(PASSAGES)
    queries = {"q": "pressure of the pump", "r": "grease the bearings", "s": "tank"}
    weigher = TfidfVectorizer(analyzer=WORDS, sublinear_tf=True)
    weights = weigher.fit_transform(PASSAGES.values())
    space = TruncatedSVD(3, random_state=0).fit(weights)
    expected = cosine_similarity(space.transform(weigher.transform(queries.values())), space.transform(weights))
    match = index.search(queries, k=9)
    for row, scores in zip(expected, match.values(), strict=True):
        assert scores == pytest.approx(dict(zip(PASSAGES, row, strict=True)), abs=1e-5)


def test_of_many_passages_scores_are_near_those_of_scikit_learns_randomized_svd() -> None:
    chance = random.Random(4)
    topics = [[f"w{topic}x{number}" for number in range(40)] for topic in range(12)]
    passages = {
        f"{number:04}": " ".join(chance.choices(topics[number % 12], k=9) + chance.choices(chance.choice(topics), k=3))
        for number in range(2_400)
    }
    queries = {str(number): " ".join(chance.choices(topic, k=4)) for number, topic in enumerate(topics)}
    index = lsi(dimensions=12)
    index.index(passages)
    match = index.search(queries, k=len(passages))
    weigher = TfidfVectorizer(analyzer=WORDS, sublinear_tf=True)
    weights = weigher.fit_transform(passages.values())
    space = TruncatedSVD(12, n_iter=9, random_state=0).fit(weights)
    expected = cosine_similarity(space.transform(weigher.transform(queries.values())), space.transform(weights))
    for row, scores in zip(expected, match.values(), strict=True):
        assert [scores[doc_id] for doc_id in passages] == pytest.approx(row.tolist(), abs=5e-3)


def test_systems_of_other_dimensions_share_a_space_and_find_what_they_find_alone() -> None:
    described = {name: {"kind": "lsi", "dimensions": size} for name, size in (("two", 2), ("three", 3))}
    query = {"q": "valve of the tank"}
    with open_systems(list(described), described) as systems:
        for name in described:
            systems.retriever(name).index(PASSAGES)
        together = {name: systems.retriever(name).search(query, k=5) for name in described}
    for name, dimensions in (("two", 2), ("three", 3)):
        alone = lsi(dimensions=dimensions)
        alone.index(PASSAGES)
        assert alone.search(query, k=5) == together[name]
    assert together["two"] != together["three"]


def test_systems_that_share_a_space_search_the_corpus_that_each_has_indexed() -> None:
    corpora = (PASSAGES, {"f": "A pump and a valve.", "g": "Nothing but a tank, nothing.", "h": "The tank of the pump"})
    query = {"q": "valve of the tank"}
    settings = LSISettings(dimensions=2)
    space = Space(settings, tokens=WORDS, stopwatch=Stopwatch())
    together = [LSI(settings, space) for _ in corpora]
    for system, corpus in zip(together, corpora, strict=True):
        system.index(corpus)
    space.forget()
    for system, corpus in zip(together, corpora, strict=True):
        alone = lsi(dimensions=2)
        alone.index(corpus)
        assert system.search(query, k=5) == alone.search(query, k=5)


def test_a_seed_makes_it_repeatable_and_the_order_of_passages_does_not_decide() -> None:
    once, again, turned = lsi(dimensions=3, seed=5), lsi(dimensions=3, seed=5), lsi(dimensions=3, seed=5)
    once.index(PASSAGES)
    again.index(PASSAGES)
    turned.index(dict(reversed(PASSAGES.items())))
    query = {"q": "valve of the tank"}
    assert once.search(query, k=5) == again.search(query, k=5)
    assert list(once.search(query, k=5)["q"]) == list(turned.search(query, k=5)["q"])


def test_a_query_without_a_known_word_finds_nothing() -> None:
    index = lsi()
    index.index(PASSAGES)
    match = index.search({"q": "zebra", "r": "", "s": "!?", "t": "zebra pump"}, k=3)
    assert [len(ranking) for ranking in match.values()] == [0, 0, 0, 3]


@pytest.mark.parametrize("passages", [{}, {"a": ""}, {"a": "!", "b": " "}])
def test_a_corpus_without_a_word_is_no_error(passages: dict[str, str]) -> None:
    index = lsi()
    index.index(passages)
    assert index.search({"q": "pump"}, k=3) == {"q": {}}
    assert not index.passage_vectors(list(passages)).any()


@pytest.mark.parametrize(
    "passages", [{"a": "pump"}, {"a": "pump", "b": "pump"}, {"a": "pump", "b": ""}, {"a": "pump valve", "b": "seal"}]
)
def test_a_corpus_smaller_than_the_dimensions_is_indexed(passages: dict[str, str]) -> None:
    index = lsi(dimensions=200)
    index.index(passages)
    found = index.search({"q": "pump"}, k=3)["q"]
    assert list(found) == sorted((d for d, text in passages.items() if text), key=lambda d: (found[d], d), reverse=True)
    assert found["a"] > 0.5
    assert "" not in {passages[doc_id] for doc_id in found}


def test_what_was_indexed_before_is_forgotten() -> None:
    index = lsi()
    index.index(PASSAGES)
    index.index({"z": "an owl"})
    assert list(index.search({"q": "owl", "r": "pump"}, k=5)["q"]) == ["z"]
    assert index.search({"r": "pump"}, k=5) == {"r": {}}


def test_hostile_texts_are_texts() -> None:
    index = lsi()
    index.index({"a": "pump \ud800 \x00 \t", "b": "<script>" * 2000, "c": "pump " * 5000})
    assert set(index.search({"q": "pump\ud83d\x00"}, k=5)["q"]) >= {"a", "c"}


def test_vectors_of_passages_have_length_1_or_0() -> None:
    index = lsi(dimensions=3)
    index.index({**PASSAGES, "f": "?"})
    lengths = np.linalg.norm(index.passage_vectors(["f", "a", "e"]), axis=1)
    assert lengths == pytest.approx([0, 1, 1], abs=1e-6)


@pytest.mark.slow
def test_on_cranfield_it_is_as_good_as_is_known(collections: Path) -> None:
    folder = collections / "cranfield"
    texts = {
        name: {row["_id"]: f"{row.get('title', '')} {row['text']}" for row in map(json.loads, lines)}
        for name, lines in (
            (name, (folder / f"{name}.jsonl").read_text(encoding="utf-8").splitlines())
            for name in ("corpus", "queries")
        )
    }
    qrels: dict[str, dict[str, int]] = {}
    for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        query_id, doc_id, grade = line.split("\t")
        qrels.setdefault(query_id, {})[doc_id] = int(grade)
    words = tokenizer(Analyzer.UNICODE, language="en")
    index = LSI(LSISettings(), Space(LSISettings(), tokens=words, stopwatch=Stopwatch()))
    index.index(texts["corpus"])
    values = evaluate(qrels, index.search(texts["queries"], k=100), ["ndcg@10"]).values["ndcg@10"]
    assert sum(values) / len(values) == pytest.approx(0.409, abs=0.01)  # BM25 with the same words: 0.367
