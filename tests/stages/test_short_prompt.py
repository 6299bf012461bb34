"""The short prompt: which sentence of a passage is asked for, and which one counts as the evidence."""

from __future__ import annotations

import pytest

from goldbench.ports import Brief
from goldbench.records.corpus import Chunk, Span
from goldbench.records.query import Assignment, Constraints, QueryKind, QueryStyle
from goldbench.records.replies import NumberedQuery
from goldbench.stages.generate.short_prompt import answering_sentence, askable, sentences_of


def brief(text: str, title: str, language: str) -> Brief:
    chunk = Chunk(chunk_id="c1", span=Span(doc_id="d1", start=0, end=len(text)), text=text, title=title)
    assignment = Assignment(kind=QueryKind.FACT, style=QueryStyle.QUESTION)
    return Brief(chunk, assignment, Constraints(), language)


def asked_first(text: str, title: str, language: str) -> str:
    about = brief(text, title, language)
    sentences = sentences_of(about.chunk)
    return sentences[askable(sentences, about)[0]].text


@pytest.mark.parametrize(
    ("text", "title", "language", "best"),
    [
        (
            "It was heavy and nobody liked it at all. The pump of Lindau was built in 1888 by two engineers. Who knew?",
            "Pump of Lindau", "en", "The pump of Lindau was built in 1888 by two engineers.",
        ),
        (
            "The settings are:\n\n- `pump`, `valve`\n- `oil`\n\nThe pump starts again after every loss of power.",
            "Pump", "en", "The pump starts again after every loss of power.",
        ),
        (
            "这个问题很重要吗？水泵在1888年由两位工程师建造完成。这一点很有意思。",
            "水泵", "zh", "水泵在1888年由两位工程师建造完成。",
        ),
    ],
)  # fmt: skip
def test_a_complete_sentence_about_the_subject_is_asked_for_first(
    text: str, title: str, language: str, best: str
) -> None:
    assert asked_first(text, title, language) == best


def test_a_passage_of_fragments_has_nothing_to_ask_for() -> None:
    about = brief("```\n$ ls -l /etc\n```\n\n- `a`\n- `b`\n", "Listing", "en")
    assert askable(sentences_of(about.chunk), about) == []


@pytest.mark.parametrize(
    ("named", "answer", "position"),
    [(2, "1888", 0), (1, "every 12 hours", 1), (9, "every 12 hours", 1), (2, "yes", 1), (9, "yes", 0)],
)
def test_the_evidence_is_the_sentence_that_holds_the_answer(named: int, answer: str, position: int) -> None:
    text = "The pump house was built in 1888 by engineers. Its filters are washed every 12 hours."
    sentences = sentences_of(brief(text, "Pumps", "en").chunk)
    reply = NumberedQuery(query="What about it?", sentence=named, answer=answer)
    assert answering_sentence(reply, sentences, 0, "en") == position
