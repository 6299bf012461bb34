"""Where overlapping pieces come from."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldbench.text.alignment import locate


@st.composite
def cuttings(draw: st.DrawFn) -> tuple[str, list[tuple[int, int]]]:
    text = draw(st.text("ab ", min_size=1, max_size=60))
    spans = [(0, draw(st.integers(1, len(text))))]
    while spans[-1][1] < len(text):
        start, end = spans[-1]
        begin = draw(st.integers(start + 1, end))
        spans.append((begin, draw(st.integers(max(end, begin) + 1, len(text)))))
    return text, spans


@given(cuttings())
def test_pieces_of_repetitive_text_are_found_in_order_without_a_gap(cutting: tuple[str, list[tuple[int, int]]]) -> None:
    text, spans = cutting
    pieces = [text[start:end] for start, end in spans]
    starts = locate(text, pieces, overlap=len(text))
    ends = [start + len(piece) for start, piece in zip(starts, pieces, strict=True)]
    assert [text[start:end] for start, end in zip(starts, ends, strict=True)] == pieces
    assert starts[0] == 0
    assert ends[-1] == len(text)
    assert all(a < b <= end for a, b, end in zip(starts, starts[1:], ends, strict=False))


def test_of_several_places_the_one_the_cutter_would_choose_is_taken() -> None:
    assert locate("a" * 28, ["a" * 10] * 3, overlap=1) == [0, 9, 18]


def test_pieces_of_another_text_are_refused() -> None:
    with pytest.raises(RuntimeError, match="cannot be found"):
        locate("abcdef", ["abc", "xef"], overlap=3)


def test_pieces_that_stop_before_the_end_are_refused() -> None:
    with pytest.raises(RuntimeError, match="cannot be found"):
        locate("abcdef", ["abc", "de"], overlap=3)
