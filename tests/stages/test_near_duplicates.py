"""Clusters of near-duplicates against a plain reading of their definition."""

import random
from collections.abc import Sequence
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goldbench.stages.select.near_duplicates import Sketches, cluster, write_sketch
from goldbench.text.similarity import CHARACTERS, WORDS


def clusters(texts: Sequence[str], reads: list[int] | None = None) -> set[frozenset[int]]:
    sketches = Sketches.empty(len(texts))
    for position, text in enumerate(texts):
        write_sketch(text, sketches, position)

    def text_at(position: int) -> str:
        if reads is not None:
            reads.append(position)
        return texts[position]

    labels = cluster(sketches, text_at=text_at).tolist()
    return {frozenset(i for i, label in enumerate(labels) if label == one) for one in labels}


def grams(text: str, size: int) -> set[tuple[str, ...]]:
    tokens = text.split() if " " in text else list(text)
    size = min(size, len(tokens))
    return {tuple(tokens[i : i + size]) for i in range(len(tokens) - size + 1)}


def by_definition(texts: Sequence[str], size: int = WORDS) -> set[frozenset[int]]:
    sets = [grams(text, size) for text in texts]
    found = [{i} for i in range(len(texts))]
    for a, b in combinations(range(len(texts)), 2):
        if 5 * len(sets[a] & sets[b]) >= 4 * len(sets[a] | sets[b]) and found[a] is not found[b]:
            found[a] |= found[b]
            for member in found[b]:
                found[member] = found[a]
    return {frozenset(group) for group in found}


def corpus(seed: int, texts: int, *, length: tuple[int, int] = (10, 90)) -> list[str]:
    """Texts of which many are copies of earlier ones with some words changed."""
    chance = random.Random(seed)
    made: list[list[str]] = []
    for _ in range(texts):
        if made and chance.random() < 0.7:
            words = list(chance.choice(made))
            for _ in range(chance.randint(0, 4)):
                words[chance.randrange(len(words))] = f"w{chance.randrange(10_000)}"
        else:
            words = [f"w{chance.randrange(10_000)}" for _ in range(chance.randint(*length))]
        made.append(words)
    return [" ".join(words) for words in made]


@pytest.mark.parametrize("seed", range(2))
def test_clusters_are_the_components_over_all_pairs_of_similar_texts(seed: int) -> None:
    texts = corpus(seed, 120)
    found = clusters(texts)
    assert found == by_definition(texts)
    assert 1 < len(found) < 120


def test_the_least_similarity_belongs_to_a_cluster_and_less_does_not() -> None:
    words = [f"w{i}" for i in range(40)]
    # 36 shingles; 4 words more at the end make 40 of which 36 are shared: 0.9; 9 more: 36 of 45 is 0.8; 10 more: 0.78.
    for more, together in ((4, True), (9, True), (10, False)):
        longer = words + [f"x{i}" for i in range(more)]
        assert (len(clusters([" ".join(words), " ".join(longer)])) == 1) is together


def test_characters_make_the_shingles_of_scripts_without_spaces() -> None:
    chance = random.Random(3)
    base = [chr(0x4E00 + chance.randrange(3000)) for _ in range(200)]
    texts = []
    for changes in (0, 1, 2, 3, 4, 6):
        copy = list(base)
        for number in range(changes):
            copy[20 + number * 30] = "变"
        texts.append("".join(copy))
    assert clusters(texts) == by_definition(texts, CHARACTERS)


def test_case_punctuation_and_white_space_make_no_difference() -> None:
    assert len(clusters(["The pump, stops when it is dry!", "the PUMP\n\nstops — when it is dry"])) == 1


def test_short_texts_are_one_shingle() -> None:
    assert clusters(["Yes, sir.", "yes sir", "no sir"]) == {frozenset({0, 1}), frozenset({2})}


def test_texts_without_a_word_stand_alone() -> None:
    assert len(clusters(["---", "---", "", "👍"])) == 4


@settings(max_examples=10)
@given(st.permutations(range(30)))
def test_clusters_do_not_depend_on_the_order_of_texts(order: list[int]) -> None:
    texts = corpus(5, 30)
    shuffled = clusters([texts[i] for i in order])
    assert {frozenset(order[i] for i in group) for group in shuffled} == clusters(texts)


def test_texts_just_below_the_threshold_stay_apart_in_bounded_work() -> None:
    form = " ".join(f"w{i}" for i in range(60))
    texts = [form + " " + " ".join(f"x{i}-{j}" for j in range(5)) for i in range(300)]
    reads: list[int] = []
    assert len(clusters(texts, reads)) == len(texts)
    assert len(reads) < 16 * len(texts)
