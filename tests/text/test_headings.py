"""The headings above a place in a Markdown text."""

import pytest

from goldbench.text.headings import MAX_TITLE, headings, path_at


def titles(text: str) -> list[tuple[str, ...]]:
    return [heading.path for heading in headings(text)]


def test_a_path_goes_from_the_outermost_heading_to_the_nearest() -> None:
    text = "# A\n\n## B\n\n### C\n\n## D\n\n# E\n"
    assert titles(text) == [("A",), ("A", "B"), ("A", "B", "C"), ("A", "D"), ("E",)]


def test_underlined_headings_are_headings() -> None:
    assert titles("Pumps\n=====\n\ntext\n\nSeals\n-----\n\ntext\n") == [("Pumps",), ("Pumps", "Seals")]


@pytest.mark.parametrize(
    "text",
    [
        "```sh\n# a comment\n```\n",
        "---\ntitle: x\n---\n\ntext\n",
        "#no space\n",
        "a paragraph\nof two lines\n---\n",
        "# " + "x" * (MAX_TITLE + 1) + "\n",
    ],
    ids=range(5),
)
def test_what_only_looks_like_a_heading_is_none(text: str) -> None:
    assert titles(text) == []


def test_a_fence_that_ends_is_over() -> None:
    assert titles("```\n# no\n```\n# yes\n") == [("yes",)]


def test_decoration_is_left_out_of_the_title() -> None:
    assert titles("## **Bold** [link](http://x/y) `code` ## \n### Anchor {#here}\n") == [
        ("Bold link code",),
        ("Bold link code", "Anchor"),
    ]


def test_headings_a_passage_opens_with_are_its_own_and_later_ones_are_not() -> None:
    text = "# A\n\n## B\n\nbody\n\n## C\n\nmore"
    found = headings(text)
    assert path_at(found, text, 0, len(text)) == ("A", "B")
    assert path_at(found, text, text.index("body"), len(text)) == ("A", "B")
    assert path_at(found, text, text.index("## C"), len(text)) == ("A", "C")
    assert path_at(found, text, text.index("more"), len(text)) == ("A", "C")


def test_before_the_first_heading_there_is_no_path() -> None:
    text = "intro\n\n# A\n"
    assert path_at(headings(text), text, 0, 5) == ()
