"""Files found by ``sources.find_files`` to ``Document`` records, one at a time.

A document's text is: of text and Markdown every character, decoded, with line ends as LF and without byte order mark;
of HTML, reStructuredText and office files the Markdown-like text they convert to, without the title; of a table the
text of one row (``fields.py``). Spans refer to this text. An unreadable file or row is reported, and the next one is
read; so is a file of a type whose reader is not installed (extra ``documents``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from goldbench.pipeline.errors import MissingExtra, UnreadableDocument
from goldbench.pipeline.formats.charsets import read_text
from goldbench.pipeline.formats.documents.converter import CONVERTED, Converter
from goldbench.pipeline.formats.documents.fields import ReadOptions
from goldbench.pipeline.formats.documents.identity import Register, digest, document_id
from goldbench.pipeline.formats.documents.rows import table_documents
from goldbench.pipeline.formats.documents.sources import SourceFile
from goldbench.pipeline.formats.documents.titles import markdown_title, short_title, stem
from goldbench.pipeline.formats.faults import Fault
from goldbench.pipeline.text.display import shown
from goldbench.schemas.corpus import Document


def read_documents(
    files: Sequence[SourceFile], options: ReadOptions, *, on_failure: Callable[[UnreadableDocument], None]
) -> Iterator[Document]:
    """Yield the documents of the files, in their order, holding one at a time.

    The same text from the same source is given once.

    Args:
        files: The files from ``find_files``.
        options: The fields and limits.
        on_failure: Called with the error of every file and every row that cannot be read; may raise to end the reading.
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
                on_failure(UnreadableDocument(shown(file.path), item.problem, line=item.line))


def _outcomes(
    file: SourceFile, options: ReadOptions, converter: Converter, register: Register
) -> Iterator[Document | Fault]:
    try:
        if file.kind == "table":
            yield from table_documents(file, options, register)
        else:
            title, text = _read(file, options, converter)
            yield from _whole_document(file, title, text, register)
    except Fault as fault:
        yield fault
    except MissingExtra as error:
        yield Fault(str(error))


def _read(file: SourceFile, options: ReadOptions, converter: Converter) -> tuple[str | None, str]:
    if file.kind in CONVERTED:
        return converter.convert(file.path, ".rst" if file.kind == "rst" else None)
    text = read_text(file.path, megabytes=options.max_megabytes)
    return (markdown_title(text) if file.kind == "markdown" else None), text


def _whole_document(file: SourceFile, title: str | None, text: str, register: Register) -> Iterator[Document]:
    if not text.strip():
        raise Fault("is empty")
    doc_id = document_id(file.source, text)
    if register.add_document(doc_id, digest(file.source, text), file.path):
        title = short_title(title or "") or short_title(stem(file.source))
        yield Document(doc_id=doc_id, title=title, text=text, source=file.source)
