"""Indexes, search pages and lists of changes are not asked about; pages that sound like them are."""

from __future__ import annotations

import pytest

from goldbench.records.corpus import Chunk, Span
from goldbench.stages.select import select
from goldbench.stages.select.page_kinds import page_fault

PROSE = (
    "The pump runs until the tank is full, which takes about twenty minutes with the standard hose. When the float "
    "reaches the upper mark, the switch opens and the motor stops by itself. Clean the filter once a month, since "
    "version 2.1 of the housing has no lid."
)
NAMES = "\n".join(f"- pump_{number}() (in module tank)" for number in range(30))
CHANGES = (
    "## 3.1 (2024-01-02)\n\n- The pump stops by itself when the tank is full.\n- The filter needs no tools.\n\n"
    "## 3.0\n\n- The housing has no lid.\n"
)
"""What changed in two versions."""


def chunk(text: str, *, title: str = "", name: str = "page", headings: tuple[str, ...] = (), start: int = 0) -> Chunk:
    doc_id = f"{name}-0123456789"
    span = Span(doc_id=doc_id, start=start, end=start + len(text))
    return Chunk(chunk_id=f"{doc_id}:{start}-{span.end}", span=span, text=text, headings=headings, title=title)


@pytest.mark.parametrize(
    ("text", "title", "name", "rule"),
    [
        (NAMES, "", "genindex-A", "index-page"),
        (PROSE, "Python Module Index", "py-modindex", "index-page"),
        (NAMES, "Stichwortverzeichnis", "all", "index-page"),
        (NAMES, "Concept Index (pumps)", "all", "index-page"),
        (PROSE, "Search", "search", "index-page"),
        (CHANGES, "Changelog", "page", "changelog"),
        (CHANGES, "Pumps", "CHANGES", "changelog"),
        (CHANGES, "Pumps 3.1 release notes", "3-1", "changelog"),
        (CHANGES, "更新日志", "page", "changelog"),
        ("2024-03-01: The lid is gone.\n2024-02-07: The pump is quiet.", "What's new", "page", "changelog"),
    ],
)
def test_lists_of_names_and_changes_are_rejected(text: str, title: str, name: str, rule: str) -> None:
    assert page_fault(chunk(text, title=title, name=name)) == rule


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Search", "full-text-search"),
        ("How to write a changelog", "writing-a-changelog"),
        ("Release 3 valves at once", "valves"),
        ("Version control", "git"),
        ("Changes in the Water Act 2021", "act"),
        ("Release notes 2.3", "notes"),
        ("What’s New In Pumps 3.1", "3-1"),
    ],
)
def test_pages_that_sound_alike_are_asked_about(title: str, name: str) -> None:
    text = f"{PROSE * 2}\n\n- Bolts of 3.5 mm hold the lid.\n- 4.5 mm is too thick.\n"
    assert page_fault(chunk(text, title=title, name=name)) is None


def test_a_list_of_one_version_is_rejected_on_a_page_of_many_and_asked_about_on_a_page_of_its_own() -> None:
    items = "- The pump stops by itself.\n- The filter can be cleaned."
    assert page_fault(chunk(items, title="Changelog", headings=("Changelog", "Pumps 3.1"))) == "changelog"
    assert page_fault(chunk(f"## 3.1\n{items}", title="Pumps", headings=("Pumps", "Release history"))) == "changelog"
    assert page_fault(chunk(f"## 3.1\n{items}", title="Release notes 3.1")) is None
    assert page_fault(chunk(items, title="Changes")) is None
    assert page_fault(chunk(PROSE, title="Changes")) is None


def test_selection_counts_such_chunks_by_their_rule_and_takes_rows_of_tables_as_they_are() -> None:
    class Chunks(list[Chunk]):
        def at(self, position: int) -> Chunk:
            return self[position]

    chunks = Chunks(
        [chunk(CHANGES + PROSE, title="Changelog", name="a"), chunk(PROSE[::-1], title="The pump", name="b")]
    )
    chosen = select(chunks, seed=1)
    assert (chosen.ineligible["changelog"], len(chosen.order)) == (1, 1)
    assert "changelog" not in select(chunks, seed=1, ready=True).ineligible
