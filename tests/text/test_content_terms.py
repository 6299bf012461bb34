"""The words that carry a query's meaning."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldbench.text.words import content_terms, count_words, index_terms, stop_words, term_weight, terms


def test_function_words_are_left_out_and_the_others_stemmed():
    assert content_terms("How long do the batteries last?", "en") == ["long", "batteri", "last"]


def test_a_word_that_carries_meaning_is_no_function_word():
    assert not {"information", "computer", "system", "world", "us", "it"} & (stop_words("en") - {"us", "it"})


def test_chinese_terms_are_pairs_of_characters_between_function_words():
    assert content_terms("青藏铁路的全长是多少公里", "zh") == ["青藏", "藏铁", "铁路", "全长", "公里"]


def test_thai_terms_are_three_characters_with_their_marks():
    assert content_terms("แบตเตอรี่", "th") == ["แบต", "บตเ", "ตเต", "เตอ", "ตอรี่"]


def test_latin_words_in_chinese_stay_words():
    assert content_terms("如何安装Docker镜像", "zh") == ["安装", "docker", "镜像"]


def test_without_a_language_every_word_stays_as_it_is():
    assert content_terms("the batteries", None) == ["the", "batteries"]


@pytest.mark.parametrize(("text", "count"), [("v2.1 is re-used", 3), ("青藏铁路", 4), ("แบตเตอรี่ใช้", 2), ("", 0)])
def test_words_are_counted_as_a_reader_would(text: str, count: int):
    assert count_words(text) == count


def test_a_character_of_a_script_without_spaces_is_part_of_a_word():
    assert [term_weight(term) for term in ("router", "铁", "か", "แ")] == [1.0, 0.5, 0.5, 0.2]


@given(st.text(max_size=200), st.sampled_from(["en", "zh", "th", "ja", "ar", None]))
def test_every_content_term_of_a_text_is_an_index_term_of_it(text: str, language: str | None):
    assert set(content_terms(text, language)) <= index_terms(text, language)


@given(st.text(max_size=100))
def test_terms_have_weights_of_at_most_one(text: str):
    assert all(0 < term_weight(term) <= 1 for term in terms(text))
