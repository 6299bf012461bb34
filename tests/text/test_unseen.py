"""Characters that nobody sees are left out and counted; those that a script or an emoji needs stay."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from goldbench.text.unseen import without_unseen


@pytest.mark.parametrize(
    ("text", "expected", "count"),
    [
        ("plain\ttext\n", "plain\ttext\n", 0),
        ("a\x00b\x07c\x7f\x9f", "abc", 4),
        ("a \x1b[1;31mred\x1b[0m word", "a red word", 11),
        ("soft\u00adware, zero\u200bwidth\u2060\ufeff", "software, zerowidth", 4),
        ("f\u200cl or f\u200dl", "fl or fl", 2),
        ("\U0001f3f4" + "".join(chr(0xE0000 + ord(c)) for c in "grade 3"), "\U0001f3f4", 7),
        ("❤\ufe0f\ufe0e\ufe01\ufe02!", "❤\ufe0f!", 3),
        ("❤\ufe0f\u200d\ufe0f\u200d\ufe0f\u200c🔥", "❤\ufe0f\u200d🔥", 4),
        ("one\x0ctwo\r\nthree\rfour\u2028five\x85six", "one\ntwo\nthree\nfour\nfive\nsix", 0),
    ],
)
def test_what_nobody_sees_is_left_out_and_counted(text: str, expected: str, count: int) -> None:
    assert without_unseen(text) == (expected, count)


@pytest.mark.parametrize(
    "text",
    [
        "می\u200cخواهم",  # Persian
        "क्\u200dष और क्\u200cष",  # Devanagari
        "👩\u200d🔬 👨🏽\u200d🚀 ❤\ufe0f\u200d🔥",
        "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",  # flag of England
        "ភាសា\u200bខ្មែរ",
        "🏴\u200d☠\ufe0f 1\ufe0f\u20e3 ≨\ufe00",
    ],
)
def test_what_a_script_or_an_emoji_needs_stays(text: str) -> None:
    assert without_unseen(text) == (text, 0)


@given(st.text(alphabet="a葛❤🔥\ufe00\ufe0f\U000e0100\u200c\u200d\u200b\U0001f3f4\U000e0067\U000e007f"))
@example("葛\U000e0100\ufe00\u200c")
@example("葛\U000e0100\u2060\ufe0f\u200c\u2060\ufe0f")
def test_hidden_characters_in_any_order_are_left_out_at_once(text: str) -> None:
    kept, _ = without_unseen(text)
    assert without_unseen(kept) == (kept, 0)
