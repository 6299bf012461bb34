"""How a query is put and what it asks for, decided by its words."""

from __future__ import annotations

import json

import pytest

from goldbench.prompts.loader import load
from goldbench.records.query import QueryKind, QueryStyle
from goldbench.text.query_forms import kind_of, style_of

EXAMPLES = [
    (example.language, style, json.loads(reply)["query"])
    for example in load("ask.v1").examples
    for style, reply in example.replies.items()
]


@pytest.mark.parametrize(("language", "style", "query"), EXAMPLES)
def test_the_prompts_own_examples_have_the_style_that_they_show(language: str, style: str, query: str) -> None:
    assert style_of(query, language, QueryStyle(style)) == style


@pytest.mark.parametrize(
    ("query", "language", "asked", "style"),
    [
        ("How do I start the pump?", "en", QueryStyle.KEYWORDS, QueryStyle.QUESTION),
        ("pump start pressure", "en", QueryStyle.QUESTION, QueryStyle.KEYWORDS),
        ("I wonder how much oil my pump needs?", "en", QueryStyle.VAGUE, QueryStyle.VAGUE),
        ("How much oil does the pump need?", "en", QueryStyle.VAGUE, QueryStyle.QUESTION),
        ("The pump is started with the green button on the left.", "en", QueryStyle.QUESTION, None),
        ("The pump is started with the green button on the left.", "en", QueryStyle.PROBLEM, None),
        ("The pump hums and does not start after a cold night.", "en", QueryStyle.PROBLEM, QueryStyle.PROBLEM),
        ("pompa uruchamiana jest zielonym przyciskiem po lewej", "pl", QueryStyle.PROBLEM, QueryStyle.PROBLEM),
        ("Pumpe Anlaufdruck Winter", "de", QueryStyle.QUESTION, QueryStyle.KEYWORDS),
    ],
)
def test_a_style_is_what_was_written_and_not_what_was_asked_for(
    query: str, language: str, asked: QueryStyle, style: QueryStyle | None
) -> None:
    assert style_of(query, language, asked) is style


@pytest.mark.parametrize(
    ("query", "language", "kind"),
    [
        ("Why does the pump hum?", "en", QueryKind.REASON),
        ("How do I drain the pump?", "en", QueryKind.PROCEDURE),
        ("How does the pump differ from the older model?", "en", QueryKind.COMPARISON),
        ("What happens if the pump runs dry?", "en", QueryKind.CONDITION),
        ("What is a hose pump?", "en", QueryKind.DEFINITION),
        ("How many valves does the pump have?", "en", QueryKind.FACT),
        ("Qu'est-ce qu'une pompe à tuyau ?", "fr", QueryKind.DEFINITION),
        ("如何排空水泵？", "zh", QueryKind.PROCEDURE),
        ("水泵的现状如何？", "zh", QueryKind.FACT),
    ],
)
def test_a_kind_is_what_the_words_ask_for(query: str, language: str, kind: QueryKind) -> None:
    assert kind_of(query, language) is kind
