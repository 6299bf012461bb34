"""Word, PowerPoint, Excel and EPUB to Markdown-like text, the only place that calls ``markitdown``.

It runs in the worker process (``worker.py``), because these parsers can loop without end, fill the memory or print.
Spreadsheets are read by openpyxl: markitdown uses pandas, which writes empty cells as ``NaN``, loses ``N/A`` and
``NA``, and makes 3.0 of 3.
"""

from __future__ import annotations

import io
import re
import sys
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
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_HEADING = re.compile(r"#{1,6} +(\S.*)")


class _Sheet(Protocol):
    """The methods used of openpyxl's worksheet, which has no type hints."""

    def reset_dimensions(self) -> None: ...

    def iter_rows(self, *, values_only: bool) -> Iterator[tuple[object, ...]]: ...


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
    check_archive(io.BytesIO(data), kind)
    if kind != ".xlsx":
        _import_markitdown()
    title, text = _CONVERTERS[kind](data)
    text = tidy(_SURROGATE.sub("\ufffd", text))
    if not text.strip():
        raise Fault("holds no text")
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


_CONVERTERS = {".docx": _docx, ".pptx": _pptx, ".xlsx": _xlsx, ".epub": _epub}
