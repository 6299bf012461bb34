"""The fast ways through plain text give what the full ones give."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldbench.text import scripts, words

PLAIN = st.characters(max_codepoint=0x2100, exclude_categories=["Cs"])
MIXED = st.text(st.one_of(PLAIN, st.sampled_from("我สัह\u0301'’.-_/ \n")), max_size=40)


@given(MIXED)
def test_words_are_those_of_the_full_pattern(text: str) -> None:
    assert words.words(text) == words._WORD.findall(text)
    assert words.word_spans(text) == [match.span() for match in words._WORD.finditer(text)]
    assert words.word_count(text) == len(words._WORD.findall(text))


@given(MIXED)
def test_terms_are_those_of_the_full_pattern(text: str) -> None:
    assert words.terms(text) == words._PLAIN.findall(text.casefold())
    assert words.encoded_terms(text) == [term.encode() for term in words.terms(text)]


@given(st.text(st.sampled_from("abZ09'.-_/ \n\x1f\x7f‘’—›\u203f\xa0\xb7"), max_size=40))
def test_ascii_with_marks_is_cut_as_by_the_full_pattern(text: str) -> None:
    assert words.terms(text) == words._PLAIN.findall(text.casefold())
    assert words.word_count(text) == len(words._WORD.findall(text))


def test_every_plain_character_is_in_a_word_exactly_where_the_full_pattern_says_so() -> None:
    plain = [chr(code) for code in range(sys.maxunicode + 1) if not words._UNPLAIN.search(chr(code))]
    assert len(plain) > 1000
    assert [c for c in plain if bool(words._PLAIN_TERM.match(c)) != bool(words._PLAIN.match(c))] == []


def test_every_character_of_a_script_without_spaces_is_looked_at() -> None:
    every = [chr(code) for code in range(sys.maxunicode + 1)]
    assert [c for c in every if scripts._SPACELESS_CHAR.match(c) and not scripts._MAY_BE_SPACELESS.match(c)] == []


@pytest.mark.parametrize("text", ["naïve 3 café", "e\u0301", "我们 2 の", "\ud800x", ""])
def test_letters_are_counted_in_and_beyond_ascii(text: str) -> None:
    assert scripts.letter_count(text) == sum(len(run) for run in scripts._LETTER.findall(text))
