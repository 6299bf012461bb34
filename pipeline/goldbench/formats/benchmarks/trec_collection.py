"""TREC collections: a corpus, topics and qrels in one folder, in the forms in which TREC tracks published them.

A corpus is JSON Lines, ids and texts separated by tabs, or ``<DOC>`` elements; topics are ids and texts separated by
tabs, JSON Lines, or ``<top>`` elements whose title is the query.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path

from goldbench.errors import InputError
from goldbench.formats.benchmarks.collection import Chosen, Collection, Entry, Topic, entries, topics
from goldbench.formats.benchmarks.folders import choose, folder_collection, no_folder
from goldbench.formats.faults import Fault, in_file, read_rows
from goldbench.formats.interchange_names import BEIR_CORPUS, TREC_QRELS, TREC_TOPICS
from goldbench.formats.lines import MAX_LINE, text_lines
from goldbench.formats.packed_files import Source
from goldbench.text.display import shown

_CORPUS = (
    f"{BEIR_CORPUS}*",
    "collection.tsv*",
    "collection.jsonl*",
    "corpus.*",
    "docs.*",
    "documents.*",
    f"beir/{BEIR_CORPUS}",
)
_TOPICS = ("topics*", "queries*", "*.topics*", "*.queries*", f"trec/{TREC_TOPICS}")
_QRELS = ("qrels*", "*.qrels*", "*qrels*", f"trec/{TREC_QRELS}")
_ELEMENTS = re.compile(r"\s*<(?:DOC|TOP|TOPICS?|TOPS|ROOT|XML|\?XML)\b", re.IGNORECASE)
_TAG = re.compile(r"<[^<>]{1,200}>")
_DOCNO = re.compile(r"<DOCNO>([^<]*)</DOCNO>", re.IGNORECASE)
_TITLES = re.compile(r"<(/?)(TITLE|HEADLINE|HEAD|TI)>", re.IGNORECASE)
_TEXTS = re.compile(r"<(/?)(TEXT)>", re.IGNORECASE)
_NUMBER = re.compile(r"<num>\s*+(?:Number:)?\s*+([^\s<]+)|<topic\s[^<>]*\bnumber=[\"']([^\"']+)", re.IGNORECASE)
_QUERY = re.compile(r"<(?:title|query)>\s*+(?:Topic:)?", re.IGNORECASE)
_AFTER_QUERY = re.compile(r"</(?:title|query)>|<(?:desc|narr|description|/top)", re.IGNORECASE)


def read_trec(folder: Path, chosen: Chosen) -> Collection:
    """Return the collection in a folder; its files are found by usual names unless the user names them.

    Raises:
        InputError: A file is missing.
        UsageError: There are several to choose from.
    """
    if not folder.is_dir():
        raise InputError(shown(folder), no_folder(folder, "a corpus, topics and qrels"))
    corpus = choose(folder, chosen.corpus, _CORPUS, what="corpus")
    topics_file = choose(folder, chosen.queries, _TOPICS, what="queries", split=chosen.split)
    judged = choose(folder, chosen.qrels, _QRELS, what="qrels", split=chosen.split)
    return folder_collection("trec", (corpus, topics_file, judged), documents=_documents, queries=_topics)


def _is_marked_up(source: Source) -> bool:
    return bool(_ELEMENTS.match(next(text_lines(source), (0, ""))[1]))


def _documents(path: Path) -> Iterator[Entry]:
    source = Source(path)
    if not _is_marked_up(source):
        yield from entries(path)
        return
    with in_file(source.name):
        yield from read_rows(_blocks(source, "doc"), _entry)


def _entry(line: int, block: str) -> Entry:
    identity = _DOCNO.search(block)
    if not identity:
        raise Fault("the <DOC> beginning here has no <DOCNO>")
    title = next(_elements(block, _TITLES), None)
    bodies = [block[start:end] for start, end in _elements(block, _TEXTS)]
    words = block[slice(*title)] if title else ""
    rest = _DOCNO.sub("", block, count=1) if not bodies else "\n".join(bodies)
    if not bodies and title:
        rest = rest.replace(words, "", 1)
    return Entry(identity.group(1).strip(), _plain(words), _plain(rest), line)


def _elements(block: str, tags: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    """Yield start and end of the content of each element, in one pass however many tags are never closed."""
    name = ""
    start = 0
    for tag in tags.finditer(block):
        closes = tag[1]
        tag_name = tag[2].lower()
        if not name and not closes:
            name = tag_name
            start = tag.end()
        elif closes and tag_name == name:
            yield start, tag.start()
            name = ""


def _topics(path: Path) -> Iterator[Topic]:
    source = Source(path)
    if not _is_marked_up(source):
        yield from topics(path)
        return
    with in_file(source.name):
        yield from read_rows(_blocks(source, "top"), _topic)


def _topic(line: int, block: str) -> Topic:
    identity = _NUMBER.search(block)
    query = _QUERY.search(block)
    if not identity or not query:
        raise Fault("the topic beginning here has no number or no title")
    after = _AFTER_QUERY.search(block, query.end())
    words = block[query.end() : after.start() if after else len(block)]
    return Topic((identity.group(1) or identity.group(2)), " ".join(_plain(words).split()), line)


def _blocks(source: Source, element: str) -> Iterator[tuple[int, str]]:
    """Yield each element, from its opening to its closing tag, with the line it begins on.

    Raises:
        Fault: An element does not end, or is longer than 16 MB.
    """
    name = "topic" if element == "top" else element
    opening, closing = (re.compile(rf"<{slash}(?:{element}|{name})\b[^>]*>", re.IGNORECASE) for slash in ("", "/"))
    block: list[str] = []
    begins = 0
    size = 0
    for number, line in text_lines(source):
        if not block:
            if not opening.search(line):
                continue
            begins = number
            size = 0
        elif opening.search(line) and not closing.search(line):
            raise Fault(f"<{element}> does not end before the next begins", line=begins)
        block.append(line)
        size += len(line)
        if size > MAX_LINE:
            raise Fault(f"<{element}> is longer than {MAX_LINE // 2**20} MB", line=begins)
        if closing.search(line):
            yield begins, "\n".join(block)
            block = []
    if block:
        raise Fault(f"<{element}> does not end", line=begins)


def _plain(text: str) -> str:
    return html.unescape(_TAG.sub(" ", text)).strip()
