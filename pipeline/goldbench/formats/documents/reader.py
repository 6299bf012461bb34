"""Files found by ``sources.find_files`` to ``Document`` records, in order, read in processes of their own.

A document's text is: of text and Markdown every character, decoded, with line ends as LF and without byte order mark
(and of Markdown without front matter, of which the title is kept); of HTML, reStructuredText and office files the
Markdown-like text they convert to, without the title and characters that nobody sees (``unseen.py``); of a table
the text of one row (``fields.py``). Spans refer to this text. An unreadable file or row is reported, and the next one
is read; so is a file of a type whose reader is not installed (extra ``documents``), and one that takes more time or
memory than ``worker_pool.DocumentLimits`` allows.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from goldbench.errors import MissingExtra, UnreadableDocument
from goldbench.formats.documents.encodings import Encodings, encoding_for, unmatched
from goldbench.formats.documents.fields import ReadOptions
from goldbench.formats.documents.identity import Register, digest, document_id
from goldbench.formats.documents.rows import row_documents, table_rows
from goldbench.formats.documents.site_lines import ConvertedPage, LeftOutLines, SitePages
from goldbench.formats.documents.sources import SourceFile
from goldbench.formats.documents.titles import short_title, stem
from goldbench.formats.documents.worker_pool import Workers
from goldbench.formats.faults import Fault
from goldbench.records.corpus import Document
from goldbench.text.display import shown

Answers = Iterable[dict[str, Any]]


def read_documents(
    files: Sequence[SourceFile],
    options: ReadOptions,
    workers: Workers,
    *,
    on_failure: Callable[[UnreadableDocument], None],
    on_left_out: Callable[[LeftOutLines], None] = lambda _: None,
    on_encodings: Callable[[Encodings], None] = lambda _: None,
) -> Iterator[Document]:
    """Yield the documents of the files, in their order.

    The same text from the same source is given once. The HTML pages are converted before the first document is given,
    to find the lines that most of them share; see ``site_lines.py``.

    Args:
        files: The files from ``find_files``.
        options: The fields and limits.
        workers: Who reads them.
        on_failure: Called with the error of every file and every row that cannot be read; may raise to end the reading.
        on_left_out: Called at the end with what was left out of the texts.
        on_encodings: Called at the end with the encodings of the files.
    """
    pages = [file for file in files if file.kind == "html"][: options.limit_documents]
    of_site = set(map(id, pages))
    others = [file for file in files if id(file) not in of_site]
    encodings = Encodings(unmatched(files, options))
    with SitePages() as site:
        for page, answers in zip(pages, _answers(pages, options, workers), strict=True):
            site.put(page, _whole(encodings.taken_from(page.path, answers)))
        register = Register()
        cleaned = site.clean_pages(pages)
        with contextlib.closing(_answers(others, options, workers)) as read:
            outcomes = (
                (file, _whole_document(file, next(cleaned), register))
                if id(file) in of_site
                else (file, _outcomes(file, encodings.taken_from(file.path, next(read)), options, register))
                for file in files
            )
            yield from islice(_documents(outcomes, on_failure), options.limit_documents)
        on_left_out(replace(site.left_out, unseen=register.unseen, page_lines=register.page_lines))
        on_encodings(encodings)


def _documents(
    outcomes: Iterable[tuple[SourceFile, Iterable[Document | Fault]]], on_failure: Callable[[UnreadableDocument], None]
) -> Iterator[Document]:
    for file, items in outcomes:
        for item in items:
            if isinstance(item, Document):
                yield item
            else:
                on_failure(UnreadableDocument(shown(file.path), item.problem, line=item.line))


def _answers(files: Sequence[SourceFile], options: ReadOptions, workers: Workers) -> Generator[Answers]:
    """Yield for each file the answers of the process that read it."""
    with contextlib.closing(workers.answers(_items(files, options))) as answers:
        for file in files:
            yield next(answers) if file.table is None else table_rows(file.table, file.source, options)


def _items(files: Iterable[SourceFile], options: ReadOptions) -> Iterator[dict[str, Any]]:
    """Yield what the processes are asked."""
    settings = dataclasses.asdict(options)
    for file in files:
        if file.table is None:
            yield {
                "kind": file.kind,
                "path": os.fsencode(file.path.absolute()).hex(),
                "suffix": file.path.suffix.lower(),
                "source": file.source,
                "encoding": encoding_for(file, options),
                "bytes": _size(file),
                "options": settings if file.kind == "table" else {},
            }


def _size(file: SourceFile) -> int:
    try:
        return file.path.stat().st_size
    except OSError:
        return 0  # the process that reads it will say what is wrong


def _outcomes(
    file: SourceFile, answers: Answers, options: ReadOptions, register: Register
) -> Iterator[Document | Fault]:
    try:
        if file.kind == "table":
            yield from row_documents(file, _sound(answers), options, register)
        else:
            yield from _whole_document(file, _whole(answers), register)
    except Fault as fault:
        yield fault


def _sound(answers: Answers) -> Answers:
    """Yield the answers.

    Raises:
        Fault: One of them says that the file cannot be read.
    """
    for answer in answers:
        if missing := answer.get("missing"):
            raise Fault(str(MissingExtra(missing, "documents")))
        if problem := answer.get("problem"):
            raise Fault(problem, line=answer.get("line"))
        yield answer


def _whole(answers: Answers) -> ConvertedPage | Fault:
    """Return the title and text of a file that becomes one document, or why it cannot be read."""
    try:
        (answer,) = _sound(answers)
    except Fault as fault:
        return fault
    return ConvertedPage(answer["title"], answer["text"], answer["unseen"], answer["page_lines"])


def _whole_document(
    file: SourceFile, converted: ConvertedPage | Fault | None, register: Register
) -> Iterator[Document | Fault]:
    if isinstance(converted, Fault):
        yield converted
        return
    assert converted is not None
    if not converted.text.strip():
        yield Fault("is empty")
        return
    doc_id = document_id(file.source, *file.apart)
    try:
        is_new = register.add_document(doc_id, digest(file.source, converted.text), file.path)
    except Fault as fault:
        yield fault
        return
    if is_new:
        register.unseen += converted.unseen
        register.page_lines += converted.page_lines
        title = short_title(converted.title or "") or short_title(stem(file.source))
        yield Document(doc_id=doc_id, title=title, text=converted.text, source=file.source)
