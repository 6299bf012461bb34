"""Which vendor a model is from, and which roles one vendor must not have together."""

from __future__ import annotations

import pytest

from goldbench.card.label_figures import overlapping, vendor_of


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("gpt-4o-mini", "OpenAI"),
        ("openai/o3-mini", "OpenAI"),
        ("meta-llama/Llama-3.1-70B-Instruct", "Meta"),
        ("all-MiniLM-L6-v2", "sentence-transformers"),
        ("bm25", None),
        ("photos", None),
    ],
)
def test_a_vendor_is_known_by_the_name_or_not_at_all(name: str, expected: str | None) -> None:
    assert vendor_of(name) == expected


def test_generator_and_judge_of_one_vendor_are_named() -> None:
    models = {
        "generator": [("gpt-4o", "OpenAI")],
        "judge": [("gpt-5", "OpenAI"), ("claude", "Anthropic")],
        "embedder": [],
        "evaluated": [("bm25", None)],
    }
    assert overlapping(models) == ["generator and judge are OpenAI"]


def test_unknown_vendors_never_overlap_unless_they_are_one_model() -> None:
    parties = {role: [] for role in ("embedder", "evaluated")}
    assert overlapping({**parties, "generator": [("x", None)], "judge": [("y", None)]}) == []
    assert overlapping({**parties, "generator": [("x", None)], "judge": [("x", None)]}) == ["generator and judge are x"]
