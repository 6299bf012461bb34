"""Where texts of other scripts may be cut."""

import re
import unicodedata

import pytest
import regex

from goldbench.text.boundaries import separators

LANGCHAIN_DEFAULT = ["\n\n", "\n", " ", ""]


def pieces(text: str, pattern: str) -> list[str]:
    return [piece for piece in re.split(pattern, text) if piece]


def test_english_with_curly_quotes_and_accents_has_only_langchains_separators() -> None:
    assert separators("“Well, Prince,” said Anna Pávlovna… “naïve”?") == LANGCHAIN_DEFAULT


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("他说：“好。”然后走了。再见！！", ["他说：“好。”", "然后走了。", "再见！！"]),
        ("これは本です。「はい。」と言った？", ["これは本です。", "「はい。」", "と言った？"]),
        ("هل تسمعني؟ نعم۔ حسنا", ["هل تسمعني؟", " نعم۔", " حسنا"]),
        ("राम आया। वह बैठा॥ फिर", ["राम आया।", " वह बैठा॥", " फिर"]),
    ],
)
def test_a_sentence_keeps_its_end_mark_and_the_quotes_it_closes(text: str, parts: list[str]) -> None:
    assert pieces(text, separators(text)[2]) == parts


def test_clauses_come_after_sentences_and_before_spaces() -> None:
    sentence, clause, space = separators("我们来了，他 走了。")[2:5]
    assert pieces("我们来了，他走了。好", sentence) == ["我们来了，他走了。", "好"]
    assert pieces("我们来了，他走了。", clause) == ["我们来了，", "他走了。"]
    assert space == " "


def test_zero_width_spaces_come_after_spaces() -> None:
    cuts = separators("ភាសា\u200bខ្មែរ")
    assert pieces("ភាសា\u200bខ្មែរ", cuts[cuts.index(" ") + 1]) == ["ភាសា\u200b", "ខ្មែរ"]


@pytest.mark.parametrize(
    "character",
    ["e\u0301", "👨‍👩‍👧‍👦", "1\ufe0f\u20e3"],
    ids=lambda character: "-".join(f"{ord(c):x}" for c in character),
)
def test_what_a_reader_sees_as_one_character_is_not_cut(character: str) -> None:
    text = f"a{character}b"
    assert pieces(text, separators(text)[-2]) == ["a", character, "b"]


def test_no_mark_of_unicode_is_cut_from_its_base() -> None:
    marks = [chr(code) for code in range(0x110000) if unicodedata.category(chr(code)).startswith("M")]
    between = separators("e\u0301")[-2]
    assert [mark for mark in marks if pieces("a" + mark, between) != ["a" + mark]] == []


def test_every_place_is_a_boundary_of_extended_grapheme_clusters() -> None:
    text = "Ａe\u0301\u0323 สวัสดีครับ नमस्ते कर्म 👩🏽‍🚀🇯🇵🇫🇷 한국어 \u1100\u1161\u11a8 ១\u17d2ក"
    boundaries = {0, len(text)} | {match.start() for match in regex.finditer(r"\X", text)}
    places, at = set(), 0
    for piece in pieces(text, separators(text)[-2]):
        places.add(at)
        at += len(piece)
    assert places <= boundaries
