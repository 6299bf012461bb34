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
        ("how to start the pump", "en", QueryStyle.KEYWORDS, QueryStyle.QUESTION),
        ("What is wrong if the pump hums?", "en", QueryStyle.PROBLEM, QueryStyle.QUESTION),
        ("pump start pressure", "en", QueryStyle.QUESTION, QueryStyle.KEYWORDS),
        ("I wonder how much oil my pump needs?", "en", QueryStyle.VAGUE, QueryStyle.VAGUE),
        ("How much oil does the pump need?", "en", QueryStyle.VAGUE, QueryStyle.QUESTION),
        ("The pump is started with the green button on the left.", "en", QueryStyle.QUESTION, None),
        ("The pump is started with the green button on the left.", "en", QueryStyle.KEYWORDS, None),
        ("The pump is started with the green button on the left.", "en", QueryStyle.PROBLEM, None),
        ("The pump is started with the green button on the left.", "en", QueryStyle.VAGUE, None),
        ("The pump hums and does not start after a cold night.", "en", QueryStyle.PROBLEM, QueryStyle.PROBLEM),
        ("die Zahl 12 ist eine zusammengesetzte Zahl", "de", QueryStyle.PROBLEM, None),
        ("die Pumpe brummt und läuft nach dem Winter nicht an", "de", QueryStyle.PROBLEM, QueryStyle.PROBLEM),
        ("pompa uruchamiana jest zielonym przyciskiem po lewej", "pl", QueryStyle.PROBLEM, QueryStyle.PROBLEM),
        ("水泵如何启动", "zh", QueryStyle.KEYWORDS, QueryStyle.QUESTION),
        ("水泵启动压力", "zh", QueryStyle.QUESTION, QueryStyle.KEYWORDS),
        ("Pumpe Anlaufdruck Winter", "de", QueryStyle.QUESTION, QueryStyle.KEYWORDS),
        ("wie starte ich die Pumpe", "de", QueryStyle.KEYWORDS, QueryStyle.QUESTION),
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
        ("What is the weight of the pump?", "en", QueryKind.FACT),
        ("How many valves does the pump have?", "en", QueryKind.FACT),
        ("Warum brummt die Pumpe?", "de", QueryKind.REASON),
        ("Was passiert, wenn die Pumpe trocken läuft?", "de", QueryKind.CONDITION),
        ("Qu'est-ce qu'une pompe à tuyau ?", "fr", QueryKind.DEFINITION),
        ("¿Cómo puedo vaciar la bomba?", "es", QueryKind.PROCEDURE),
        ("水泵为什么有噪音？", "zh", QueryKind.REASON),
        ("如何排空水泵？", "zh", QueryKind.PROCEDURE),
        ("水泵的现状如何？", "zh", QueryKind.FACT),
        ("水泵重多少？", "zh", QueryKind.FACT),
        ("ポンプを空にするにはどうすればよいですか？", "ja", QueryKind.PROCEDURE),
        ("لماذا تصدر المضخة ضجيجا؟", "ar", QueryKind.REASON),
        ("Что будет, если насос работает без воды?", "ru", QueryKind.CONDITION),
    ],
)
def test_a_kind_is_what_the_words_ask_for(query: str, language: str, kind: QueryKind) -> None:
    assert kind_of(query, language) is kind
