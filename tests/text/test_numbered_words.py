"""Words that are passed on as numbers are the words that were given."""

from __future__ import annotations

from itertools import accumulate, pairwise

from hypothesis import given
from hypothesis import strategies as st

from goldbench.pipeline.text.numbered_words import NumberedWords

TEXTS = st.lists(st.lists(st.text("abc", min_size=1, max_size=2), max_size=5), max_size=8)


def texts_of(found: NumberedWords) -> list[list[str]]:
    words = [found.words[number] for number in found.numbers]
    return [words[start:end] for start, end in pairwise(accumulate(found.sizes.tolist(), initial=0))]


@given(TEXTS, st.integers(0, 8), st.integers(0, 8))
def test_texts_in_parts_are_those_of_the_whole(texts: list[list[str]], one: int, other: int) -> None:
    first, second = sorted((one, other))
    parts = [NumberedWords.of(part) for part in (texts[:first], texts[first:second], texts[second:])]
    whole = NumberedWords.joined(parts)
    assert texts_of(whole) == texts_of(NumberedWords.of(texts)) == texts
    assert len(set(whole.words)) == len(whole.words)
