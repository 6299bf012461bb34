"""Sets of ragas, deepeval, LangSmith and LlamaIndex: rows of a query, its passages as texts, and a reference answer.

The passages of all rows become the corpus; texts that are the same are one passage. What ``goldbench export`` adds to a
row (ids, grades, evidence, earlier turns) is read back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from goldbench.formats.benchmarks.collection import (
    Collection,
    Entry,
    MalformedItem,
    Qrel,
    Topic,
    distinct,
    listed_rows,
    topic_of_row,
)
from goldbench.formats.documents.identity import document_id
from goldbench.formats.exported_about import About, about_of
from goldbench.formats.faults import Fault, Location, in_file, location_in_words
from goldbench.formats.packed_files import Source
from goldbench.records.query import QueryKind
from goldbench.records.relevance import RELEVANT, Relevance
from goldbench.text.display import shown

_KINDS = tuple(kind for kind in QueryKind if kind is not QueryKind.UNANSWERABLE)
_RELEVANT = [int(grade) for grade in Relevance if grade >= RELEVANT]


class RowFields(NamedTuple):
    """What a row holds, not checked: the query, its answer, the texts of its passages, their ids, and what we added."""

    question: object
    answer: object
    contexts: object
    ids: object = None
    known: object = None


class AnsweredRow(NamedTuple):
    """A row that is a query with its passages, text by id. ``known`` is what an export of goldbench added."""

    query_id: str
    question: str
    answer: str | None
    passages: dict[str, str]
    known: Mapping[str, Any]
    location: Location


Rows = Iterable[tuple[Location, object]]


def read_ragas(path: Path) -> Collection:
    """Return the collection in a ragas data set: JSON Lines, or a JSON list of single-turn samples.

    Raises:
        InputError: The file is neither.
    """
    return _of_file("ragas", path, _of_ragas)


def read_deepeval(path: Path) -> Collection:
    """Return the collection in goldens of deepeval: a JSON list, or JSON Lines.

    Raises:
        InputError: The file is neither.
    """
    return _of_file("deepeval", path, _of_deepeval)


def read_langsmith(path: Path) -> Collection:
    """Return the collection in examples of LangSmith: JSON Lines, or a JSON list.

    Raises:
        InputError: The file is neither.
    """
    return _of_file("langsmith", path, _of_langsmith)


def read_rag_examples(path: Path, examples: object) -> Collection:
    """Return the collection in the examples of LlamaIndex's ``LabelledRagDataset``.

    Args:
        path: The file that they were read from.
        examples: The member ``examples`` of that file.

    Raises:
        InputError: It is not a list.
    """
    if not isinstance(examples, list):
        raise Fault("has examples that are not a list").of(shown(path))
    rows = [(f"example {number}", row) for number, row in enumerate(examples, 1)]
    return _collection("llamaindex", path, list(_samples(rows, _of_rag_example)))


def _of_file(kind: str, path: Path, read: Callable[[Mapping[str, Any]], RowFields]) -> Collection:
    source = Source(path)
    with in_file(source.name):
        return _collection(kind, path, list(_samples(listed_rows(source), read)))


def _collection(kind: str, path: Path, samples: list[AnsweredRow | MalformedItem]) -> Collection:
    name = shown(path)
    whole = [sample for sample in samples if isinstance(sample, AnsweredRow)]
    about = about_of(whole[0].known) if whole else About()
    return Collection(
        kind=kind,
        documents=lambda: distinct(
            Entry(doc_id, "", text, row.location) for row in whole for doc_id, text in row.passages.items()
        ),
        queries=lambda: map(_topic, whole),
        judgments=lambda: (qrel for row in samples for qrel in _judged(row)),
        names=(name, name, name),
        files=(path,),
        level=about.level or "model",
        notes=about.notes,
    )


def _samples(rows: Rows, read: Callable[[Mapping[str, Any]], RowFields]) -> Iterator[AnsweredRow | MalformedItem]:
    for number, (location, row) in enumerate(rows, 1):
        try:
            yield _checked(read(_object(row)), f"q{number}", location)
        except Fault as fault:
            yield MalformedItem(location_in_words(location), location, fault.problem)


def _object(row: object) -> Mapping[str, Any]:
    if not isinstance(row, Mapping):
        raise Fault("is not a JSON object")
    return row


def _checked(fields: RowFields, otherwise: str, location: Location) -> AnsweredRow:
    known = fields.known if isinstance(fields.known, Mapping) else {}
    if not isinstance(fields.question, str):
        raise Fault("has no query that is a text; conversations of several turns cannot be read")
    if fields.answer is not None and not isinstance(fields.answer, str):
        raise Fault("has a reference answer that is not a text")
    answer = fields.answer if fields.answer and fields.answer.strip() else None
    query_id = known.get("query_id")
    named = query_id if isinstance(query_id, str) else otherwise
    passages = _passages(fields)
    if not passages and known.get("answerable") is not False:
        raise Fault("names no passage that answers its query")
    return AnsweredRow(named, fields.question, answer, passages, known, location)


def _passages(fields: RowFields) -> dict[str, str]:
    texts = [] if fields.contexts is None else fields.contexts
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise Fault("has passages that are not a list of texts")
    if fields.ids is None:
        return {document_id("passage", text): text for text in texts}
    named = isinstance(fields.ids, list) and all(isinstance(identity, str | int) for identity in fields.ids)
    if not isinstance(fields.ids, list) or not named or len(fields.ids) != len(texts):
        raise Fault(f"has {len(texts)} passages, and ids that are not a list of as many")
    passages: dict[str, str] = {}
    for doc_id, text in zip(map(str, fields.ids), texts, strict=True):
        if passages.setdefault(doc_id, text) != text:
            raise Fault(f"has two passages with the id {shown(doc_id)!r} and different texts")
    return passages


def _judged(sample: AnsweredRow | MalformedItem) -> Iterator[Qrel | MalformedItem]:
    if isinstance(sample, MalformedItem):
        yield sample
    else:
        yield from (Qrel(sample.query_id, doc_id, grade, sample.location) for doc_id, grade in _grades(sample).items())


def _grades(sample: AnsweredRow) -> dict[str, int]:
    """Return the grades that an export noted; else 3 for a passage that stands alone, and 2 for each of several.

    Passages of a row are relevant, so that grades of another scale than 0 to 3 are not taken.
    """
    noted = sample.known.get("grades")
    known = noted if isinstance(noted, Mapping) else {}
    grades = {doc_id: int(grade) for doc_id in sample.passages if (grade := known.get(doc_id)) in _RELEVANT}
    if len(grades) == len(sample.passages):
        return grades
    usual = Relevance.ANSWERS if len(sample.passages) == 1 else RELEVANT
    return dict.fromkeys(sample.passages, int(usual))


def _topic(sample: AnsweredRow) -> Topic:
    topic = noted_topic(
        sample.location, {"id": sample.query_id, "text": sample.question}, sample.answer, sample.known, sample.passages
    )
    if not sample.passages:
        source = sample.known.get("source")
        return topic._replace(kind=QueryKind.UNANSWERABLE, near=source if isinstance(source, str) else None)
    return topic if sample.passages.keys() >= set(topic.needs) else topic._replace(needs=())


def noted_topic(
    location: Location, row: Mapping[str, Any], answer: object, known: Mapping[str, Any], passages: Mapping[str, str]
) -> Topic:
    """Return a query with what an export of goldbench noted of it.

    Args:
        location: Where its row stands.
        row: Its id and text.
        answer: Its reference answer, if any.
        known: The notes: ``asked``, ``history``, ``kind``, ``needs``, and ``evidence`` as `quoted` takes it.
        passages: The texts by id that the evidence quotes.

    Raises:
        Fault: It has no id or no text.
    """
    asked_text = known.get("asked")
    needs = known.get("needs")
    metadata: dict[str, Any] = {"answer": {"text": answer}, "history": known.get("history")}
    if isinstance(asked_text, str):
        metadata["standalone"] = row.get("text")
        row = {**row, "text": asked_text}
    topic = topic_of_row(location, {**row, "metadata": metadata})
    needed = tuple(doc_id for doc_id in needs if isinstance(doc_id, str)) if isinstance(needs, list) else ()
    return topic._replace(
        answers=tuple(quoted(known.get("evidence"), passages)) if topic.answer else (),
        kind=next((kind for kind in _KINDS if kind == known.get("kind")), None),
        needs=needed if len(needed) > 1 else (),
    )


def cited_ids(cited: object) -> Iterator[str]:
    """Yield the passages that the quotes of a reference answer stand in; see `quoted`."""
    for citation in cited if isinstance(cited, list) else ():
        if isinstance(citation, Mapping) and isinstance(citation.get("chunk_id"), str):
            yield citation["chunk_id"]


def quoted(cited: object, passages: Mapping[str, Any]) -> Iterator[tuple[str, int, int, str]]:
    """Yield the quotes of a reference answer as `Topic.answers` has them, each where its passage holds it.

    Args:
        cited: A list of objects with ``quote`` and ``chunk_id``, as in ``dataset.json``; anything else has no quotes.
        passages: The texts by id.
    """
    for citation in cited if isinstance(cited, list) else ():
        doc_id, quote = (
            (citation.get("chunk_id"), citation.get("quote")) if isinstance(citation, Mapping) else (None, None)
        )
        text = passages.get(doc_id) if isinstance(doc_id, str) else None
        start = text.find(quote) if isinstance(text, str) and isinstance(quote, str) and quote else -1
        if start >= 0:
            yield str(doc_id), start, start + len(str(quote)), str(quote)


def _of_ragas(row: Mapping[str, Any]) -> RowFields:
    ids = row.get("reference_context_ids")
    return RowFields(
        row.get("user_input"), row.get("reference"), row.get("reference_contexts"), ids, row.get("goldbench")
    )


def _of_deepeval(row: Mapping[str, Any]) -> RowFields:
    known = row.get("additional_metadata")
    ids = known.get("context_ids") if isinstance(known, Mapping) else None
    return RowFields(row.get("input"), row.get("expected_output"), row.get("context"), ids, known)


def _of_langsmith(row: Mapping[str, Any]) -> RowFields:
    inputs = row.get("inputs")
    outputs = row.get("reference_outputs", row.get("outputs"))
    known = row.get("metadata")
    ids = known.get("context_ids") if isinstance(known, Mapping) else None
    return RowFields(
        _member(inputs, ("question", "query", "input")),
        _member(outputs, ("answer", "output", "response")),
        _member(outputs, ("contexts", "context", "documents")),
        ids,
        known,
    )


def _of_rag_example(row: Mapping[str, Any]) -> RowFields:
    return RowFields(row.get("query"), row.get("reference_answer"), row.get("reference_contexts"))


def _member(value: object, names: tuple[str, ...]) -> object:
    """Return the first of these members; people call them as they like."""
    return next((value[name] for name in names if name in value), None) if isinstance(value, Mapping) else None
