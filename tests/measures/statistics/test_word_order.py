"""Word order: sentences rank near 1, their shuffled words near one half, and what cannot be told is left out."""

from __future__ import annotations

from statistics import fmean

import pytest

from goldbench.measures.statistics.word_order import KEYWORDS, NO_TEXT, SPACELESS, query_orders
from goldbench.text.language import detect_language
from tests.benchmarks.collections import collections_folder, load
from tests.measures.statistics.spoken import sentences, shuffled

TOLD = sentences(1_500, seed=2)


def ranks(texts: list[str], passages: list[str], language: str | None = "en") -> list[float]:
    queries = {str(number): text for number, text in enumerate(texts)}
    return list(query_orders(queries, dict.fromkeys(queries, language), passages, seed=0).ranks.values())


def test_sentences_rank_near_one_and_their_shuffled_words_near_one_half() -> None:
    asked = sentences(60, seed=1)
    assert fmean(ranks(asked, TOLD)) > 0.9
    assert 0.4 < fmean(ranks(shuffled(asked), TOLD)) < 0.6


def test_words_that_the_passages_do_not_have_are_told_by_their_endings() -> None:
    asked = ["what does the roof of a purple house show", "if the ladder is purple, it opens the cellar with a spoon"]
    assert min(ranks(asked, TOLD)) > 0.9


@pytest.mark.parametrize(
    ("query", "language", "reason"),
    [
        ("pump valve filter", "en", KEYWORDS),
        ("irrigation pump pressure valve", "en", KEYWORDS),
        ("of the pump", "en", KEYWORDS),
        ("", "en", NO_TEXT),
        ("Welche Pumpe braucht der alte Garten im Winter?", "de", NO_TEXT),
        ("what does the pump of the garden need", None, NO_TEXT),
        ("水泵在冬天需要什么保护", "zh", SPACELESS),
        ("ปั๊มต้องการอะไรในฤดูหนาว", "th", SPACELESS),
    ],
)
def test_what_cannot_be_measured_is_left_out_with_its_reason(query: str, language: str | None, reason: str) -> None:
    found = query_orders({"q": query}, {"q": language if query else None}, TOLD, seed=0)
    assert (found.ranks, dict(found.left_out)) == ({}, {reason: 1})


@pytest.mark.skipif(not (collections_folder() / "xquad_de").is_dir(), reason="no collections")
def test_peoples_german_questions_are_in_order_and_their_shuffled_words_are_not() -> None:
    german = load(collections_folder() / "xquad_de")
    assert detect_language(german.documents[0]) == "de"
    assert fmean(ranks(german.queries[:100], german.documents, "de")) > 0.8
    assert fmean(ranks(shuffled(german.queries[:100]), german.documents, "de")) < 0.6
