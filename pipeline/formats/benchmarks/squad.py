"""SQuAD: a paragraph is a passage, a question a query, an answer's span its evidence.

The official JSON (``data``, ``paragraphs``, ``qas``), or a table with ``context``, ``question`` and ``answers``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pipeline.errors import InputError
from pipeline.formats.benchmarks.collection import Collection, Entry, Place, Qrel, Topic, at
from pipeline.formats.documents.identity import document_id
from pipeline.formats.faults import in_file
from pipeline.formats.runs.json_maps import read_json
from pipeline.formats.runs.packed_files import Source
from pipeline.formats.tables import open_table
from pipeline.text.display import shown
from schemas.judgment import Relevance

MEGABYTES = 2048
"""The most a JSON file of a benchmark may hold; JSON cannot be streamed."""


class Asked(NamedTuple):
    """One question with its paragraph. ``answers`` are (start, words); none where the paragraph does not answer it."""

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
        InputError: the file is no such JSON or table.
    """
    name = shown(path)
    if Source(path).suffix == ".json":
        found = read_json(Source(path))
        if isinstance(found, Mapping):
            rows: Callable[[], Iterator[Asked]] = lambda: _official(found, name)  # noqa: E731  one of two sources
            return squad_collection("squad", rows, name, (path,))
    return squad_collection("squad", lambda: _table(path, name), name, (path,))


def squad_collection(kind: str, asked: Callable[[], Iterator[Asked]], name: str, files: tuple[Path, ...]) -> Collection:
    """Return questions with their paragraphs as a collection."""
    return Collection(
        kind=kind,
        documents=lambda: _documents(asked()),
        queries=lambda: (_topic(one, name, files) for one in asked()),
        judgments=lambda: (
            Qrel(one.query_id, one.doc_id, int(Relevance.ANSWERS), one.place) for one in asked() if one.answers
        ),
        names=(name, name, name),
        files=files,
    )


def asked_of_row(row: Mapping[str, Any], name: str, place: Place) -> Asked:
    """Return the question of a row with ``id``, ``title``, ``context``, ``question`` and ``answers``.

    Raises:
        InputError: one is missing or of another kind.
    """
    texts = [row.get(key) for key in ("title", "context", "id", "question")]
    title, context, query_id, question = texts
    if not all(isinstance(text, str) for text in (context, query_id, question)):
        raise at(name, place, "has no context, id or question that is a string")
    answers = row.get("answers")
    try:
        if isinstance(answers, Mapping):
            pairs = list(zip(answers["answer_start"], answers["text"], strict=True))
        else:
            pairs = [(answer["answer_start"], answer["text"]) for answer in answers or ()]
        found = tuple(dict.fromkeys((int(start), str(text)) for start, text in pairs))
    except (KeyError, TypeError, ValueError):
        raise at(name, place, "has answers without answer_start and text") from None
    title = title if isinstance(title, str) else ""
    return Asked(title, str(context), str(query_id), str(question), found, place)


def _official(found: Mapping[str, Any], name: str) -> Iterator[Asked]:
    articles = found.get("data")
    if not isinstance(articles, list):
        raise InputError(name, "is no SQuAD file: there is no list «data»")
    for number, article in enumerate(articles, 1):
        try:
            for paragraph in article["paragraphs"]:
                for question in paragraph["qas"]:
                    place = f"question {str(question.get('id'))[:80]!r}"
                    row = {**question, "title": article.get("title"), "context": paragraph["context"]}
                    if question.get("is_impossible"):
                        row["answers"] = ()
                    yield asked_of_row(row, name, place)
        except (KeyError, TypeError, AttributeError):
            raise InputError(name, f"article {number}: is not made as SQuAD's are (paragraphs, context, qas)") from None


def _table(path: Path, name: str) -> Iterator[Asked]:
    with in_file(path):
        for row in open_table(path, megabytes=MEGABYTES).rows():
            yield asked_of_row(row.values, name, row.place)


def _documents(asked: Iterator[Asked]) -> Iterator[Entry]:
    seen: set[str] = set()
    for one in asked:
        if one.doc_id not in seen:
            seen.add(one.doc_id)
            yield Entry(one.doc_id, one.title, one.context, one.place)


def _topic(one: Asked, name: str, files: Sequence[Path]) -> Topic:
    for start, words in one.answers:
        if start < 0 or not words or one.context[start : start + len(words)] != words:
            problem = f"its answer does not stand at character {start} of its paragraph"
            if (line := _line_of(one, files)) is not None:
                raise InputError(name, f"{one.place}: {problem}", line=line)
            raise at(name, one.place, problem)
    spans = tuple((one.doc_id, start, start + len(words), words) for start, words in one.answers)
    return Topic(one.query_id, one.question, one.place, spans)


def _line_of(one: Asked, files: Sequence[Path]) -> int | None:
    """Return the line of a JSON file on which the id of a question stands; None in a file of another kind."""
    if isinstance(one.place, int) or not files or Source(files[0]).suffix != ".json":
        return None
    text = Source(files[0]).read().decode("utf-8", "replace")
    forms = "|".join(re.escape(json.dumps(one.query_id, ensure_ascii=form)) for form in (False, True))
    found = re.search(rf'"id"\s*:\s*(?:{forms})', text)
    return text.count("\n", 0, found.start()) + 1 if found else None
