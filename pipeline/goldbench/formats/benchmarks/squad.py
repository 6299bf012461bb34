"""SQuAD: a paragraph is a passage, a question a query, an answer's span its evidence.

The official JSON (``data``, ``paragraphs``, ``qas``), also that of CMRC 2018, which has a list of paragraphs
(``context_id``, ``context_text``, ``qas``) with answers that name no place; or a table with ``context``, ``question``
and ``answers``. An answer that does not stand at its place, as those of CMRC 2018 at -1, is broken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from goldbench.formats.benchmarks.collection import Collection, Entry, MalformedItem, Qrel, Topic, distinct, table_rows
from goldbench.formats.documents.identity import document_id
from goldbench.formats.faults import Fault, Location, in_file, read_rows
from goldbench.formats.json_maps import read_json
from goldbench.formats.packed_files import Source
from goldbench.records.relevance import Relevance
from goldbench.text.display import shown

MISPLACED = "misplaced-answers"
"""The reason why an answer is left out of a question that has others."""

_ANSWERS = int(Relevance.ANSWERS)

Rows = Iterator[tuple[Location, Mapping[str, Any]]]


class ParagraphQuestion(NamedTuple):
    """One question with its paragraph. ``answers`` are pairs of start and words; empty if the paragraph has none."""

    title: str
    context: str
    query_id: str
    question: str
    answers: tuple[tuple[int, str], ...]
    location: Location

    @property
    def doc_id(self) -> str:
        """The id of the paragraph: the same words under the same title are one passage."""
        return document_id(self.title.replace("/", "-") or "paragraph", self.context)

    @property
    def placed(self) -> tuple[tuple[int, str], ...]:
        """The answers that stand at their place in the paragraph."""
        return tuple(answer for answer in self.answers if self._holds(*answer))

    @property
    def misplaced(self) -> tuple[int, ...]:
        """The places of the other answers, negative where the file gives none."""
        return tuple(start for start, words in self.answers if not self._holds(start, words))

    def _holds(self, start: int, words: str) -> bool:
        return start >= 0 and bool(words) and self.context.startswith(words, start)


def read_squad(path: Path) -> Collection:
    """Return the collection in a file of SQuAD's form; questions without an answer have no judgment.

    Raises:
        InputError: The file is not such JSON or table.
    """
    source = Source(path)
    if source.suffix != ".json":
        return squad_collection("squad", lambda: table_rows(path), shown(path), (path,))
    content = read_json(source)
    official = isinstance(content, Mapping)
    if not official and not _is_of_cmrc(content):
        return squad_collection("squad", lambda: table_rows(path), shown(path), (path,))
    rows = (lambda: _official(content)) if official else (lambda: _of_cmrc(content))
    return squad_collection("squad", rows, shown(path), (path,))


def squad_collection(kind: str, rows: Callable[[], Rows], name: str, files: tuple[Path, ...]) -> Collection:
    """Return questions with their paragraphs as a collection.

    Args:
        kind: The kind of benchmark.
        rows: Reads the rows.
        name: The name of the benchmark in messages.
        files: The files read.
    """

    def read() -> Iterator[ParagraphQuestion]:
        with in_file(name):
            yield from read_rows(rows(), _asked_of_row)

    return Collection(
        kind=kind,
        documents=lambda: distinct(
            Entry(question.doc_id, question.title, question.context, question.location) for question in read()
        ),
        queries=lambda: (_topic(question) for question in read() if question.placed or not question.answers),
        judgments=lambda: (judged for question in read() for judged in _judged(question)),
        names=(name, name, name),
        files=files,
    )


def _asked_of_row(location: Location, row: Mapping[str, Any]) -> ParagraphQuestion:
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
        distinct_answers = tuple(dict.fromkeys((int(start), str(text)) for start, text in pairs))
    except (KeyError, TypeError, ValueError):
        raise Fault("has answers without answer_start and text") from None
    title = title if isinstance(title, str) else ""
    return ParagraphQuestion(title, str(context), str(query_id), str(question), distinct_answers, location)


def _official(content: Mapping[str, Any]) -> Rows:
    articles = content.get("data")
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


def _is_of_cmrc(content: object) -> bool:
    return (
        isinstance(content, list) and bool(content) and isinstance(content[0], Mapping) and "context_text" in content[0]
    )


def _of_cmrc(paragraphs: list[Any]) -> Rows:
    """Yield the questions of CMRC 2018; an answer stands where its words stand first."""
    for number, paragraph in enumerate(paragraphs, 1):
        try:
            context = paragraph["context_text"]
            for question in paragraph["qas"]:
                query_id = question["query_id"]
                answers = dict.fromkeys(question["answers"])
                row = {"id": query_id, "question": question["query_text"], "context": context}
                row["answers"] = [{"text": words, "answer_start": context.find(words)} for words in answers]
                yield f"question {str(query_id)[:80]!r}", {**row, "title": paragraph.get("title")}
        except (KeyError, TypeError, AttributeError):
            problem = "is not in the form of CMRC 2018 (context_text, qas, query_text, query_id, answers)"
            raise Fault(problem).at(f"paragraph {number}") from None


def _judged(question: ParagraphQuestion) -> Iterator[Qrel | MalformedItem]:
    """Yield the judgment of a question that has an answer in its paragraph, and its broken answers."""
    if question.answers and not question.placed:
        problem = _misplaced(question.misplaced[0])
        if len(question.answers) > 1:
            problem = f"none of its {len(question.answers)} answers stands at its place in its paragraph"
        yield MalformedItem(question.query_id, question.location, problem)
        return
    for start in question.misplaced:
        yield MalformedItem(question.query_id, question.location, _misplaced(start), part=MISPLACED)
    if question.placed:
        yield Qrel(question.query_id, question.doc_id, _ANSWERS, question.location)


def _misplaced(start: int) -> str:
    where = f"at character {start} of" if start >= 0 else "in"
    return f"its answer does not stand {where} its paragraph"


def _topic(question: ParagraphQuestion) -> Topic:
    spans = tuple((question.doc_id, start, start + len(words), words) for start, words in question.placed)
    return Topic(question.query_id, question.question, question.location, spans)
