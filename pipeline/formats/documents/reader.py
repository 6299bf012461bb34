"""Documents in: files as ``sources.find_files`` gave them to ``Document`` records, one at a time.

What a document's text is: of text and Markdown every character, decoded, line ends as LF, no byte order mark; of HTML
and office files the Markdown-like text they convert to (title apart); of a table each row (``fields.py``). Spans refer
to this text. An unreadable file or row costs itself alone: it is reported and the next one is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from pipeline.errors import UnreadableDocument
from pipeline.formats.charsets import read_text
from pipeline.formats.documents.converter import Converter
from pipeline.formats.documents.identity import digest, document_id, one_line, stem
from pipeline.formats.documents.markdown_title import markdown_title
from pipeline.formats.documents.read_options import ReadOptions
from pipeline.formats.documents.register import Register
from pipeline.formats.documents.rows import table_documents
from pipeline.formats.documents.sources import SourceFile
from pipeline.text.display import shown
from schemas.corpus import Document


def read_documents(
    files: Sequence[SourceFile], options: ReadOptions, *, on_failure: Callable[[UnreadableDocument], None]
) -> Iterator[Document]:
    """Yield the documents of the files, in their order, holding one at a time.

    The same text from the same source is given once.

    Args:
        files: from ``find_files``.
        options: fields, limits.
        on_failure: told of every file and every row that cannot be read; may raise to end the reading.

    Raises:
        MissingExtra: a PDF, office or EPUB file is met, and the package that reads it is not installed.
    """
    with Converter(seconds=options.conversion_seconds, megabytes=options.max_megabytes) as converter:
        yield from islice(_all(files, options, converter, on_failure), options.limit_documents)


def _all(
    files: Sequence[SourceFile],
    options: ReadOptions,
    converter: Converter,
    on_failure: Callable[[UnreadableDocument], None],
) -> Iterator[Document]:
    register = Register()
    for file in files:
        for item in _outcomes(file, options, converter, register):
            if isinstance(item, Document):
                yield item
            else:
                on_failure(item)


def _outcomes(
    file: SourceFile, options: ReadOptions, converter: Converter, register: Register
) -> Iterator[Document | UnreadableDocument]:
    try:
        if file.kind == "table":
            yield from table_documents(file, options, register)
        else:
            title, text = _read(file, options, converter)
            yield from _whole_document(file, title, text, register)
    except UnreadableDocument as failure:
        yield failure


def _read(file: SourceFile, options: ReadOptions, converter: Converter) -> tuple[str | None, str]:
    if file.kind in {"html", "office"}:
        return converter.convert(file.path)
    text = read_text(file.path, megabytes=options.max_megabytes)
    return (markdown_title(text) if file.kind == "markdown" else None), text


def _whole_document(file: SourceFile, title: str | None, text: str, register: Register) -> Iterator[Document]:
    if not text.strip():
        raise UnreadableDocument(shown(file.path), "is empty")
    doc_id = document_id(file.source, text)
    if register.add_document(doc_id, digest(file.source, text), file.path):
        yield Document(
            doc_id=doc_id, title=one_line(title or "") or one_line(stem(file.source)), text=text, source=file.source
        )
