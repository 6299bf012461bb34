"""LlamaIndex's evaluation sets: one JSON object with ``queries``, ``corpus`` and ``relevant_docs``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from goldbench.formats.benchmarks.answered_rows import quoted, read_rag_examples
from goldbench.formats.benchmarks.collection import Collection, Entry, Qrel, Topic, topic_of_row
from goldbench.formats.faults import Fault
from goldbench.formats.json_maps import read_json
from goldbench.formats.packed_files import Source
from goldbench.records.relevance import Relevance
from goldbench.text.display import shown

_MEMBERS = ("queries", "corpus", "relevant_docs")


def read_llamaindex(path: Path) -> Collection:
    """Return the collection in a JSON file of one of LlamaIndex's classes.

    Its judgments count as a model's unless its metadata say otherwise.

    A document that is listed as relevant answers its query (grade 3), unless ``relevance_scores`` gives its grade.

    Raises:
        InputError: The file is not such JSON.
    """
    name = shown(path)
    content = read_json(Source(path))
    if isinstance(content, Mapping) and "queries" not in content and "examples" in content:
        return read_rag_examples(path, content["examples"])
    if not isinstance(content, Mapping) or not all(isinstance(content.get(m), Mapping) for m in _MEMBERS):
        raise Fault(f"is not an object with {', '.join(_MEMBERS)}").of(name)
    metadata = content.get("metadata")
    notes = dict(metadata) if isinstance(metadata, Mapping) else {}
    level = notes.get("evidence_level")
    return Collection(
        kind="llamaindex",
        documents=lambda: (Entry(key, "", text, f"corpus {key!r}") for key, text in _texts(content, "corpus", name)),
        queries=lambda: (_topic(key, text, content) for key, text in _texts(content, "queries", name)),
        judgments=lambda: _judgments(content, name),
        names=(name, name, name),
        files=(path,),
        level=level if isinstance(level, str) else "model",
        notes={"notice": notes["notice"]} if isinstance(notes.get("notice"), str) else {},
    )


def _topic(query_id: str, text: str, content: Mapping[str, Any]) -> Topic:
    """Return a query with its reference answer, which only a file of goldbench holds."""
    answers = content.get("answers")
    answer = answers.get(query_id) if isinstance(answers, Mapping) else None
    row = {"id": query_id, "text": text, "metadata": {"answer": answer}}
    topic = topic_of_row(f"query {query_id!r}", row)
    cited = answer.get("evidence") if isinstance(answer, Mapping) and topic.answer else None
    return topic._replace(answers=tuple(quoted(cited, content["corpus"])))


def _texts(content: Mapping[str, Any], member: str, name: str) -> Iterator[tuple[str, str]]:
    for key, text in content[member].items():
        if not isinstance(text, str):
            raise Fault("is not a string").at(f"{member} {key[:80]!r}").of(name)
        yield key, text


def _judgments(content: Mapping[str, Any], name: str) -> Iterator[Qrel]:
    scores = content.get("relevance_scores")
    for query_id, judged in (content["relevant_docs"] if scores is None else scores).items():
        location = f"query {query_id[:80]!r}"
        try:
            pairs = _pairs(judged)
        except Fault as fault:
            raise fault.at(location).of(name) from None
        for doc_id, grade in pairs:
            yield Qrel(query_id, doc_id, grade, location)


def _pairs(judged: object) -> list[tuple[str, int]]:
    if isinstance(judged, list) and all(isinstance(doc_id, str) for doc_id in judged):
        return [(doc_id, int(Relevance.ANSWERS)) for doc_id in judged]
    if not isinstance(judged, Mapping):
        raise Fault("neither a list of document ids nor an object of grades")
    if not all(isinstance(grade, int) and not isinstance(grade, bool) for grade in judged.values()):
        raise Fault("a grade is not a whole number")
    return list(judged.items())
