"""Documents in: whole files to records, from the folder to the last character."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from goldbench.errors import UnreadableDocument
from goldbench.formats.documents.html_text import html_to_text
from goldbench.formats.documents.identity import document_id, row_id, slug
from goldbench.formats.documents.site_lines import LeftOutLines
from goldbench.formats.documents.sources import find_files
from goldbench.formats.documents.titles import markdown_title
from goldbench.formats.documents.worker_pool import DocumentLimits
from goldbench.records.record import Id
from goldbench.text.headings import headings
from tests.conftest import posix
from tests.formats.documents.reading import documents_of, read


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def test_text_is_kept_to_the_last_character(tmp_path: Path) -> None:
    text = "\n  e\u0301 é \u200b \u202eשלום\u202c \U0001f469\u200d\U0001f680 nul\0 tab\t| end  \n\n\n"
    for name in ("a.txt", "a.md", "a.adoc"):
        put(tmp_path / name, text)
    assert read(tmp_path).texts == [text] * 3


def test_characters_that_nobody_sees_are_left_out_of_converted_files_and_counted(tmp_path: Path) -> None:
    put(tmp_path / "a.txt", "pu\u00admp\x07")
    put(tmp_path / "b.html", "<title>T\u200bank</title><p>val\u202eve</p>")
    put(tmp_path / "c.csv", "title,text\nPipe,wa\u200bter\n")
    found: list[LeftOutLines] = []
    files = find_files([str(tmp_path)]).files
    documents = list(documents_of(files, on_failure=pytest.fail, on_left_out=found.append))
    kept = [("a", "pu\u00admp\x07"), ("Tank", "valve"), ("Pipe", "wa\u200bter")]
    assert [(document.title, document.text) for document in documents] == kept
    assert found[0].unseen == 2


def test_ids_come_from_the_relative_path_and_of_rows_from_content_only(tmp_path: Path) -> None:
    for number in range(20):
        put(tmp_path / f"docs/{number % 3}/{number}.md", f"# Page {number}\n\ntext")
    put(tmp_path / "docs/rows.csv", "text,n\na,1\nb,2\n")
    put(tmp_path / "docs/page.html", "<h1>Title</h1><p>text")
    before = read(tmp_path / "docs").documents
    shutil.move(tmp_path / "docs", tmp_path / "moved")
    assert read(tmp_path / "moved").documents == before


def test_one_more_document_changes_no_other(tmp_path: Path) -> None:
    put(tmp_path / "b.txt", "one")
    before = read(tmp_path).documents
    put(tmp_path / "a.txt", "two")
    assert read(tmp_path).documents[1:] == before


def test_an_edited_file_keeps_its_id_and_an_edited_row_does_not(tmp_path: Path) -> None:
    first = read(put(tmp_path / "a.txt", "one")).ids
    assert read(put(tmp_path / "a.txt", "two")).ids == first
    before = read(put(tmp_path / "a.csv", "text,n\none,1\ntwo,2\n")).ids
    after = read(put(tmp_path / "a.csv", "text,n\nnone,1\ntwo,2\n")).ids
    assert before[0] != after[0]
    assert before[1] == after[1]


@pytest.mark.parametrize("folders", [("en", "de"), ("x/docs", "y/docs"), ("docs", "docs/old/docs")])
def test_files_of_one_source_are_told_apart_by_their_folders_in_any_order_and_after_an_edit(
    tmp_path: Path, folders: tuple[str, str]
) -> None:
    one, other = (tmp_path / folder / "guide" / "index.md" for folder in folders)
    put(one, "The guide.")
    put(other, "Die Anleitung.")
    roots = [tmp_path / folder for folder in folders]

    def ids() -> dict[str, str]:
        outcomes = [read(*order) for order in (roots, roots[::-1])]
        first, second = (dict(zip(outcome.texts, outcome.ids, strict=True)) for outcome in outcomes)
        assert first == second
        return first

    before = ids()
    put(one, "The new guide.")
    after = ids()
    assert before["The guide."] == after["The new guide."] != before["Die Anleitung."] == after["Die Anleitung."]


def test_the_same_text_from_the_same_source_is_read_once_in_whatever_encoding(tmp_path: Path) -> None:
    put(tmp_path / "v1/a.txt", "schön")
    put(tmp_path / "v2/a.txt", "").write_bytes("schön".encode("utf-16"))
    assert read(tmp_path / "v1", tmp_path / "v2").texts == ["schön"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("安装指南.md", "安装指南"),
        ("Ünïcode name (v2).final.txt", "Ünïcode-name-v2-final"),
        ("हिन्दी.txt", "हिन्दी"),
        ("...", "document"),
        ("###.txt", "document"),
        ("x" * 100 + ".txt", "x" * 60),
        ("README", "README"),
    ],
)
def test_a_slug_keeps_letters_of_any_script(name: str, expected: str) -> None:
    assert slug(name) == expected


@given(st.text(st.characters(exclude_categories=["Cs"])), st.text(st.characters(exclude_categories=["Cs"])))
def test_every_id_made_is_an_id(name: str, text: str) -> None:
    source = unicodedata.normalize("NFC", f"folder/{name}.txt")
    for made in (document_id(source, text), row_id(source, text.encode(), 3)):
        assert TypeAdapter(Id).validate_python(made) == made


def test_limit_documents_takes_the_first_in_order_and_reads_no_more(tmp_path: Path) -> None:
    put(tmp_path / "a.txt", "a")
    put(tmp_path / "b.csv", "text,n\nb,1\nc,2\n")
    put(tmp_path / "c.txt", "")
    outcome = read(tmp_path, limit_documents=2)
    assert outcome.texts == ["a", "b"]
    assert outcome.failures == []


@pytest.mark.parametrize("content", [b"", b" \n\t\r\n", b"\xef\xbb\xbf", b"\xff\xfe"])
def test_a_file_without_text_is_empty(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.txt").write_bytes(content)
    assert read(tmp_path).failures == [f"{tmp_path}/a.txt: is empty"]


def test_a_bad_file_costs_itself_alone(tmp_path: Path) -> None:
    put(tmp_path / "a.txt", "good")
    put(tmp_path / "b.txt", "")
    put(tmp_path / "c.jsonl", "{")
    put(tmp_path / "d.docx", "no zip")
    put(tmp_path / "e.md", "good")
    outcome = read(tmp_path)
    assert outcome.texts == ["good", "good"]
    assert len(outcome.failures) == 3


def test_on_failure_may_end_the_reading_and_is_asked_once(tmp_path: Path) -> None:
    put(tmp_path / "a.csv", "text,n\n,1\nrow,2\n")
    unreadable_documents: list[UnreadableDocument] = []

    def strict(failure: UnreadableDocument) -> None:
        unreadable_documents.append(failure)
        raise failure

    with pytest.raises(UnreadableDocument):
        list(documents_of(find_files([str(tmp_path)]).files, on_failure=strict))
    assert len(unreadable_documents) == 1


def test_a_file_that_vanishes_after_it_was_found_is_a_failure(tmp_path: Path) -> None:
    for name in ("a.txt", "b.csv", "c.html", "d.pdf", "e.parquet", "f.json", "g.jsonl"):
        put(tmp_path / name, "text")
    files = find_files([str(tmp_path)]).files
    for file in files:
        file.path.unlink()
    failures: list[str] = []
    assert list(documents_of(files, on_failure=lambda failure: failures.append(failure.problem))) == []
    assert failures == ["is gone: it was there when the files were listed"] * 7


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder another user may enter, which pytest's own are not."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder
        for path in folder.iterdir():
            path.chmod(0o700)


@posix
def test_what_may_not_be_read_is_a_failure(open_folder: Path) -> None:
    put(open_folder / "a.txt", "text").chmod(0)
    put(open_folder / "closed/b.txt", "text").parent.chmod(0)
    script = (
        "import os, sys; from tests.formats.documents.reading import answer_of\n"
        "from goldbench.formats.documents.sources import find_files\n"
        "os.geteuid() or os.setuid(65534)\n"  # root may read everything
        "found = find_files(sys.argv[1:])\n"
        "print(*(answer_of(file.path)['problem'] for file in found.files), *found.failures, sep=chr(10))"
    )
    run = subprocess.run([sys.executable, "-c", script, open_folder], capture_output=True, text=True, check=False)
    assert run.stdout.split("\n")[:-1] == [
        "cannot be opened: permission denied",
        f"{open_folder}/closed: cannot be listed: permission denied",
    ]


def test_a_file_over_the_limit_is_refused_before_it_is_read(tmp_path: Path) -> None:
    put(tmp_path / "a.txt", "x" * (2**20 + 1))
    (failure,) = read(tmp_path, budget=DocumentLimits(megabytes=1)).failures
    assert failure.endswith(
        "a.txt: is 1 MB, more than 1 MB for one document: split it, or raise documents.max_megabytes"
    )


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# One\n\n# Two", "One"),
        ("text first\n\n# Then a heading #\n", "Then a heading"),
        ("Under\n=====\ntext", "Under"),
        ('---\ntitle: "From the front matter"\n---\n# Heading', "From the front matter"),
        ("---\nauthor: x\n---\n# Heading", "Heading"),
        ("---\ntitle: >-\n  folded\n---\n# Heading", "Heading"),
        ('+++\ndate = 2024-01-01\nTitle = "From TOML"\n+++\n# Heading', "From TOML"),
        ("```\n# comment\n```\n# Real", "Real"),
        ("~~~~\n# comment\n~~~\n# comment\n~~~~\n# Real", "Real"),
        ("## Lower, but the first line\n\ntext", "Lower, but the first line"),
        ("# Pumps ##  \n\ntext", "Pumps"),
        ("# C#\n\ntext", "C#"),
        ("# Pumps #1\n\ntext", "Pumps #1"),
        ("#\tPumps\t#\t\n\ntext", "Pumps"),
        ("text\n\n## Lower", None),
        ("#hashtag\n", None),
        ("", None),
    ],
)
def test_the_title_of_markdown(text: str, title: str | None) -> None:
    assert markdown_title(text) == title


@pytest.mark.parametrize("piece", ["# a{}b\n", "# a{}", "## a{}#b\n", "#{}\n"])
def test_a_title_with_a_run_of_spaces_takes_time_by_its_length(piece: str) -> None:
    started = time.process_time()
    markdown_title(piece.format(" " * 400_000))
    headings(piece.format(" " * 400_000))
    assert time.process_time() - started < 0.5  # a few milliseconds; the square of the length took minutes


@pytest.mark.parametrize(
    "front",
    [
        "---\ntitle: X\ntags: [a, b]\n---\n\n",
        "---  \n# a comment\ntitle: >\n  X\n\nlist:\n- a\n- b\nflow: [\n  c\n]\n...\n",
        '+++\ntitle = "X"\n[params]\nlist = ["a"]\n+++\n',
    ],
)
def test_front_matter_is_no_text(tmp_path: Path, front: str) -> None:
    put(tmp_path / "a.md", front + "## Body\n\ntext\n\n---\n\nkey: value\n\n---\n")
    put(tmp_path / "only.md", front)
    found = read(tmp_path)
    assert found.texts == ["## Body\n\ntext\n\n---\n\nkey: value\n\n---\n"]
    (failure,) = found.failures
    assert failure.endswith("only.md: holds nothing but front matter")


@pytest.mark.parametrize(
    "text",
    [
        "---\n\nA first paragraph: it is text.\n\n---\n\nmore\n",
        "---\nNote: text.\nIt goes on here.\n---\nmore\n",
        "---\nQ: one?\nA: yes.\nQ: two?\nA: no.\n---\nmore\n",
        "---\n- an item\n---\nmore\n",
        "---\n---\nmore\n",
        "---\ntitle: never closed\n\nmore\n",
        "---\nhttps://example.org/\n---\nmore\n",
        "\n---\ntitle: not at the beginning\n---\n",
        "+++\nnot TOML\n+++\nmore\n",
        "+++\na = " + "[" * 9000 + "\n+++\nmore\n",
    ],
)
def test_text_between_rules_is_kept(tmp_path: Path, text: str) -> None:
    put(tmp_path / "a.md", text)
    put(tmp_path / "b.txt", "---\ntitle: X\n---\nmore\n")
    assert read(tmp_path).texts == [text, "---\ntitle: X\n---\nmore\n"]


def test_a_title_is_one_line_of_bounded_length(tmp_path: Path) -> None:
    put(tmp_path / "a.html", f"<title>a\n\tb {'x' * 10_000}</title><p>text")
    (document,) = read(tmp_path).documents
    assert document.title.startswith("a b xxx")
    assert len(document.title) == 200


def test_a_file_without_a_title_is_called_by_its_name(tmp_path: Path) -> None:
    assert read(put(tmp_path / "Quick start.v2.txt", "# text")).documents[0].title == "Quick start.v2"


def test_a_page_keeps_headings_lists_tables_and_code_and_no_address() -> None:
    title, text = html_to_text(
        "<html><head><title>The page</title><style>p{}</style></head><body><nav>Home</nav>"
        "<h1>Heading</h1><p>Some <a href='https://example.com/x?y=z'>link</a> &amp; <b>bold</b> snake_case 2*3.</p>"
        "<ul><li>one<li>two</ul><h2>Table</h2><table><tr><th>A</th><th>B</th></tr><tr><td>1</td><td>2</td></tr></table>"
        "<pre><code>x = 1\ny = 2</code></pre><img src='a.png' alt='A duck'><!-- comment -->"
        "<script>alert(1)</script><footer>Imprint</footer></body></html>"
    )
    assert title == "The page"
    assert text == (
        "# Heading\n\nSome link & **bold** snake_case 2*3.\n\n- one\n- two\n\n## Table\n\n"
        "| A | B |\n| --- | --- |\n| 1 | 2 |\n\n```\nx = 1\ny = 2\n```\n\nA duck"
    )


@pytest.mark.parametrize(
    "boilerplate",
    [
        "<div role=navigation>X</div>",
        "<div id='cookie-banner'>X</div>",
        "<div class='site consent_popup'>X</div>",
        "<div hidden>X</div>",
        "<span aria-hidden=true>X</span>",
        "<div role=dialog>X</div>",
        "<noscript>X</noscript>",
        "<template>X</template>",
        "<iframe>X</iframe>",
        "<a class='skip-link' href='#main'>X</a>",
    ],
)
def test_what_a_page_marks_as_no_content_is_left_out(boilerplate: str) -> None:
    assert html_to_text(f"<body>{boilerplate}<p>text</p></body>")[1] == "text"


@pytest.mark.parametrize("content", ["<article class='cookies'>X</article>", "<h1 id='consent-to-research'>X</h1>"])
def test_a_page_about_cookies_is_no_banner(content: str) -> None:
    assert "X" in html_to_text(f"<body>{content}</body>")[1]


@pytest.mark.timeout(60)
@pytest.mark.parametrize("depth", [400, 5000, 20_000])
@pytest.mark.parametrize("element", ["<div>", "<b>", "<ul><li>", "<table><tr><td>", "<blockquote>", "<p><section>"])
def test_a_deeply_nested_page_is_read(element: str, depth: int) -> None:
    title, text = html_to_text(f"<title>A</title><p>before</p>{element * depth}<p>inner words</p>and <b>more</b>")
    assert title == "A"
    assert text.startswith("before")
    assert (
        " ".join(word for part in text.split() if (word := part.strip("*")).isalpha()) == "before inner words and more"
    )


@given(st.text(st.sampled_from("<>/!-&;#\"'= abdivtrph1\n\0\u202e")))
def test_any_markup_is_text_in_the_end(markup: str) -> None:
    assert isinstance(html_to_text(markup)[1], str)
