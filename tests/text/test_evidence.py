"""Quotations are found again in the document's own words."""

import unicodedata

import pytest
import regex
from hypothesis import assume, example, given
from hypothesis import strategies as st

from goldbench.text.evidence import Stretch, find_quote

TEXT = (
    "He said “the robot’s battery — 5 h — lasts”. Then\nit  was **charged** again for two hours. Party art. "
    "数据\n中心在北京。"
)


def found(quote: str, text: str = TEXT) -> str | None:
    span = find_quote(quote, text)
    return text[span[0] : span[1]] if span else None


@pytest.mark.parametrize(
    ("quote", "words"),
    [
        ("Then\nit  was", "Then\nit  was"),
        ("the robot's battery - 5 h - lasts", "the robot’s battery — 5 h — lasts"),
        ("then it was charged again", "Then\nit  was **charged** again"),
        ("数据中心在北京", "数据\n中心在北京"),
        ("charged again for 2 hours", "charged** again for two hours"),
        ("it was chargd again for two hours", "it  was **charged** again for two hours"),
        ("harged** again for two hou", "charged** again for two hours"),
    ],
)
def test_a_quotation_is_found_in_the_texts_own_words(quote: str, words: str):
    assert found(quote) == words


@pytest.mark.parametrize("quote", ["", "…", "charged for a full week in the garage"])
def test_what_is_not_there_is_not_found(quote: str):
    assert found(quote) is None


def test_composed_and_decomposed_letters_are_the_same():
    text = unicodedata.normalize("NFD", "Der Käse reift in der Höhle.")
    assert found("käse reift", text) == unicodedata.normalize("NFD", "Käse reift")
    assert found(unicodedata.normalize("NFD", "각 나라"), "그 각 나라는") == "각 나라는"


def test_letters_that_fold_to_several_keep_their_place():
    assert found("STRASSE", "Die Straße ist ﬁnster.") == "Straße"
    assert found("finster", "Die Straße ist ﬁnster.") == "ﬁnster"


def test_the_place_that_cuts_no_word_is_preferred():
    assert find_quote("art", "party start art") == (12, 15)


def test_a_changed_quotation_is_found_up_to_one_character_in_ten():
    text = "The warranty covers the motor for a period of five full years after purchase."
    assert found("The warranty covers the motor for five full years after purchase.", text) is None
    assert found("The waranty covers the motor for a period of 5 full years after purchase", text) == text.rstrip(".")


def test_a_short_quotation_is_not_guessed():
    assert found("batter", "the better way") is None


def test_a_giant_word_is_no_trouble():
    text = "x" * 200_000
    assert find_quote("x" * 500, text) is not None


@given(st.text(max_size=60), st.text(max_size=300))
@example("İ", "i̇stanbul")
@example("ß", "SS")
@example("\u0301a", "a\u0301a")
def test_any_answer_is_a_stretch_of_the_text_without_outer_space(quote: str, text: str):
    span = find_quote(quote, text)
    if span is not None:
        start, end = span
        assert 0 <= start < end <= len(text)
        assert text[start:end].strip() == text[start:end]


@given(st.text(min_size=1, max_size=300), st.data())
def test_whatever_stands_in_the_text_is_found(text: str, data: st.DataObject):
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    quote = text[start:end]
    assume(regex.search(r"[\p{L}\p{N}]", quote))
    span = find_quote(quote, text)
    assert span is not None
    assert quote.strip() in text[span[0] : span[1]]


@given(
    st.lists(
        st.sampled_from(["The", "robot’s", "battery", "—", "lasts", "“five”", "hours", "电池", "बैटरी", "Straße"]),
        min_size=3,
    )
)
def test_case_space_quotes_and_dashes_do_not_hide_a_quotation(pieces: list[str]):
    pieces = ["Robot", *pieces]
    text = "Intro. " + " ".join(pieces) + " End."
    quote = "\n ".join(pieces).upper().replace("’", "'").replace("—", "-").replace("“", '"').replace("”", '"')
    assert find_quote(quote, text) is not None


STEPS = [f"Step {n}: open valve {n} of the circuit and wait for {n} minutes. Then close it." for n in range(12)]


def again(words: str, changed: str, text: str = "\n\n".join(STEPS), nth: int = 0) -> list[str]:
    """Return the changed text once for each place of words of a text, with the words marked, the likeliest first."""
    start = -1
    for _ in range(nth + 1):
        start = text.index(words, start + 1)
    places = sorted(Stretch.of(text, start, start + len(words)).places(changed), reverse=True)
    return [f"{changed[: at.start]}[{changed[at.start : at.end]}]{changed[at.end :]}" for at in places]


def test_a_stretch_is_found_again_where_the_text_around_it_changed():
    changed = "\n\n".join(["A new opening.", *STEPS[3:7], "And so on."])
    assert again("open valve 5 of the circuit", changed) == [
        changed.replace("open valve 5 of the circuit", "[open valve 5 of the circuit]")
    ]
    assert again("open valve 9 of the circuit", changed) == []


def test_white_space_and_composition_may_change_but_no_word():
    text = "Das Öl  der Düse\nist alt. Es wird ersetzt."
    stretch = Stretch.of(text, 0, text.index(" Es"))
    for changed in ("Neu. Das Öl der Düse ist alt.", unicodedata.normalize("NFD", "Neu. Das Öl der\nDüse ist  alt.")):
        (place,) = stretch.places(changed)
        assert (place.start, place.end) == (5, len(changed))
    assert stretch.places("Neu. Das Oel der Düse ist alt.") == []


@pytest.mark.parametrize("nth", [0, 4, 11])
def test_of_several_places_the_one_with_the_same_surroundings_is_the_greatest(nth: int):
    changed = "\n\n".join(["A new opening.", *STEPS])
    step = STEPS[nth]
    assert again("Then close it.", changed, nth=nth)[0] == changed.replace(step, step.replace("Then", "[Then") + "]")


def test_equal_or_no_surroundings_do_not_tell_several_places_apart():
    then = STEPS[3].index("Then")
    first, second = Stretch.of(STEPS[3], then, len(STEPS[3])).places("\n\n".join([STEPS[3], STEPS[3]]))
    assert first.alike == second.alike
    places = Stretch.of("He said yes.", 8, 11).places("maybe yes, or rather yes, who knows")
    assert [place.sure for place in places] == [False, False]


@given(st.lists(st.integers(0, 3), min_size=1, max_size=8), st.lists(st.integers(0, 3), max_size=8), st.data())
def test_what_is_found_again_is_the_stretch_itself(before: list[int], after: list[int], data):
    text, changed = ("\n\n".join(STEPS[number] for number in numbers) for numbers in (before, after))
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    stretch = text[start:end]
    places = Stretch.of(text, start, end).places(changed)
    for place in places:
        assert changed[place.start : place.end].split() == stretch.split()
    verbatim = [position for position in range(len(changed)) if changed.startswith(stretch, position)]  # may overlap
    if verbatim and stretch.strip():
        assert [place.start for place in places] == verbatim
