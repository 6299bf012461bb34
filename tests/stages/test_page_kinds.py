"""Indexes, search pages and lists of changes are not asked about; pages that sound like them are."""

from __future__ import annotations

import pytest

from goldbench.pipeline.stages.select import select
from goldbench.pipeline.stages.select.page_kinds import page_fault
from goldbench.schemas.corpus import Chunk, Span

PROSE = (
    "The pump runs until the tank is full, which takes about twenty minutes with the standard hose. When the float "
    "reaches the upper mark, the switch opens and the motor stops by itself. Clean the filter once a month, since "
    "version 2.1 of the housing has no lid."
)
NAMES = "\n".join(f"- pump_{number}() (in module tank)" for number in range(30))


def chunk(text: str, *, title: str = "", name: str = "page", headings: tuple[str, ...] = (), start: int = 0) -> Chunk:
    doc_id = f"{name}-0123456789"
    span = Span(doc_id=doc_id, start=start, end=start + len(text))
    return Chunk(chunk_id=f"{doc_id}:{start}-{span.end}", span=span, text=text, headings=headings, title=title)


@pytest.mark.parametrize(
    ("text", "title", "name", "rule"),
    [
        (NAMES, "", "genindex-A", "index-page"),
        (PROSE, "Python Module Index", "py-modindex", "index-page"),
        (NAMES, "Index", "all", "index-page"),
        (NAMES, "Stichwortverzeichnis", "all", "index-page"),
        (NAMES, "索引", "all", "index-page"),
        (NAMES, "Содержание — Насосы", "all", "index-page"),
        (NAMES, "Table of Contents | Pumps", "all", "index-page"),
        (PROSE, "Search", "search", "index-page"),
        (PROSE, "Changelog", "page", "changelog"),
        (PROSE, "Changes — Pumps 3.1", "page", "changelog"),
        (PROSE, "Pumps", "CHANGES", "changelog"),
        (PROSE, "What’s New In Pumps 3.1", "3-1", "changelog"),
        (PROSE, "E.2. Release 15.1", "release-15-1", "changelog"),
        (PROSE, "Pumps 3.1 release notes", "3-1", "changelog"),
        (PROSE, "Versionshinweise", "page", "changelog"),
        (PROSE, "更新日志", "page", "changelog"),
    ],
)
def test_lists_of_names_and_changes_are_rejected(text: str, title: str, name: str, rule: str) -> None:
    assert page_fault(chunk(text, title=title, name=name)) == rule


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("The pump", "index"),
        ("Index types", "indexes-types"),
        ("Search", "full-text-search"),
        ("Searching a tank", "searching"),
        ("Contents of a tank", "contents-of-a-tank"),
        ("How to write a changelog", "writing-a-changelog"),
        ("Release 3 valves at once", "valves"),
        ("Glossary", "glossary"),
        ("Release management", "releases"),
        ("What changes when a pump ages", "ageing"),
        ("Register", "cash-register"),
        ("Version control", "git"),
    ],
)
def test_pages_that_sound_alike_are_asked_about(title: str, name: str) -> None:
    assert page_fault(chunk(PROSE * 2, title=title, name=name)) is None


def test_a_section_of_changes_is_rejected_and_a_page_of_changes_without_a_version_is_not() -> None:
    assert page_fault(chunk(PROSE, title="Pumps", headings=("Pumps", "Release history"))) == "changelog"
    assert page_fault(chunk(PROSE.replace("2.1", "two"), title="Changes")) is None


def test_selection_counts_such_chunks_by_their_rule_and_takes_rows_of_tables_as_they_are() -> None:
    class Chunks(list[Chunk]):
        def at(self, position: int) -> Chunk:
            return self[position]

    chunks = Chunks([chunk(PROSE, title="Changelog", name="a"), chunk(PROSE[::-1], title="The pump", name="b")])
    chosen = select(chunks, seed=1)
    assert (chosen.ineligible["changelog"], len(chosen.order)) == (1, 1)
    assert "changelog" not in select(chunks, seed=1, ready=True).ineligible
