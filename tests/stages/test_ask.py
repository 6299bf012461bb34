"""Asking with a small model: which sentences are asked about, which questions they give, what the model decides."""

from __future__ import annotations

import pytest

from goldbench.pipeline.ports import Likelihood
from goldbench.pipeline.stages.ask.forms import Form, forms
from goldbench.pipeline.stages.ask.passages import are_abstracts, why_not
from goldbench.pipeline.stages.ask.small_model import FAIR, choices, is_at_least
from goldbench.pipeline.stages.ask.statements import is_statement, statements, without_markup
from goldbench.schemas.corpus import Chunk, Span


def chunk(text: str, title: str = "", headings: tuple[str, ...] = ()) -> Chunk:
    span = Span(doc_id="d1", start=0, end=len(text))
    return Chunk(chunk_id="c1", span=span, text=text, title=title, headings=headings)


def questions(statement: str, context: str = "") -> set[str]:
    return {form.question for form in forms(statement, context or statement)}


@pytest.mark.parametrize(
    ("statement", "question"),
    [
        ("The name oxygen was coined in 1777 by Antoine Lavoisier.", "When was the name oxygen coined?"),
        ("In 1961, IBM developed the SABRE reservation system.", "When did IBM develop the SABRE reservation system?"),
        ("James Hutton is often viewed as the first modern geologist.", "Who is viewed as the first modern geologist?"),
        ("The Osier 6 has four programs, A to D.", "How many programs does the Osier 6 have?"),
        ("The first start takes about forty minutes for six zones.", "How long does the first start take?"),
        ("The probe sends a Fenlink message every 15 minutes.", "How often does the probe send a Fenlink message?"),
        ("The DP-2 is a hose pump that adds liquid fertiliser.", "What is the DP-2?"),
        ("If the internet goes away, watering goes on as before.", "What happens if the internet goes away?"),
        ("If the disc filter turns brown, rinse it in acid.", "What should I do if the disc filter turns brown?"),
        ("Boats must moor on the east pier because the basin is shallow.", "Why must boats moor on the east pier?"),
        ("Use the measuring cup, which contains exactly 250 millilitres.", "What contains exactly 250 millilitres?"),
        (
            "Kerry runs Tyne Press, the largest press in Scotland, from a barn.",
            "What is the largest press in Scotland?",
        ),
        ("Anti-inflammatory drugs are used to control inflammation.", "What are anti-inflammatory drugs used for?"),
    ],
)
def test_a_statement_gives_a_question_in_good_order(statement: str, question: str):
    context = f"{statement} Many boats and anti-inflammatory drugs are there."
    assert question in questions(statement, context)


@pytest.mark.parametrize(
    "statement",
    [
        "It was designed by the same engineer in the following year.",
        "The display shows it.",
        "Seven of them were never found again by anyone.",
    ],
)
def test_what_cannot_be_told_apart_gives_no_question(statement: str):
    assert not questions(statement)


@pytest.mark.parametrize(
    ("statement", "context", "question"),
    [
        ("Prince Andrew searched the whole valley for wolves.", "", "Who searched the whole valley for wolves?"),
        (
            "Denísov searched the whole valley for wolves.",
            "He was tired, and her horse was lame.",
            "Who searched the whole valley for wolves?",
        ),
        (
            "Kestrel Bank needs deep wells of clean water.",
            "It lies on a slope.",
            "What needs deep wells of clean water?",
        ),
    ],
)
def test_people_are_asked_for_with_who(statement: str, context: str, question: str):
    found = questions(statement, f"{statement} {context}")
    assert question in found
    if question.startswith("Who"):
        assert question.replace("Who", "What") not in found


def test_a_phrase_of_a_second_verb_is_not_asked_for():
    statement = "The maker repairs the faulty pump or replaces it with goods of equal worth in the works."
    assert not any("worth" in question or question.startswith("Where") for question in questions(statement))


def test_every_question_leaves_an_answer_and_points_at_nothing():
    statement = "The pump of the station was replaced by Karl Meier in 1988 because its shaft had broken."
    found = questions(statement)
    assert found
    for question in found:
        assert question.endswith("?")
        assert " its " not in question
        assert set(question.rstrip("?").lower().split()) != set(statement.rstrip(".").lower().split())


@pytest.mark.parametrize(
    ("sentence", "fits"),
    [
        ("The pump must be drained before the first frost of the year.", True),
        ("It must be drained before the first frost of the year.", False),
        ("The pump must be drained before the first frost of the year", False),
        ("the pump must be drained before the first frost of the year.", False),
        ("Drain the pump.", False),
        ("The results of this method are shown in the following table.", False),
        ("We drained the pump before the first frost of the year.", False),
        ("Pumps are listed at https://example.org/pumps with all their parts.", False),
        ('The engineer said "drain the pump before the first frost.', False),
    ],
)
def test_a_statement_is_complete_and_stands_alone(sentence: str, fits: bool):
    assert is_statement(sentence) is fits


def test_statements_carry_their_place_and_the_nearest_heading():
    text = "## Winter\n\nThe **pump** must be drained before the first frost. It is heavy.\n\n- a list\n- of words\n"
    (found,) = statements(chunk(text, "Pumps", ("Care",)))
    assert found.text == "The pump must be drained before the first frost."
    assert text[found.start : found.end] == "The **pump** must be drained before the first frost."
    assert found.topic == "Pumps > Winter"


def test_markup_and_reference_numbers_are_left_out():
    assert without_markup("- The [pump](a.md) is `dry`,[12]\n and **old**.") == "The pump is dry, and old."


ENGLISH = "The pump must be drained before the first frost. The filter is cleaned every month by the staff."


@pytest.mark.parametrize(
    ("text", "language", "served"),
    [(ENGLISH, "en", True), (ENGLISH, "de", False), (ENGLISH, None, False), (ENGLISH.lower(), "en", False)],
)
def test_only_passages_that_the_model_can_serve_go_to_it(text: str, language: str | None, served: bool):
    assert (why_not(chunk(text), language) is None) is served


class Held(list[Chunk]):
    """Chunks in memory, as a stage reads stored ones."""

    def at(self, position: int) -> Chunk:
        return self[position]


def test_a_collection_of_abstracts_is_recognised_by_a_tenth_of_its_passages():
    abstract = chunk("A method is described for the division of numbers. Results are given for this algorithm.")
    assert are_abstracts(Held([abstract, *[chunk(ENGLISH)] * 8]))
    assert not are_abstracts(Held([abstract, *[chunk(ENGLISH)] * 20]))
    assert not are_abstracts(Held())


def test_the_subject_is_asked_for_only_if_nothing_else_can_be():
    subject, time = Form("What was coined in 1777?", "subject", 2), Form("When was the name coined?", "adjunct", 2)
    assert choices([subject, time]) == [time]
    assert choices([subject]) == [subject]


def test_a_short_question_is_preferred_to_a_long_one():
    short, long = Form("When was it built?", "adjunct", 3), Form("When was it built and why?", "adjunct", 5)
    assert choices([long, short]) == [short]
    assert choices([long]) == [long]


def test_a_question_with_one_very_unlikely_word_is_dropped():
    assert is_at_least(Likelihood(-0.5, -2.0), FAIR)
    assert not is_at_least(Likelihood(-0.5, -14.0), FAIR)
    assert is_at_least(None, FAIR), "a server without likelihoods leaves it to the rules"
