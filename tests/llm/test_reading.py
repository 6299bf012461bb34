"""Replies as models write them."""

from __future__ import annotations

import contextlib
import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goldbench.llm.reply import Misfit, read_answer, repeats_itself
from tests.llm.conftest import Verdict

GOOD = '{"reason": "because {it} says so, \\"really\\"", "grade": 2}'
ANSWER = Verdict(reason='because {it} says so, "really"', grade=2)


@pytest.mark.parametrize(
    "reply",
    [
        '{"query": "what is ' + "the pump of " * 12,
        '{"candidates": [' + '{"subject": "pump", "query": "What is a pump?"}, ' * 8,
        " ".join(f"{number % 7} of the pumps" for number in range(60)),
    ],
)
def test_a_reply_that_goes_round_in_circles_is_recognised(reply: str):
    assert repeats_itself(reply)


@pytest.mark.parametrize(
    "reply",
    [
        GOOD,
        "Lines of a table: 0 0 0 0 0 0 0 0.",
        '{"candidates": [' + ", ".join(f'{{"subject": "s{n}", "query": "What is number {n}?"}}' for n in range(12)),
        "The crew greases the pump. The crew greases the valve. The crew greases the crane. Nobody greases the mast.",
    ],
)
def test_a_reply_that_only_resembles_itself_does_not_repeat_itself(reply: str):
    assert not repeats_itself(reply)


@pytest.mark.parametrize(
    "reply",
    [
        GOOD,
        f"```json\n{GOOD}\n```",
        f"Sure! Here it is:\n```json\n{GOOD}\n```\nAnything else?",
        GOOD[:-1] + ",}",
        f'<think>Perhaps {{"reason": "no no", "grade": 0}}?</think>{GOOD}',
        f'Perhaps {{"reason": "no no", "grade": 0}}?\n</think>\n\n{GOOD}',
        f'A first draft: {{"reason": "no no", "grade": 0}}. Better: {GOOD}',
        f"Set {{a, b}} and {{x: 1}} do not matter. {GOOD}",
        f"[{GOOD}]",
        GOOD.replace('"grade"', "\n\t" + '"grade"'),
    ],
)
def test_an_answer_is_found(reply: str):
    assert read_answer(reply, Verdict) == ANSWER


def test_a_line_break_inside_a_string_is_read():
    assert read_answer('Well: {"reason": "two\nlines", "grade": 1}', Verdict).reason == "two\nlines"


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        ("", "json_invalid"),
        ("[]", "model_type"),
        ('{"reason": "because"}', "grade: missing"),
        ('{"reason": "because", "grade": 9}', "grade: less_than_equal"),
        ('{"reason": "because", "grade": 1, "SECRET KEY": 1}', "(unknown field): extra_forbidden"),
        ('{"reason": "x\\ud83d", "grade": 1}', ""),
    ],
)
def test_a_misfit_says_where_and_why_without_content(reply: str, problem: str):
    with pytest.raises(Misfit) as caught:
        read_answer(reply, Verdict)
    assert problem in str(caught.value)
    assert "SECRET" not in str(caught.value)
    assert "because" not in str(caught.value)


@pytest.mark.parametrize("reply", ["{" * 200_000, "<think>" * 20_000, ",}" * 100_000, '{"reason": "' + "x," * 200_000])
def test_hostile_replies_are_turned_down_quickly(reply: str):
    start = time.process_time()
    with pytest.raises(Misfit):
        read_answer(reply, Verdict)
    assert time.process_time() - start < 5


@given(st.text())
@settings(max_examples=100, deadline=None)
def test_any_text_is_an_answer_or_a_misfit(text: str):
    with contextlib.suppress(Misfit):
        read_answer(text, Verdict)


@given(st.text(min_size=3).filter(lambda t: "</" not in t and "```" not in t), st.integers(0, 3), st.text("abc .\n"))
@settings(max_examples=100, deadline=None)
def test_whatever_stands_around_it_the_object_is_found(reason: str, grade: int, noise: str):
    answer = Verdict(reason=reason, grade=grade)
    text = json.dumps(answer.model_dump(), ensure_ascii=False)
    for reply in (text, f"{noise}{text}{noise}", f"{noise}\n```json\n{text}\n```"):
        assert read_answer(reply, Verdict) == answer
