"""Which headings and FAQ questions become queries."""

from __future__ import annotations

import pytest

from goldbench.records.corpus import Chunk
from goldbench.records.query import QueryStyle, Recipe
from tests.offline.examples import chunk, fitted, manual, proposed

BODY = (
    "Switch the unit off and let the burner cool for ten minutes. Then lift the front cover and brush the soot out of "
    "the chamber. Rinse the brush, put the cover back and note the date in the log book of your appliance."
)


def _recipes(asked: Chunk, *others: Chunk) -> list[Recipe | None]:
    generator = fitted([asked, *others, *manual(20)])
    return [candidate.recipe for candidate in proposed(generator, asked).candidates]


def test_a_specific_heading_that_the_text_does_not_repeat_is_the_query() -> None:
    asked = chunk(BODY, headings=("Care", "3.2 Sweeping the burner"))
    (candidate,) = proposed(fitted([asked, *manual(20)]), asked).candidates
    assert (candidate.text, candidate.recipe) == ("Sweeping the burner", Recipe.HEADING)
    assert candidate.evidence[0].quote == "Switch the unit off and let the burner cool for ten minutes."


def test_a_question_is_the_query_even_where_the_answer_uses_its_words() -> None:
    asked = chunk(BODY, title="How often do I brush the chamber?")
    (candidate,) = proposed(fitted([asked, *manual(20)]), asked).candidates
    assert (candidate.text, candidate.style) == ("How often do I brush the chamber?", QueryStyle.QUESTION)


def test_with_several_queries_to_a_chunk_the_heading_comes_first() -> None:
    from goldbench.records.query import Constraints

    asked = chunk(BODY, headings=("Sweeping the burner",))
    candidates = proposed(fitted([asked, *manual(20)]), asked, Constraints(per_chunk=3)).candidates
    assert [candidate.recipe for candidate in candidates] == [Recipe.HEADING, Recipe.TERMS, Recipe.TERMS]


@pytest.mark.parametrize(
    "heading",
    [
        "Introduction",
        "burner_cleaning_notes",
        "the burner cool for ten minutes",
        "Brush, chamber, soot and appliance",
        "12.4",
    ],
)
def test_generic_headings_file_names_and_repeated_words_are_no_queries(heading: str) -> None:
    assert _recipes(chunk(BODY, headings=(heading,))) == [Recipe.TERMS]


def test_a_heading_that_another_document_has_too_is_no_query() -> None:
    asked = chunk(BODY, headings=("Sweeping the burner",))
    other = chunk("Something else is written here about kettles and pots.", "other", headings=("sweeping THE burner",))
    assert _recipes(asked, other) == [Recipe.TERMS]


def test_only_the_first_chunk_under_a_heading_is_asked_with_it() -> None:
    first = chunk(BODY, headings=("Sweeping the burner",))
    second = chunk(BODY.replace("soot", "ash"), start=len(BODY), headings=("Sweeping the burner",))
    assert _recipes(first, second) == [Recipe.HEADING]
    assert _recipes(second, first) == [Recipe.TERMS]
