"""Noisy forms of queries: always the same ones, never the query itself, never more changed than is stated."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goldbench.records.corpus import Evidence
from goldbench.records.query import Query, QueryKind, Turn
from goldbench.stages.noise import MOST, Noise, noisy_forms, noisy_text
from goldbench.text.draws import Draws

QUERIES = {
    "en": "How does the circulation pump start when the old tank is not full?",
    "de": "Wie groß ist die Öffnung der Ventile im neuen Gerät?",
    "ru": "Как запустить циркуляционный насос без воды",
    "zh": "如何在没有水的情况下启动循环泵",
    "hi": "पानी के बिना पंप कैसे चालू करें",
    "th": "จะเปิดปั๊มน้ำโดยไม่มีน้ำได้อย่างไร",
}


def query(text: str, language: str | None = None, name: str = "q1") -> Query:
    return Query(query_id=name, text=text, chunk_id="c1", generator="m/generate.v1", language=language)


def distance(one: str, other: str) -> int:
    """The fewest letters put in, taken out or replaced that make one text of the other."""
    row = list(range(len(other) + 1))
    for at, letter in enumerate(one, 1):
        above, row = row, [at]
        for position, found in enumerate(other, 1):
            row.append(min(above[position] + 1, row[-1] + 1, above[position - 1] + (letter != found)))
    return row[-1]


@pytest.mark.parametrize("language", QUERIES)
def test_every_language_has_noisy_forms_that_keep_to_the_stated_share(language: str) -> None:
    text = QUERIES[language]
    seen = set()
    for number in range(15):
        for form in noisy_forms(query(text, language, f"q{number}"), most=4):
            noise = Noise(str(form.noise))
            seen.add(noise)
            assert form.text not in {"", text}
            if noise is Noise.TYPING:  # an exchange of two letters counts as two
                assert 1 <= distance(text, form.text) <= 2 * max(1, MOST[noise] * len(text))
            elif noise is Noise.DROPPED_WORDS:
                before, after = text.split(), form.text.split()
                assert 1 <= len(before) - len(after) <= MOST[noise] * len(before)
                words = iter(before)
                assert all(word in words for word in after)
    assert (Noise.TYPING in seen) is (language not in {"zh", "th"})


@settings(max_examples=100, deadline=None)
@given(text=st.text(max_size=80), number=st.integers(0, 5), language=st.sampled_from([None, *QUERIES, "tr", "zh-TW"]))
def test_any_text_has_the_same_forms_again_and_never_itself(text: str, number: int, language: str | None) -> None:
    asked = query(text, language, f"q{number}")
    forms = noisy_forms(asked, most=4)
    assert forms == noisy_forms(asked, most=4)
    assert forms[:1] == noisy_forms(asked)
    assert len({form.noise for form in forms}) == len(forms)
    assert all(form.text.strip() not in {"", text.strip()} for form in forms)


@settings(max_examples=100, deadline=None)
@given(
    words=st.lists(
        st.sampled_from(
            "pump starts the X-200 3.5 HTTP get_name iPhone E42 a/b v1.2 not C C++".split()  # noqa: SIM905 - as in text
        ),
        min_size=1,
        max_size=12,
    ),
    noise=st.sampled_from(Noise),
)
def test_numbers_identifiers_and_what_turns_the_meaning_round_stay(words: list[str], noise: Noise) -> None:
    text = " ".join(words)
    found = noisy_text(text, noise, Draws("test", text), language="en")
    kept = [word for word in words if re.search(r"[0-9_/+]|[A-Z]{2}|[a-z][A-Z]|^C$", word)]
    if found is not None:
        left = iter(found.split())
        assert all(word in left for word in kept)
        assert found.casefold().split().count("not") == words.count("not") or noise is Noise.TYPING


@pytest.mark.parametrize(
    ("language", "text", "word"),
    [
        ("en", "how to turn off the pump", "off"),
        ("de", "wie schaltet die Steuerung das Gerät ein", "ein"),
        ("tr", "bu pompa neden uygun değil", "değil"),
    ],
)
def test_no_word_that_carries_meaning_is_dropped(language: str, text: str, word: str) -> None:
    found = [noisy_text(text, Noise.DROPPED_WORDS, Draws("test", str(n)), language=language) for n in range(20)]
    assert all(word in one.split() for one in found if one)
    assert any(found) is (language != "tr")


@pytest.mark.parametrize("noise", Noise)
def test_names_stay(noise: Noise) -> None:
    for number in range(20):
        for text in ("Paris has how many people", "when did George Osier found the company in Zürich"):
            found = noisy_text(text, noise, Draws("test", str(number)), language="en") or text
            assert [word for word in text.split() if word[0].isupper()] == [
                word for word in found.split() if word in {"Paris", "George", "Osier", "Zürich"}
            ]


@pytest.mark.parametrize("text", ["東京の人口", "東京の人口 は いくつ ですか", "เปิดปั๊มน้ำ อย่างไร", "如何启动循环泵"])
def test_no_character_of_a_script_without_spaces_is_lost(text: str) -> None:
    for noise in Noise:
        for language in ("ja", "th", "zh", None):
            assert all(noisy_text(text, noise, Draws("test", str(n)), language=language) is None for n in range(10))


def test_quoted_words_stay() -> None:
    text = 'what does the option `install everything` do with "kernel headers" here'
    for number in range(15):
        for form in noisy_forms(query(text, "en", f"q{number}"), most=4):
            assert "`install everything`" in form.text
            assert '"kernel headers"' in form.text


def test_a_form_keeps_what_its_labels_rest_on_and_names_its_original() -> None:
    evidence = (Evidence(doc_id="d", start=0, end=4, quote="pump"),)
    asked = query(QUERIES["en"], "en").model_copy(
        update={
            "evidence": evidence, "answer": "slowly", "needs": ("c1", "c2"), "history": (Turn(question="why"),),
            "kind": QueryKind.MULTI_HOP,
        }
    )  # fmt: skip
    (form,) = noisy_forms(asked)
    assert (form.original, form.kind, form.generator) == ("q1", QueryKind.NOISY, "noise")
    for name in ("chunk_id", "evidence", "answer", "needs", "history", "language"):
        assert getattr(form, name) == getattr(asked, name)
    again = Query(**{name: getattr(form, name) for name in type(form).model_fields}, query_id="q2")
    assert noisy_forms(again) == ()


def test_the_noise_of_a_conversation_is_in_both_forms_of_its_question() -> None:
    turns = (Turn(question="Where is the old pump?", answer="Below the tank."),)
    asked = query(QUERIES["en"], "en").model_copy(
        update={"kind": QueryKind.CONVERSATIONAL, "history": turns, "standalone": "Is the old pump below the tank new?"}
    )
    forms = [form for n in range(10) for form in noisy_forms(asked.model_copy(update={"query_id": f"q{n}"}), most=4)]
    assert forms
    assert all(form.standalone not in {None, "", asked.standalone} and form.history == turns for form in forms)
