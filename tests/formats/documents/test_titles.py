"""Titles of Markdown texts: without the marks that close a heading; a long line takes time by its length."""

from __future__ import annotations

import time

import pytest

from goldbench.formats.documents.titles import markdown_title
from goldbench.text.headings import headings


@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("# Pumps", "Pumps"),
        ("# Pumps ##  ", "Pumps"),
        ("# C#", "C#"),
        ("# Pumps #1", "Pumps #1"),
        ("#\tPumps\t#\t", "Pumps"),
        ("## Lower ##", "Lower"),
    ],
)
def test_a_heading_is_the_title_without_the_marks_that_close_it(line: str, title: str) -> None:
    assert markdown_title(f"{line}\n\nWords.") == title
    assert headings(f"{line}\n\nWords.")[0].path == (title,)


@pytest.mark.parametrize("piece", ["# a{}b\n", "# a{}", "## a{}#b\n", "#{}\n"])
def test_a_title_with_a_run_of_spaces_takes_time_by_its_length(piece: str) -> None:
    text = piece.format(" " * 400_000)
    started = time.process_time()
    markdown_title(text)
    headings(text)
    assert time.process_time() - started < 0.5  # a few milliseconds; the square of the length took minutes
