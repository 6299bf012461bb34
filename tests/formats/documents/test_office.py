"""PDF, Word, PowerPoint, Excel, EPUB: what is read, what is refused, and that nothing hostile holds the run up."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import time
import warnings
import zipfile
import zlib
from datetime import date, datetime
from pathlib import Path

import pytest

from goldbench.formats.documents.archives import check_archive
from goldbench.formats.faults import Fault
from tests.formats.documents.reading import answer_of, read

pytestmark = pytest.mark.filterwarnings("ignore")  # the parsers' own, which the worker sends nowhere

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pytest.importorskip("markitdown")

FORMATS = "http://schemas.openxmlformats.org"
WORD = f"{FORMATS}/wordprocessingml/2006/main"


def text_of(path: Path) -> str:
    reply = answer_of(path)
    return reply.get("text") or f"{reply}"


def problem_of(path: Path) -> str:
    reply = answer_of(path)
    assert "text" not in reply
    return f"{reply['problem']}"


def archive(path: Path, members: dict[str, bytes], *, compression: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", compression) as file:
        for name, data in members.items():
            file.writestr(name, data)
    return path


def docx(path: Path, body: str, *, prolog: str = "") -> Path:
    types = (
        f'<Types xmlns="{FORMATS}/package/2006/content-types"><Override PartName="/word/document.xml"'
        ' ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>'
    )
    relations = (
        f'<Relationships xmlns="{FORMATS}/package/2006/relationships"><Relationship Id="r1"'
        f' Type="{FORMATS}/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/>'
        "</Relationships>"
    )
    document = (
        f'{prolog}<w:document xmlns:w="{WORD}"><w:body><w:p><w:r><w:t>{body}</w:t></w:r></w:p></w:body></w:document>'
    )
    members = {"[Content_Types].xml": types, "_rels/.rels": relations, "word/document.xml": document}
    return archive(path, {name: text.encode() for name, text in members.items()})


def pdf(path: Path, stream: str | bytes) -> Path:
    """Write a PDF of one page with this content, given as text or packed already."""
    packed = zlib.compress(stream.encode()) if isinstance(stream, str) else stream
    resources = b"<< /Font << /F << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >>"
    parts = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources %b >>" % resources,
        b"<< /Filter /FlateDecode /Length %d >>\nstream\n%b\nendstream" % (len(packed), packed),
    ]
    body = b"".join(b"%d 0 obj\n%b\nendobj\n" % (number, part) for number, part in enumerate(parts, start=1))
    path.write_bytes(b"%PDF-1.4\n" + body + b"trailer << /Root 1 0 R >>\n%%EOF\n")
    return path


@pytest.mark.parametrize(
    ("name", "title", "expected"),
    [
        ("docling/unit_test_headers.docx", None, "## Section 1.1\n\nParagraph 1.1.1"),
        ("docling/word_tables.docx", "Test with tables", "| Header 0.0 | Header 0.1 | Header 0.2 |\n| --- |"),
        ("docling/powerpoint_sample.pptx", "Test Table Slide", "### Notes:\nSome notes on the second slide."),
        ("markitdown/test.xlsx", None, "| Alpha | Beta | Gamma | Delta |\n| --- | --- | --- | --- |\n| 89 | 82 |"),
        ("markitdown/test.epub", "Test EPUB Document", "# Chapter 1: Test Content"),
        ("docling/multi_page.pdf", None, "The concept of the word processor predates modern computers"),
        ("markitdown/movie-theater-booking-2024.pdf", None, "Alt Order #: SC-WINTER-2024"),
        ("sample-files/multicolumn.pdf", None, "This is a sample document with two columns"),
        ("pdf.js/ArabicCIDTrueType.pdf", None, "انواع الخطوط العربية"),
        ("docling/right_to_left_01.pdf", None, "بشكل كبير في تحسين نتائج العمل."),
        ("pdf.js/noembed-eucjp.pdf", None, "あいうえお"),
    ],
)
def test_real_documents_are_read(collections: Path, name: str, title: str | None, expected: str) -> None:
    reply = answer_of(collections / "formats" / name)
    assert expected in f"{reply['text']}"
    assert reply["title"] == title


def test_the_cells_of_a_row_of_a_pdf_stand_side_by_side(collections: Path) -> None:
    folder = collections / "cases/14-pdf"
    truth = json.loads((folder / "many/truth.json").read_text("utf-8"))
    for name, rows in truth.items():
        text = " ".join(text_of(folder / name).split())
        assert [row for row in rows if " ".join(row) not in text] == [], name
    assert "CTL_S Status 0x0C" in text_of(folder / "registers.pdf").split("\n")
    assert "RP-40 4 bar 85 W" in text_of(folder / "colmajor.pdf").split("\n")  # drawn column by column


def test_running_headers_and_footers_of_a_pdf_are_left_out_and_counted(collections: Path) -> None:
    reply = answer_of(collections / "cases/14-pdf/headers.pdf")
    assert "ACME Handbook" not in f"{reply['text']}"
    assert "Page 2 of 4" not in f"{reply['text']}"
    assert f"{reply['text']}".count("Use warm water and a soft cloth") == 4
    assert reply["page_lines"] == 8


def test_wider_gaps_between_lines_of_a_pdf_end_a_paragraph(tmp_path: Path) -> None:
    drawn = [("1. Purpose", 0), ("The pump adds", 20), ("fertiliser.", 12), ("2. Hoses", 26), ("Use the tube.", 18)]
    text = "BT /F 12 Tf 72 700 Td " + " ".join(f"0 -{down} Td ({line}) Tj" for line, down in drawn) + " ET"
    expected = "1. Purpose\n\nThe pump adds\nfertiliser.\n\n2. Hoses\nUse the tube."
    assert text_of(pdf(tmp_path / "a.pdf", text)) == expected


@pytest.mark.parametrize(
    ("elsewhere", "joined"),
    [("The word is wellknown.", "wellknown"), ("He is well and known.", "well-known"), ("", "wellknown")],
)
def test_a_word_divided_by_the_end_of_a_line_is_joined_unless_its_hyphen_is_its_own(
    tmp_path: Path, elsewhere: str, joined: str
) -> None:
    lines = ["The river is well-", "known to people.", elsewhere]
    text = "BT /F 12 Tf 14 TL 72 700 Td " + " ".join(f"({line}) Tj T*" for line in lines) + " ET"
    assert f"The river is {joined} to people." in " ".join(text_of(pdf(tmp_path / "a.pdf", text)).split())


@pytest.mark.parametrize("suffix", ["docx", "epub", "html"])
def test_one_text_in_several_formats_says_the_same(collections: Path, suffix: str) -> None:
    markdown, other = (
        read(collections / f"formats/unstructured/eng_spa_mult.{name}").texts[0] for name in ("md", suffix)
    )
    assert set(markdown.split()) - set(other.split()) == set()


def test_two_columns_of_prose_are_no_table(collections: Path) -> None:
    for name in ("sample-files/multicolumn.pdf", "unstructured/a1977-backus-p21.pdf"):
        text = text_of(collections / "formats" / name)
        assert not [line for line in text.split("\n") if line.startswith("|")]


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("libreoffice-writer-password.pdf", "is encrypted: save it without a password"),
        (
            "imagemagick-CCITTFaxDecode.pdf",
            "holds no text: if its pages are pictures of text, recognise it (OCR) first",
        ),
    ],
)
def test_a_pdf_without_readable_text_says_why(collections: Path, name: str, problem: str) -> None:
    assert problem_of(collections / "formats/sample-files" / name) == problem


def test_links_and_pictures_are_their_words(collections: Path) -> None:
    word, epub = (
        text_of(collections / "formats" / name) for name in ("docling/word_sample.docx", "markitdown/test.epub")
    )
    assert "](" not in word + epub
    assert "A cartoon duck holding a paper" in word


def test_a_spreadsheet_keeps_what_its_cells_say(tmp_path: Path) -> None:
    from openpyxl import Workbook

    book = Workbook()
    sheet = book.active
    assert sheet is not None
    for row in (["Name", None, "Long"], ["N/A", 3, "x" * 300], [None, None, None], ["NaN", 0.1 + 0.2, "a|b\nc"]):
        sheet.append(row)
    sheet.append([date(2024, 2, 29), datetime.fromisoformat("2024-02-29T12:30"), True])
    book.create_sheet("secret").sheet_state = "hidden"
    book["secret"].append(["not shown"])
    book.save(tmp_path / "a.xlsx")
    assert text_of(tmp_path / "a.xlsx").split("\n") == [
        "## Sheet",
        "",
        "| Name |  | Long |",
        "| --- | --- | --- |",
        f"| N/A | 3 | {'x' * 300} |",
        "| NaN | 0.3 | a\\|b c |",
        "| 2024-02-29 | 2024-02-29T12:30:00 | True |",
    ]


@pytest.mark.parametrize("suffix", ["docx", "pptx", "xlsx", "epub"])
@pytest.mark.parametrize("content", [b"", b"no archive", b"PK\x03\x04 cut off", b"PK\x05\x06" + b"\0" * 18])
def test_a_damaged_file_is_a_failure(tmp_path: Path, suffix: str, content: bytes) -> None:
    (tmp_path / f"a.{suffix}").write_bytes(content)
    assert f"is damaged, or not a .{suffix} file" in problem_of(next(tmp_path.iterdir()))


@pytest.mark.parametrize("content", [b"", b"%PDF-1.7\n", b"no pdf", b"%PDF-1.4\n" + b"\xff\0" * 5000])
def test_a_damaged_pdf_is_a_failure(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.pdf").write_bytes(content)
    assert problem_of(tmp_path / "a.pdf")


def test_an_encrypted_office_file_says_so(tmp_path: Path) -> None:
    (tmp_path / "b.docx").write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 2000)
    assert "is encrypted or in the old binary format" in problem_of(tmp_path / "b.docx")
    data = bytearray(docx(tmp_path / "a.docx", "text").read_bytes())
    entry = data.index(b"PK\x01\x02")
    data[entry + 8] |= 1
    (tmp_path / "a.docx").write_bytes(data)
    assert "is encrypted: save it without a password" in problem_of(tmp_path / "a.docx")


@pytest.mark.slow
def test_a_zip_bomb_is_not_unpacked(tmp_path: Path) -> None:
    archive(tmp_path / "a.docx", {"word/document.xml": b" " * (400 * 2**20)})
    started = time.monotonic()
    assert "bytes, more than 314,572,800: split it" in problem_of(tmp_path / "a.docx")
    assert time.monotonic() - started < 60


def test_a_bomb_by_its_ratio_is_not_unpacked(tmp_path: Path) -> None:
    archive(tmp_path / "a.xlsx", {f"xl/{number}.xml": b"<" * (10 * 2**20) for number in range(5)})
    assert "times its" in problem_of(next(tmp_path.iterdir()))


def test_a_bomb_within_a_bomb_is_never_opened(tmp_path: Path) -> None:
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("bomb", b"\0" * (100 * 2**20))
    docx(tmp_path / "a.docx", "text")
    with zipfile.ZipFile(tmp_path / "a.docx", "a") as file:
        file.writestr("word/embeddings/inner.zip", inner.getvalue())
    assert text_of(tmp_path / "a.docx") == "text"


def test_too_many_parts_are_refused(tmp_path: Path) -> None:
    archive(tmp_path / "a.docx", {f"{number}": b"" for number in range(20_001)}, compression=zipfile.ZIP_STORED)
    assert "holds 20,001 parts" in problem_of(next(tmp_path.iterdir()))


LAUGHS = (
    '<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY lol "lol">'
    + "".join(f'<!ENTITY lol{n} "{f"&lol{n - 1 or str()};" * 10}">' for n in range(1, 10))
    + "]>"
)


def test_an_xml_entity_bomb_is_not_expanded(tmp_path: Path) -> None:
    docx(tmp_path / "a.docx", "&lol9;", prolog=LAUGHS)
    assert "declares XML entities" in problem_of(next(tmp_path.iterdir()))


def test_an_entity_hidden_in_utf_16_or_behind_a_long_comment_is_found(tmp_path: Path) -> None:
    for encoding, comment in (("utf-16", ""), ("utf-8", f"<!--{'x' * (2**20 - 25)}-->")):
        path = archive(tmp_path / "a.docx", {"word/document.xml": (comment + LAUGHS).encode(encoding)})
        with path.open("rb") as file, pytest.raises(Fault, match="declares XML entities"):
            check_archive(file, path.suffix)


def test_an_epub_may_have_a_doctype_but_no_entities(collections: Path, tmp_path: Path) -> None:
    source = zipfile.ZipFile(collections / "formats/markitdown/test.epub")
    members = {name: source.read(name) for name in source.namelist()}
    page = next(name for name in members if name.endswith("html"))
    for text, outcome in (("<!DOCTYPE html>", True), (LAUGHS, False)):
        target = page if outcome else "META-INF/container.xml"
        body = members[target].split(b"?>", 1)[-1]
        path = archive(tmp_path / "a.epub", {**members, target: text.encode() + body})
        assert ("text" in answer_of(path)) == outcome


def test_a_document_reaches_no_network(tmp_path: Path) -> None:
    script = (
        "import sys; from goldbench.formats.documents.worker import _refuse; sys.addaudithook(_refuse)\n"
        "import socket; socket.create_connection(('127.0.0.1', 9))"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert "PermissionError: a document may not cause socket." in run.stderr


def test_no_reply_holds_a_parsers_own_words(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.docx", {"word/document.xml": b"<SECRET"})
    assert "SECRET" not in json.dumps(answer_of(path, megabytes=1))


@pytest.mark.slow
def test_the_formats_folder_is_read_whole_in_seconds(collections: Path) -> None:
    started = time.monotonic()
    outcome = read(collections / "formats")
    assert time.monotonic() - started < 60
    assert len(outcome.documents) >= 76
    assert sorted(failure.split(": ")[0].rsplit("/", 1)[-1] for failure in outcome.failures) == [
        "empty.txt",
        "imagemagick-CCITTFaxDecode.pdf",
        "libreoffice-writer-password.pdf",
        "test.json",
    ]
    assert all(document.text == document.text.encode().decode() for document in outcome.documents)
