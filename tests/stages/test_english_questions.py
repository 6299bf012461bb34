"""The questions that an English sentence gives to a model that can only choose."""

from __future__ import annotations

import pytest

from goldbench.ports import Likelihood
from goldbench.stages.generate.english_questions import is_statement, questions
from goldbench.stages.generate.tiny_model import LEAST, is_likely


@pytest.mark.parametrize(
    ("statement", "question"),
    [
        ("In 1961, IBM developed the SABRE reservation system.", "When did IBM develop the SABRE reservation system?"),
        ("The Osier 6 has four programs, A to D.", "How many programs does the Osier 6 have?"),
        ("The DP-2 is a hose pump that adds liquid fertiliser.", "What is the DP-2?"),
        ("Boats must moor on the east pier because the basin is shallow.", "Why must boats moor on the east pier?"),
        ("If the disc filter turns brown, rinse it in acid.", "What should I do if the disc filter turns brown?"),
        ("Drain the pump of the greenhouse before the first frost.", "When should I drain the pump of the greenhouse?"),
    ],
)
def test_a_statement_gives_a_question_in_good_order(statement: str, question: str) -> None:
    assert question in questions(statement, f"{statement} Many boats are there.")


@pytest.mark.parametrize(
    "statement",
    [
        "It was designed by the same engineer in the following year.",
        "In 2006, UNICEF estimated that up to 30% of girls in the coastal areas were affected.",
    ],
)
def test_what_cannot_be_told_apart_gives_no_question(statement: str) -> None:
    assert not questions(statement, statement)


@pytest.mark.parametrize(
    ("sentence", "fits"),
    [
        ("The pump must be drained before the first frost of the year.", True),
        ("It must be drained before the first frost of the year.", False),
        ("The pump must be drained before the first frost of the year", False),
        ("The results of this method are shown in the following table.", False),
        ('The engineer said "drain the pump before the first frost.', False),
    ],
)
def test_a_statement_is_complete_and_stands_alone(sentence: str, fits: bool) -> None:
    assert is_statement(sentence) is fits


def test_a_question_with_one_very_unlikely_word_is_dropped() -> None:
    assert is_likely(LEAST)
    assert not is_likely(Likelihood(LEAST.mean, LEAST.least - 1.0))
    assert is_likely(None), "a server without likelihoods leaves it to the rules"
