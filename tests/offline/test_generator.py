"""The generator that needs no model: what it promises about its queries, whatever it is given."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest
import regex
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from goldbench.offline.generator import OfflineGenerator
from goldbench.records.query import Constraints, QueryStyle
from goldbench.text.words import words
from tests.benchmarks.collections import load
from tests.offline.examples import brief, chunk, fitted, manual, manual_page, proposed


def test_evidence_is_the_words_of_the_document_at_its_offsets() -> None:
    document = manual_page(1) + "\n" + manual_page(2)
    asked = chunk(document[100:], start=100)
    for seed in range(5):
        for candidate in proposed(fitted([asked, *manual(20)], seed), asked).candidates:
            for item in candidate.evidence:
                assert item.quote == document[item.start : item.end]
                assert asked.span.contains(item)
                assert 0 < len(item.quote) <= 300
            assert candidate.quote == candidate.evidence[0].quote


def test_every_passage_with_words_gets_keywords() -> None:
    chunks = manual(30)
    generator = fitted(chunks)
    candidates = [candidate for asked in chunks for candidate in proposed(generator, asked).candidates]
    assert len(candidates) == 30
    assert all(candidate.is_simulated for candidate in candidates)
    assert {candidate.style for candidate in candidates} == {QueryStyle.KEYWORDS}


def test_the_order_of_the_chunks_changes_nothing() -> None:
    chunks = manual(40)
    shuffled = random.Random(7).sample(chunks, len(chunks))
    first, second = fitted(chunks), fitted(shuffled)
    assert [proposed(first, asked) for asked in chunks] == [proposed(second, asked) for asked in chunks]


def test_a_rewrite_is_another_wording_and_remembers_the_first() -> None:
    chunks = manual(30)
    generator = fitted(chunks)
    for asked in chunks:
        (candidate,) = proposed(generator, asked).candidates
        other = asyncio.run(generator.rewrite(brief(asked), candidate, "It copies its text."))
        assert other is not None
        assert other.text != candidate.text
        assert other.first_text == candidate.text


def test_a_query_takes_words_only_from_texts_in_the_language_of_its_passage() -> None:
    german = [
        f"Techniker prüfen die Pumpe K-{number} jede Woche und reinigen den Filter F-{number} vor dem ersten Frost. "
        f"Danach schmieren sie das Ventil V-{number} und notieren den Druck der Anlage im Buch der Station."
        for number in range(4)
    ]
    english = [
        f"Technicians inspect the pump K-{number} every week and clean the filter F-{number} before the first frost. "
        f"Afterwards they grease the valve V-{number} and note the pressure of the plant in the book of the station."
        for number in range(8)
    ]
    chunks = [chunk(text, str(number)) for number, text in enumerate([*german, *english])]
    foreign = {"the", "what", "how", "is", *words(" ".join(english).lower())} - {"in", *words(" ".join(german).lower())}
    for seed in range(3):
        generator = fitted(chunks, seed=seed)
        for asked in chunks[:4]:
            (candidate,) = proposed(generator, asked).candidates
            other = asyncio.run(generator.rewrite(brief(asked), candidate, "It copies its text."))
            texts = [candidate.text] if other is None else [candidate.text, other.text]
            assert not foreign & set(words(" ".join(texts))), texts


def test_several_queries_of_one_chunk_differ() -> None:
    chunks = manual(20)
    generator = fitted(chunks)
    for asked in chunks:
        candidates = proposed(generator, asked, Constraints(per_chunk=3)).candidates
        assert len({candidate.text for candidate in candidates}) == len(candidates) == 3


@pytest.mark.parametrize(
    "text",
    [
        "",
        "| 12.5 | 13.1 | 8.2 |\n|------|------|-----|\n| 11.0 | 10.9 | 7.7 |\n| 10.1 | 9.3 | 6.0 |",
        "the of and to in is that it with as for was on are by this be at from or an which",
        "if (a[i] != b[i]) { x += 1; } else { y -= 1; } /* :: -> => && || */",
    ],
)
def test_what_nothing_can_be_asked_of_is_skipped_with_a_reason(text: str) -> None:
    asked = chunk(text)
    proposal = proposed(fitted([asked, *manual(10)]), asked)
    assert not proposal.candidates
    assert proposal.skip_reason
    assert "\n" not in proposal.skip_reason


def test_a_corpus_of_one_chunk_and_an_empty_corpus_can_be_fitted() -> None:
    asked = manual(1)[0]
    assert proposed(fitted([asked]), asked).candidates
    fitted([])


@pytest.mark.parametrize("language", ["zh", "th", "ar"])
def test_real_text_in_other_scripts_gives_queries_in_its_own_script(collections: Path, language: str) -> None:
    documents = load(collections / f"xquad_{language}").documents[:60]
    chunks = [chunk(text, str(number)) for number, text in enumerate(documents)]
    generator = fitted(chunks)
    proposals = [proposed(generator, asked) for asked in chunks]
    assert sum(bool(proposal.candidates) for proposal in proposals) >= 54
    for asked, proposal in zip(chunks, proposals, strict=True):
        for candidate in proposal.candidates:
            assert len(words(candidate.text)) >= 2
            assert candidate.evidence[0].quote in asked.text


CONSTRAINTS = st.builds(
    Constraints,
    per_chunk=st.integers(1, 3),
    min_words=st.integers(1, 4),
    max_words=st.integers(4, 12),
    max_characters=st.none() | st.integers(5, 80),
    banned=st.lists(st.sampled_from(["pump", "the", "e", "technicians"]), max_size=2).map(tuple),
    punctuation=st.booleans(),
    option_lists=st.booleans(),
    numbering=st.booleans(),
)


@settings(max_examples=40, deadline=None)
@given(rules=CONSTRAINTS, page=st.integers(0, 500), seed=st.integers(0, 99))
def test_every_query_obeys_the_constraints(rules: Constraints, page: int, seed: int) -> None:
    asked = chunk(manual_page(page) + " Re-use the O-ring (v2.1), don't discard it: it's rated for 120 °C.", "asked")
    proposal = proposed(fitted([asked, *manual(8)], seed), asked, rules)
    assert len(proposal.candidates) <= rules.per_chunk
    assert bool(proposal.candidates) != bool(proposal.skip_reason)
    for candidate in proposal.candidates:
        text = candidate.text
        assert rules.min_words <= len(words(text)) <= rules.max_words
        assert rules.max_characters is None or len(text) <= rules.max_characters
        assert not any(word in text.lower() for word in rules.banned)
        assert rules.punctuation or not regex.search(r"\p{P}", text)
        assert text == " ".join(text.split())


@pytest.fixture(scope="module")
def generator() -> OfflineGenerator:
    return fitted(manual(8))


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(max_size=400))
def test_any_text_gets_a_query_or_a_reason(generator: OfflineGenerator, text: str) -> None:
    proposal = proposed(generator, chunk(text))
    assert bool(proposal.candidates) != bool(proposal.skip_reason)
    for candidate in proposal.candidates:
        assert not regex.search(r"[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]", candidate.text)
