"""Files found by ``sources.find_files`` to ``Document`` records, one at a time.

A document's text is: of text and Markdown every character, decoded, with line ends as LF and without byte order mark
(and of Markdown without front matter, of which the title is kept); of HTML, reStructuredText and office files the
Markdown-like text they convert to, without the title and characters that nobody sees (``unseen.py``); of a table
the text of one row (``fields.py``). Spans refer to this text. An unreadable file or row is reported, and the next one
is read; so is a file of a type whose reader is not installed (extra ``documents``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from goldbench.pipeline.errors import MissingExtra, UnreadableDocument
from goldbench.pipeline.formats.charsets import read_text
from goldbench.pipeline.formats.documents.converter import CONVERTED, Converter
from goldbench.pipeline.formats.documents.fields import ReadOptions
from goldbench.pipeline.formats.documents.identity import Register, digest, document_id
from goldbench.pipeline.formats.documents.rows import table_documents
from goldbench.pipeline.formats.documents.site_lines import Converted, LeftOut, SitePages
from goldbench.pipeline.formats.documents.sources import SourceFile
from goldbench.pipeline.formats.documents.titles import markdown_title, short_title, stem
from goldbench.pipeline.formats.faults import Fault
from goldbench.pipeline.text.display import shown
from goldbench.pipeline.text.headings import front_matter
from goldbench.pipeline.text.unseen import without_unseen
from goldbench.schemas.corpus import Document


def read_documents(
    files: Sequence[SourceFile],
    options: ReadOptions,
    *,
    on_failure: Callable[[UnreadableDocument], None],
    on_left_out: Callable[[LeftOut], None] = lambda _: None,
) -> Iterator[Document]:
    """Yield the documents of the files, in their order, holding one at a time.

    The same text from the same source is given once. The HTML pages are converted before the first document is given,
    to find the lines that most of them share; see ``site_lines.py``.

    Args:
        files: The files from ``find_files``.
        options: The fields and limits.
        on_failure: Called with the error of every file and every row that cannot be read; may raise to end the reading.
        on_left_out: Called at the end with what was left out of the texts.
    """
    pages = [file for file in files if file.kind == "html"][: options.limit_documents]
    with (
        Converter(seconds=options.conversion_seconds, megabytes=options.max_megabytes) as converter,
        SitePages(pages) as site,
    ):
        for page in pages:
            site.put(page, _converted(page, converter) or (None, ""))
        site.settle(pages)
        register = Register()
        outcomes = _all(files, options, converter, site.cleaned(pages), on_failure, register)
        yield from islice(outcomes, options.limit_documents)
        on_left_out(replace(site.left_out, unseen=register.unseen))


def _all(
    files: Sequence[SourceFile],
    options: ReadOptions,
    converter: Converter,
    pages: Iterator[Converted | Fault],
    on_failure: Callable[[UnreadableDocument], None],
    register: Register,
) -> Iterator[Document]:
    for file in files:
        found = next(pages, None) if file.kind == "html" else None
        for item in _outcomes(file, options, found or _converted(file, converter), register):
            if isinstance(item, Document):
                yield item
            else:
                on_failure(UnreadableDocument(shown(file.path), item.problem, line=item.line))


def _outcomes(
    file: SourceFile, options: ReadOptions, found: Converted | Fault | None, register: Register
) -> Iterator[Document | Fault]:
    try:
        if file.kind == "table":
            yield from table_documents(file, options, register)
        elif isinstance(found, Fault):
            yield found
        else:
            title, text = found or _read(file, options)
            yield from _whole_document(file, title, text, register)
    except Fault as fault:
        yield fault
    except MissingExtra as error:
        yield Fault(str(error))


def _converted(file: SourceFile, converter: Converter) -> Converted | Fault | None:
    """Return the title and text of a file that is converted, or why it cannot be; None for files of other kinds."""
    if file.kind not in CONVERTED:
        return None
    try:
        return converter.convert(file.path, ".rst" if file.kind == "rst" else None)
    except Fault as fault:
        return fault
    except MissingExtra as error:
        return Fault(str(error))


def _read(file: SourceFile, options: ReadOptions) -> Converted:
    text = read_text(file.path, megabytes=options.max_megabytes)
    if file.kind != "markdown":
        return None, text
    end, _ = front_matter(text)
    body = text[end:].lstrip("\n") if end else text
    if end and not body.strip():
        raise Fault("holds nothing but front matter")
    return markdown_title(text), body


def _whole_document(file: SourceFile, title: str | None, text: str, register: Register) -> Iterator[Document]:
    title, in_title = without_unseen(title or "")
    text, in_text = without_unseen(text) if file.kind in CONVERTED else (text, 0)
    if not text.strip():
        raise Fault("is empty")
    doc_id = document_id(file.source, *file.apart)
    if register.add_document(doc_id, digest(file.source, text), file.path):
        register.unseen += in_title + in_text
        title = short_title(title) or short_title(stem(file.source))
        yield Document(doc_id=doc_id, title=title, text=text, source=file.source)
