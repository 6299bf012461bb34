"""Analyzers against words cut by hand, as Elasticsearch cuts them."""

from __future__ import annotations

import logging
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldbench.retrieval import lucene_standard as lucene
from goldbench.retrieval.postings import Occurrences
from goldbench.retrieval.system_settings import Analyzer
from goldbench.retrieval.tokens import Tokenizer, cut, tokenizer


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # the example of Elasticsearch's manual
        ("The 2 QUICK Brown-Foxes jumped over the lazy dog's bone.",
         ["the", "2", "quick", "brown", "foxes", "jumped", "over", "the", "lazy", "dog's", "bone"]),
        ("3.5 1,000 a.b foo_bar __x__ _ @user", ["3.5", "1,000", "a.b", "foo_bar", "__x__", "user"]),
        ("中国载人登月", ["中", "国", "载", "人", "登", "月"]),
        ("カタカナとひらがな、日本語", ["カタカナ", "と", "ひ", "ら", "が", "な", "日", "本", "語"]),
        ("한국어 형태소 분석기", ["한국어", "형태소", "분석기"]),
        ("เป็นภาษาไทย ok", ["เป็นภาษาไทย", "ok"]),
        ("Donaudampfschifffahrts-Straße ÜBER", ["donaudampfschifffahrts", "straße", "über"]),
        ("नमस्ते दुनिया", ["नमस्ते", "दुनिया"]),
        ("mail: 😀 👨‍👩‍👧 🇩🇪🇫🇷 1️⃣", ["mail", "😀", "👨‍👩‍👧", "🇩🇪", "🇫🇷", "1️⃣"]),
        ("", []), ("\x00 \ud800 !?", []),
    ],
)  # fmt: skip
def test_standard_cuts_as_elasticsearch_does(text: str, expected: list[str]) -> None:
    assert tokenizer(Analyzer.STANDARD)(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("循环水泵 Pump 站", ["循环", "环水", "水泵", "pump", "站"]),
        ("日本語のテスト", ["日本", "本語", "語の", "のテ", "テス", "スト"]),
        ("한국어 문장", ["한국", "국어", "문장"]),
        ("２０２３年 ＡＢＣ ﾃｽﾄ", ["2023", "年", "abc", "テス", "スト"]),
        ("登月。2030年前", ["登月", "2030", "年前"]),
        ("plain words, it's", ["plain", "words", "it's"]),
    ],
)
def test_cjk_pairs_neighbours_and_leaves_other_words(text: str, expected: list[str]) -> None:
    assert tokenizer(Analyzer.CJK_BIGRAM)(text) == expected


@given(st.text(alphabet="ab1_.:',;- \n#*Z9"))
def test_plain_text_is_cut_the_same_by_the_short_way(text: str) -> None:
    assert lucene.standard(text) == [match.group().lower() for match in lucene._TOKEN.finditer(text)]


def test_a_token_ends_after_255_characters_as_in_lucene() -> None:
    assert list(map(len, tokenizer(Analyzer.STANDARD)("a" * 600))) == [255, 255, 90]
    assert list(map(len, tokenizer(Analyzer.CJK_BIGRAM)("é" * 300))) == [255, 45]


@pytest.mark.parametrize("giant", ["_", "a_", "'", "a'", "\u200d", "1,", "é_", "_é"])
def test_a_giant_line_is_cut_in_the_time_of_its_length(giant: str) -> None:
    started = time.process_time()
    tokenizer(Analyzer.STANDARD)(giant * 100_000 + " é")
    assert time.process_time() - started < 5


def test_ngrams_stay_within_words() -> None:
    assert tokenizer(Analyzer.NGRAMS)("Pumpe an") == ["pum", "ump", "mpe", "an"]


def test_a_language_takes_its_function_words_and_endings_away() -> None:
    assert tokenizer(Analyzer.STANDARD, language="en")("The running pumps") == ["run", "pump"]
    assert tokenizer(Analyzer.STANDARD, language="de")("die Pumpen und Häuser") == ["pump", "haus"]


@pytest.mark.slow  # loading its dictionary takes seconds
def test_jieba_cuts_chinese_words_and_is_quiet(caplog: pytest.LogCaptureFixture) -> None:
    pytest.importorskip("jieba", reason="the extra cjk is not installed")
    with caplog.at_level(logging.DEBUG):
        assert tokenizer(Analyzer.JIEBA)("我来到北京清华大学，NBA！") == ["我", "来到", "北京", "清华大学", "nba"]
    assert not caplog.records


def test_terms_come_in_the_order_of_the_texts() -> None:
    assert list(cut(tokenizer(Analyzer.UNICODE), {"b": "B two", "a": "A"})) == [["b", "two"], ["a"]]


def test_terms_of_words_of_queries_are_remembered_and_those_of_a_corpus_are_not() -> None:
    asked: list[str] = []

    def terms_of(word: str) -> list[str]:
        asked.append(word)
        return [word[:3]]

    tokens = Tokenizer(str.split, terms_of)
    assert list(Occurrences.in_texts(["pumps pump", "pump valve"], tokens).vocabulary) == ["pum", "val"]
    assert asked == ["pumps", "pump", "valve"]
    assert tokens("pump pump") == tokens("pump pump") == ["pum", "pum"]
    assert asked == ["pumps", "pump", "valve", "pump"]
