"""SQuAD: a paragraph is a passage, a question a query, an answer's span its evidence.

The official JSON (``data``, ``paragraphs``, ``qas``), or a table with ``context``, ``question`` and ``answers``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from goldbench.pipeline.formats.benchmarks.collection import Collection, Entry, Qrel, Topic
from goldbench.pipeline.formats.documents.identity import document_id
from goldbench.pipeline.formats.faults import Fault, Place, in_file, read_rows
from goldbench.pipeline.formats.json_maps import read_json
from goldbench.pipeline.formats.packed_files import Source
from goldbench.pipeline.formats.tables import open_table
from goldbench.pipeline.text.display import shown
from goldbench.schemas.relevance import Relevance

MEGABYTES = 2048
"""The largest JSON file of a benchmark, in units of 2**20 bytes; JSON cannot be read in pieces."""

Rows = Iterator[tuple[Place, Mapping[str, Any]]]


class Asked(NamedTuple):
    """One question with its paragraph. ``answers`` are pairs of start and words; empty if the paragraph has none."""

    title: str
    context: str
    query_id: str
    question: str
    answers: tuple[tuple[int, str], ...]
    place: Place

    @property
    def doc_id(self) -> str:
        """The id of the paragraph: the same words under the same title are one passage."""
        return document_id(self.title.replace("/", "-") or "paragraph", self.context)


def read_squad(path: Path) -> Collection:
    """Return the collection in a file of SQuAD's form; questions without an answer have no judgment.

    Raises:
        InputError: The file is not such JSON or table.
    """
    source = Source(path)
    found = read_json(source) if source.suffix == ".json" else None
    rows = (lambda: _official(found)) if isinstance(found, Mapping) else (lambda: _table(path))
    return squad_collection("squad", rows, shown(path), (path,))


def squad_collection(kind: str, rows: Callable[[], Rows], name: str, files: tuple[Path, ...]) -> Collection:
    """Return questions with their paragraphs as a collection.

    Args:
        kind: The kind of benchmark.
        rows: Reads the rows.
        name: The name of the benchmark in messages.
        files: The files read.
    """

    def read() -> Iterator[Asked]:
        with in_file(name):
            yield from read_rows(rows(), _asked_of_row)

    def asked_topics() -> Iterator[Topic]:
        with in_file(name):
            yield from (_topic(one, files) for one in read())

    return Collection(
        kind=kind,
        documents=lambda: _documents(read()),
        queries=asked_topics,
        judgments=lambda: (
            Qrel(one.query_id, one.doc_id, int(Relevance.ANSWERS), one.place) for one in read() if one.answers
        ),
        names=(name, name, name),
        files=files,
    )


def _asked_of_row(place: Place, row: Mapping[str, Any]) -> Asked:
    """Return the question of a row with ``id``, ``title``, ``context``, ``question`` and ``answers``."""
    title, context, query_id, question = (row.get(key) for key in ("title", "context", "id", "question"))
    if not all(isinstance(text, str) for text in (context, query_id, question)):
        raise Fault("has no context, id or question that is a string")
    answers = row.get("answers")
    try:
        if isinstance(answers, Mapping):
            pairs = list(zip(answers["answer_start"], answers["text"], strict=True))
        else:
            pairs = [(answer["answer_start"], answer["text"]) for answer in answers or ()]
        found = tuple(dict.fromkeys((int(start), str(text)) for start, text in pairs))
    except (KeyError, TypeError, ValueError):
        raise Fault("has answers without answer_start and text") from None
    title = title if isinstance(title, str) else ""
    return Asked(title, str(context), str(query_id), str(question), found, place)


def _table(path: Path) -> Rows:
    yield from ((row.place, row.values) for row in open_table(path, megabytes=MEGABYTES).rows())


def _official(found: Mapping[str, Any]) -> Rows:
    articles = found.get("data")
    if not isinstance(articles, list):
        raise Fault("is not a SQuAD file: there is no list «data»")
    for number, article in enumerate(articles, 1):
        try:
            for paragraph in article["paragraphs"]:
                for question in paragraph["qas"]:
                    row = {**question, "title": article.get("title"), "context": paragraph["context"]}
                    if question.get("is_impossible"):
                        row["answers"] = ()
                    yield f"question {str(question.get('id'))[:80]!r}", row
        except (KeyError, TypeError, AttributeError):
            problem = "is not in the form of SQuAD (paragraphs, context, qas)"
            raise Fault(problem).at(f"article {number}") from None


def _documents(asked: Iterator[Asked]) -> Iterator[Entry]:
    seen: set[str] = set()
    for one in asked:
        if one.doc_id not in seen:
            seen.add(one.doc_id)
            yield Entry(one.doc_id, one.title, one.context, one.place)


def _topic(one: Asked, files: Sequence[Path]) -> Topic:
    for start, words in one.answers:
        if start < 0 or not words or one.context[start : start + len(words)] != words:
            problem = f"its answer does not stand at character {start} of its paragraph"
            line = _line_of(one, files)
            raise Fault(problem).at(one.place) if line is None else Fault(f"{one.place}: {problem}", line=line)
    spans = tuple((one.doc_id, start, start + len(words), words) for start, words in one.answers)
    return Topic(one.query_id, one.question, one.place, spans)


def _line_of(one: Asked, files: Sequence[Path]) -> int | None:
    """Return the line of a JSON file on which the id of a question stands; None if the file is not JSON."""
    if isinstance(one.place, int) or not files or Source(files[0]).suffix != ".json":
        return None
    text = Source(files[0]).read().decode("utf-8", "replace")
    forms = "|".join(re.escape(json.dumps(one.query_id, ensure_ascii=form)) for form in (False, True))
    found = re.search(rf'"id"\s*:\s*(?:{forms})', text)
    return text.count("\n", 0, found.start()) + 1 if found else None
