"""PDF, Word, PowerPoint, Excel and EPUB to Markdown-like text, the only place that calls ``markitdown``.

It runs in the worker process (``worker.py``), because these parsers can loop without end, fill the memory or print.
Where markitdown loses text, another library reads the file:

- spreadsheets: openpyxl (markitdown uses pandas, which writes empty cells as ``NaN``, loses ``N/A`` and ``NA``, and
  makes 3.0 of 3);
- a PDF whose columns of prose were taken for a table: pdfminer alone;
- a PDF whose Arabic or Hebrew came out in the order of the glyphs on paper: pdfium, which puts it into reading order.
"""

from __future__ import annotations

import io
import re
import sys
import unicodedata
from collections.abc import Callable, Iterator
from datetime import date, datetime, time
from typing import TYPE_CHECKING, Protocol

from goldbench.formats.documents.archives import check_archive
from goldbench.formats.documents.html_text import tidy
from goldbench.formats.faults import Fault

if TYPE_CHECKING:
    from markitdown import DocumentConverter

_PICTURE = re.compile(r"!\[([^\[\]]*+)\]\((?:[^)\n\]]|\](?!\())*+\)")
_LINK = re.compile(r"(?<!!)\[([^\[\]\n]*+)\]\(((?:[^)\s\]]|\](?!\())*+)(?: \"[^\"\n]*+\")?\)")
_ADDRESS = re.compile(r"\A(?:https?:|mailto:|file:|#|\.{0,2}/)|\.x?html?(?:#|\Z)")
_SLIDE = re.compile(r"^<!-- Slide number: \d+ -->\n", re.MULTILINE)
_EPUB_METADATA = re.compile(r"\A(?:\*\*[A-Z][a-z]+:\*\* .*\n)+\n")
_UNMAPPED = re.compile(r"\(cid:\d+\)")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_HEADING = re.compile(r"#{1,6} +(\S.*)")


class _Sheet(Protocol):
    """The methods used of openpyxl's worksheet, which has no type hints."""

    def reset_dimensions(self) -> None: ...

    def iter_rows(self, *, values_only: bool) -> Iterator[tuple[object, ...]]: ...


_PDF_STARTS_WITHIN = 1024
_HTML_OPTIONS = {"escape_asterisks": False, "escape_underscores": False, "table_infer_header": True}


def office_to_text(data: bytes, kind: str) -> tuple[str | None, str]:
    """Return the document's title, if it has one, and its text.

    Args:
        data: The bytes of the file.
        kind: The suffix of its name, in lower case.

    Raises:
        Fault: The document is encrypted, holds no text, or is unsafe to open.
        ImportError: The package for this type is not installed.
        Exception: Anything that the parser raises on a damaged file.
    """
    if kind != ".pdf":
        check_archive(io.BytesIO(data), kind)
    if kind != ".xlsx":
        _import_markitdown()
    is_named = kind != ".pdf" or b"%PDF-" in data[:_PDF_STARTS_WITHIN]
    try:
        title, text = _CONVERTERS[kind](data)
    except Exception:
        if is_named:
            raise
        title, text = None, ""
    text = tidy(_SURROGATE.sub("\ufffd", text))
    if not text.strip() and not is_named:
        raise Fault("is not a PDF file: its first 1,024 bytes hold no %PDF-")
    if not text.strip():
        hint = ": if its pages are pictures of text, recognise it (OCR) first" if kind == ".pdf" else ""
        raise Fault(f"holds no text{hint}")
    if title is None and kind in {".docx", ".pptx"} and (heading := _HEADING.match(text)):
        title = heading.group(1)
    return title, text


def _import_markitdown() -> None:
    """Import markitdown without pandas, which takes it longer than all the rest and serves only its spreadsheets."""
    if "pandas" in sys.modules:
        return
    sys.modules["pandas"] = None  # type: ignore[assignment]  # Python's way to say that a module cannot be imported
    try:
        import markitdown  # noqa: F401
    finally:
        del sys.modules["pandas"]


def _pdf(data: bytes) -> tuple[str | None, str]:
    from markitdown.converters import PdfConverter
    from pdfminer.high_level import extract_text
    from pdfminer.pdfdocument import PDFEncryptionError, PDFPasswordIncorrect

    try:
        text = _markitdown(PdfConverter, data, ".pdf")[1]
    except (PDFPasswordIncorrect, PDFEncryptionError):
        raise Fault("is encrypted: save it without a password") from None
    if is_misread_as_table(text, plain := extract_text(io.BytesIO(data)) if "\n|" in f"\n{text}" else ""):
        text = plain
    if is_in_paper_order(text):
        text = _pdfium(data)
    without = _UNMAPPED.sub("\ufffd", text)
    if 2 * (len(text) - len(without)) > len(text):
        raise Fault("has fonts that do not say which characters they show: recognise its text (OCR) first")
    return None, without


def is_misread_as_table(text: str, plain: str) -> bool:
    """Whether prose in columns was taken for a table.

    Cells are short. So the share of characters in table rows cannot be larger than the share that pdfminer, which does
    not look for tables, put into lines of fewer than six words.

    Args:
        text: The text of markitdown, with tables as rows that begin with ``|``.
        plain: The text of pdfminer of the same document.
    """
    rows = sum(_weight(line) for line in text.split("\n") if line.startswith("|"))
    short = sum(_weight(line) for line in plain.split("\n") if len(line.split()) < 6)
    return rows * max(1, _weight(plain)) > short * max(1, _weight(text))


def _weight(text: str) -> int:
    return len(re.sub(r"[\s|\-]", "", text))


def is_in_paper_order(text: str) -> bool:
    """Whether Arabic or Hebrew is in the order of the glyphs from left to right: final letters begin the words."""
    words = re.findall(r"[\u0590-\u06ff]{2,}", unicodedata.normalize("NFKC", text))
    last = set("ةىךםןףץ")
    return sum(word[0] in last for word in words) > sum(word[-1] in last for word in words)


def _pdfium(data: bytes) -> str:
    from pypdfium2 import PdfDocument

    document = PdfDocument(data)
    try:
        return "\n\n".join(document[index].get_textpage().get_text_bounded() for index in range(len(document)))
    finally:
        document.close()


def _docx(data: bytes) -> tuple[str | None, str]:
    from markitdown.converters import DocxConverter

    return None, _without_addresses(_markitdown(DocxConverter, data, ".docx")[1])


def _pptx(data: bytes) -> tuple[str | None, str]:
    from markitdown.converters import PptxConverter

    return None, _without_addresses(_SLIDE.sub("", _markitdown(PptxConverter, data, ".pptx")[1]))


def _epub(data: bytes) -> tuple[str | None, str]:
    from markitdown.converters import EpubConverter

    title, text = _markitdown(EpubConverter, data, ".epub")
    return title, _without_addresses(_EPUB_METADATA.sub("", text))


def _markitdown(converter: Callable[[], DocumentConverter], data: bytes, extension: str) -> tuple[str | None, str]:
    from markitdown import MissingDependencyException, StreamInfo

    try:
        result = converter().convert(io.BytesIO(data), StreamInfo(extension=extension), **_HTML_OPTIONS)
    except MissingDependencyException as error:
        raise ImportError("markitdown", name=f"markitdown[{extension[1:]}]") from error
    return result.title, result.markdown


def _without_addresses(text: str) -> str:
    bare = _PICTURE.sub(r"\1", text)
    return _LINK.sub(lambda link: link[1] if _ADDRESS.search(link[2]) else link[0], bare)


def _xlsx(data: bytes) -> tuple[str | None, str]:
    from openpyxl import load_workbook

    book = load_workbook(io.BytesIO(data), read_only=True, data_only=True)
    try:
        sheets = [sheet for sheet in book.worksheets if sheet.sheet_state == "visible"]
        return None, "\n\n".join(f"## {sheet.title}\n\n{table}" for sheet in sheets if (table := _table(sheet)))
    finally:
        book.close()


def _table(sheet: _Sheet) -> str:
    sheet.reset_dimensions()  # the dimensions that the file states can be wrong
    rows = [cells for cells in _filled_rows(sheet) if cells]
    width = max(map(len, rows), default=0)
    lines = ["| " + " | ".join(cells + [""] * (width - len(cells))) + " |" for cells in rows]
    return "\n".join([*lines[:1], "|" + " --- |" * width, *lines[1:]]) if lines else ""


def _filled_rows(sheet: _Sheet) -> Iterator[list[str]]:
    for values in sheet.iter_rows(values_only=True):
        cells = [_cell(value) for value in values]
        while cells and not cells[-1]:
            cells.pop()
        yield cells


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime) and value.time() == time():
        value = value.date()
    if isinstance(value, (date, datetime, time)):
        return value.isoformat()
    if isinstance(value, float):
        return f"{value:.15g}"  # as the spreadsheet shows it, not 0.30000000000000004
    return " ".join(str(value).replace("|", "\\|").split())


_CONVERTERS = {".pdf": _pdf, ".docx": _docx, ".pptx": _pptx, ".xlsx": _xlsx, ".epub": _epub}
