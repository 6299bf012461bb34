"""LlamaIndex's evaluation sets: one JSON object with ``queries``, ``corpus`` and ``relevant_docs``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pipeline.errors import InputError
from pipeline.formats.benchmarks.collection import Collection, Entry, Qrel, Topic
from pipeline.formats.runs.json_maps import read_json
from pipeline.formats.runs.packed_files import Source
from pipeline.text.display import shown
from schemas.judgment import Relevance

_MODEL = "model"


def read_llamaindex(path: Path) -> Collection:
    """Return the collection in a JSON file; its queries are a model's unless the file says otherwise of itself.

    A document that is named as relevant answers its query (grade 3), unless ``relevance_scores`` say more.

    Raises:
        InputError: the file is no such JSON.
    """
    name = shown(path)
    found = read_json(Source(path))
    if not isinstance(found, Mapping) or not all(isinstance(found.get(m), Mapping) for m in _MEMBERS):
        raise InputError(name, f"is no object with {', '.join(_MEMBERS)}")
    metadata = found.get("metadata")
    said = dict(metadata) if isinstance(metadata, Mapping) else {}
    level = said.get("evidence_level")
    return Collection(
        kind="llamaindex",
        documents=lambda: (Entry(key, "", text, f"corpus {key!r}") for key, text in _texts(found, "corpus", name)),
        queries=lambda: (Topic(key, text, f"query {key!r}") for key, text in _texts(found, "queries", name)),
        judgments=lambda: _judgments(found, name),
        names=(name, name, name),
        files=(path,),
        level=level if isinstance(level, str) else _MODEL,
        notes={"notice": said["notice"]} if isinstance(said.get("notice"), str) else {},
        line_of=lambda judgment: _line_of(path, judgment),
    )


_MEMBERS = ("queries", "corpus", "relevant_docs")


def _texts(found: Mapping[str, Any], member: str, name: str) -> Iterator[tuple[str, str]]:
    for key, text in found[member].items():
        if not isinstance(text, str):
            raise InputError(name, f"{member} {key[:80]!r}: is no string")
        yield key, text


def _judgments(found: Mapping[str, Any], name: str) -> Iterator[Qrel]:
    scores = found.get("relevance_scores")
    for query_id, judged in (found["relevant_docs"] if scores is None else scores).items():
        place = f"query {query_id[:80]!r}"
        if isinstance(judged, Mapping):
            pairs = list(judged.items())
        elif isinstance(judged, list) and all(isinstance(doc_id, str) for doc_id in judged):
            pairs = [(doc_id, int(Relevance.ANSWERS)) for doc_id in judged]
        else:
            raise InputError(name, f"{place}: neither a list of document ids nor an object of grades")
        for doc_id, grade in pairs:
            if isinstance(grade, bool) or not isinstance(grade, int):
                raise InputError(name, f"{place}: a grade is no whole number")
            yield Qrel(query_id, doc_id, grade, place)


def _line_of(path: Path, judgment: Qrel) -> int | None:
    """Return the line on which the judgment stands, as far as a search for its ids can tell."""
    text = Source(path).read().decode("utf-8", "replace")
    position = max(text.rfind('"relevant_docs"'), 0)
    for wanted in (judgment.query_id, judgment.doc_id):
        forms = (json.dumps(wanted, ensure_ascii=False), json.dumps(wanted))
        places = [place for form in forms if (place := text.find(form, position)) >= 0]
        if not places:
            return None
        position = min(places)
    return text.count("\n", 0, position) + 1
