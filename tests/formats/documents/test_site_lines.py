"""Lines and names that most pages of a site share are left out and counted; code, tables and headings in use stay."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from goldbench.formats.documents.fields import ReadOptions
from goldbench.formats.documents.identity import fingerprint
from goldbench.formats.documents.site_lines import LeftOutLines, without_lines
from goldbench.formats.documents.sources import find_files
from goldbench.records.corpus import Document
from tests.formats.documents.reading import documents_of

FIRST = "<p>The pump number {n} runs until tank {n} is full.</p>"


def site(folder: Path, bodies: list[str], *, title: str = "Pump {n}") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for number, body in enumerate(bodies):
        page = f"<title>{title}</title><body>{body}{FIRST}</body>".replace("{n}", str(number))
        (folder / f"{number}.html").write_text(page)


def read(*folders: Path, limit: int | None = None) -> tuple[list[Document], int]:
    counts: list[LeftOutLines] = []
    files = find_files([str(folder) for folder in folders]).files
    options = ReadOptions(limit_documents=limit)
    documents = list(documents_of(files, options, on_failure=pytest.fail, on_left_out=counts.append))
    return documents, counts[0].lines


def own(number: int) -> str:
    return f"The pump number {number} runs until tank {number} is full."


def test_a_line_of_most_pages_is_left_out_and_counted(tmp_path: Path) -> None:
    site(tmp_path, ["<p>Subscribe to our letter!</p>"] * 4 + ["<p>Only here.</p>"] * 3)
    documents, lines = read(tmp_path)
    assert [document.text for document in documents[:4]] == [own(number) for number in range(4)]
    assert documents[4].text == f"Only here.\n\n{own(4)}"
    assert lines == 4


def test_half_of_the_pages_and_fewer_than_five_pages_are_not_enough(tmp_path: Path) -> None:
    site(tmp_path / "half", ["<p>Subscribe!</p>"] * 3 + [""] * 3)
    site(tmp_path / "few", ["<p>Subscribe!</p>"] * 4)
    for name in ("half", "few"):
        documents, lines = read(tmp_path / name)
        assert (documents[0].text, lines) == (f"Subscribe!\n\n{own(0)}", 0)


def test_one_more_page_changes_only_lines_at_the_threshold(tmp_path: Path) -> None:
    bodies = ["<p>On all.</p><p>On half.</p>"] * 5 + ["<p>On all.</p>"] * 4
    site(tmp_path, bodies)
    before = [document.text for document in read(tmp_path)[0]]
    site(tmp_path, [*bodies, "<p>On all.</p>"])
    after = [document.text for document in read(tmp_path)[0]]
    assert before[:9] == [own(number) for number in range(9)]
    assert after == [f"On half.\n\n{text}" for text in before[:5]] + [*before[5:], own(9)]


def test_code_and_tables_with_rows_of_their_own_stay(tmp_path: Path) -> None:
    table = "<table><tr><th>Name</th><th>Use</th></tr><tr><td>p{n}</td><td>x</td></tr></table>"
    site(tmp_path, [f"<pre>import pump</pre>{table}"] * 6)
    assert [document.text for document in read(tmp_path)[0]] == [
        f"```\nimport pump\n```\n\n| Name | Use |\n| --- | --- |\n| p{number} | x |\n\n{own(number)}"
        for number in range(6)
    ]


def test_a_heading_goes_with_what_stands_below_it_or_if_it_names_the_site(tmp_path: Path) -> None:
    end = "<h2>Letter</h2><p>Subscribe!</p>"
    site(tmp_path, [f"<h1>Pumps Ltd</h1><h2>Name</h2><p>p{{n}}</p>{end}<h2>Use</h2>"] * 6)
    assert [document.text for document in read(tmp_path)[0]] == [
        f"## Name\n\np{number}\n\n## Use\n\n{own(number)}" for number in range(6)
    ]


def test_a_paragraph_is_a_line(tmp_path: Path) -> None:
    site(tmp_path, ["<p>Pump {n} belongs\nto the following house:\nNorth {n}</p>"] * 6)
    assert read(tmp_path)[0][0].text == f"Pump 0 belongs to the following house: North 0\n\n{own(0)}"


def test_the_lines_that_were_left_out_are_listed_with_their_pages(tmp_path: Path) -> None:
    lines = "".join(f"<p>Common line {number} {'x' * 200}</p>" for number in range(70))
    site(tmp_path, [lines] * 6)
    found: list[LeftOutLines] = []
    files = find_files([str(tmp_path)]).files
    list(documents_of(files, on_failure=pytest.fail, on_left_out=found.append))
    assert found[0].lines == 6 * 70
    assert len(found[0].shared) == 50
    assert {line.pages for line in found[0].shared} == {6}
    assert max(len(line.line) for line in found[0].shared) == 100


def test_a_page_that_holds_nothing_else_stays(tmp_path: Path) -> None:
    site(tmp_path, ["<p>Subscribe!</p>"] * 6)
    (tmp_path / "x.html").write_text("<p>Subscribe!</p>")
    assert read(tmp_path)[0][-1].text == "Subscribe!"


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Pump {n} — Pumps 3.1 documentation", "Pump 0"),
        ("Pump {n} - use {n} | Pumps Ltd", "Pump 0 - use 0"),
        ("Pumps: Manual: Pump {n}: use {n}", "Pump 0: use 0"),
        ("Pump {n} :: Guide :: Pumps", "Pump 0"),
        ("Pump {n} (model {n})", "Pump 0 (model 0)"),
        ("Pump {n}", "Pump 0"),
        ("Pump {n} — Pumps 3.1{n} documentation", "Pump 0 — Pumps 3.10 documentation"),
        ("Pump {n} — Release {n}", "Pump 0 — Release 0"),
        ("Pumps 3.1{n} manual", "Pumps 3.10 manual"),
        ("Pumps Ltd", "Heading 0"),
    ],
)
def test_a_title_is_without_the_name_of_the_site(tmp_path: Path, title: str, expected: str) -> None:
    site(tmp_path, ["<h1>Heading {n}</h1>"] * 6, title=title)
    assert read(tmp_path)[0][0].title == expected


def test_the_order_of_pages_changes_nothing_and_a_limit_reads_the_first_ones(tmp_path: Path) -> None:
    site(tmp_path, ["<p>Subscribe!</p>"] * 9)
    (tmp_path / "0.txt").write_text("text")
    documents, _ = read(tmp_path)
    assert [document.source for document in documents] == sorted(document.source for document in documents)
    assert read(tmp_path, limit=8)[0] == documents[:8]


@pytest.mark.parametrize("lines", list(itertools.product(["# A", "## B", "b", "c", "```", "| x |", ""], repeat=3)))
def test_no_line_that_is_not_shared_is_lost(lines: tuple[str, ...]) -> None:
    shared = {"# a", "## b", "b", "| x |"}
    text = "\n".join([*lines, "own"])
    kept, gone = without_lines(text, frozenset(fingerprint(line.encode()) for line in shared))
    words = [line for line in [*lines, "own"] if line]
    assert len([line for line in kept.split("\n") if line]) == len(words) - len(gone)
    assert [line for line in kept.split("\n") if line and line.lower() not in shared] == [
        line for line in words if line.lower() not in shared
    ]
