"""The fast ways through plain text give what the full ones give."""

from hypothesis import given
from hypothesis import strategies as st

from goldbench.text import words

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
