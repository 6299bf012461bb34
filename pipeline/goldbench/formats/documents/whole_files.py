"""A file that becomes one document: its title, if it brings one, and its text. Runs in the worker process.

Readers are imported when a file needs them, so that a process that reads plain text starts quickly.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from goldbench.formats.charsets import Charset, decode
from goldbench.formats.documents.titles import markdown_title
from goldbench.formats.faults import Fault
from goldbench.formats.regular_files import read_whole
from goldbench.text.headings import front_matter


@dataclass(frozen=True, slots=True)
class FileText:
    """What a file holds: its title, if it brings one, its text, and its encoding, None of an office file.

    ``page_lines`` counts the running headers and footers of a PDF that were left out.
    """

    title: str | None
    text: str
    charset: Charset | None = None
    page_lines: int = 0


def read_file(path: Path, kind: str, suffix: str, *, megabytes: int, encoding: str | None = None) -> FileText:
    """Return what a file holds.

    Args:
        path: The file.
        kind: The kind of ``SourceFile``, but not ``table``.
        suffix: The suffix of its name, in lower case; it chooses among office files.
        megabytes: The size limit in MB.
        encoding: The encoding that is set for it; None recognises it.

    Raises:
        Fault: The file cannot be opened, is too large, damaged, encrypted, or holds no text.
        ImportError: The package for this type is not installed.
        Exception: Anything that a parser raises on a damaged file.
    """
    data = read_whole(path, megabytes=megabytes)
    if suffix == ".pdf":
        from goldbench.formats.documents.pdf import pdf_to_text

        text, page_lines = pdf_to_text(data)
        return FileText(None, text, page_lines=page_lines)
    if kind == "office":
        from goldbench.formats.documents.office import office_to_text

        return FileText(*office_to_text(data, suffix))
    text, charset = decode(data, encoding)
    return FileText(*_converted(text, kind), charset)


def _converted(text: str, kind: str) -> tuple[str | None, str]:
    if kind == "html":
        from goldbench.formats.documents.html_text import html_to_text

        return html_to_text(text)
    if kind == "rst":
        from goldbench.formats.documents.rst_text import rst_to_text

        return rst_to_text(text)
    return _markdown(text) if kind == "markdown" else (None, text)


def _markdown(text: str) -> tuple[str | None, str]:
    end, _ = front_matter(text)
    body = text[end:].lstrip("\n") if end else text
    if end and not body.strip():
        raise Fault("holds nothing but front matter")
    return markdown_title(text), body
