"""The statistics of a sample, against counting word by word."""

from __future__ import annotations

import random
from collections import Counter, defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldbench.offline import analysis
from goldbench.offline.analysis import Analysis
from goldbench.offline.corpus_sample import Pool

WORDS = [
    *["Hello", "it's", "walked", "walking", "WALKS", "a.b-c", "123", "don’t", "www.a.de", "x@y.com", "İstanbul"],
    *["ẞtraße", "Ωmega", "日本語の文章", "ภาษาไทย", "Привет", "ǅ"],
    *["Q" * 40, "q" * 50, "İ" + "w" * 39, "İ" + "w" * 40],
]


def test_stems_and_forms_are_those_of_counting_each_word() -> None:
    chance = random.Random(5)
    texts = [" ".join(chance.choices(WORDS, k=chance.randint(0, 30))) for _ in range(60)] + ["", "...", "walk walk"]
    words = Analysis(texts)
    pool = Pool([(f"c{number}", text) for number, text in enumerate(texts)], words)
    forms: dict[str, Counter[str]] = defaultdict(Counter)
    texts_with: Counter[str] = Counter()
    for text in texts:
        tokens = words.tokens(text)
        texts_with.update({token.stem for token in tokens})
        for token in tokens:
            forms[token.stem][token.form] += 1
    assert {stem: dict(pool.forms_of(stem)) for stem in forms} == forms
    assert {stem: pool.share(stem) for stem in texts_with} == {
        stem: pytest.approx(count / len(texts)) for stem, count in texts_with.items()
    }
    assert pool.forms_of("q" * 50) == {}
    for stem, count in texts_with.items():
        assert pool.neighbourhood("other", {stem: 1}, 100).shared[stem] == count


@given(st.lists(st.text(st.sampled_from("abcXY09'.-_/@:w \n«é’"), max_size=40), max_size=8))
def test_words_of_plain_text_are_those_of_the_pattern_for_every_text(texts: list[str]) -> None:
    found = Analysis([])
    quick = [found.tokens(text) for text in [*texts, "q" * 50]]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(analysis, "_is_simple", lambda _: False)
        assert [found.tokens(text) for text in [*texts, "q" * 50]] == quick
