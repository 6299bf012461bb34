"""Pairs and judgments for Argilla 2: one record per line, as ``Record.to_dict`` writes it, and the settings.

A pair is a record with the fields ``query`` and ``passage`` and the rating question ``grade``, 0 to 3; what a person
must know of a query to judge it fairly has fields of its own above them. Fields that Argilla has no place for are in
the metadata of the record. Annotators see suggestions first, so suggestions hold a model's grades only if the user asks
for them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from goldbench.formats.annotations.exchange import (
    BESIDE,
    Exchange,
    Given,
    Pair,
    details,
    grade_from,
    id_of,
    lanes_of,
    objects,
    own_details,
    review_of,
)
from goldbench.formats.faults import Fault, in_file, read_rows
from goldbench.formats.jsonl import as_line
from goldbench.records.relevance import Relevance
from goldbench.records.review_event import Review

QUESTION = "grade"
RECORDS = "records.jsonl"
SETTINGS = "settings.json"
_DRAFTS = {"draft", "discarded"}


def write(exchange: Exchange) -> dict[str, str]:
    """Return the files by name: records and settings."""
    reviews = exchange.by_pair()
    lines = (
        as_line(json.dumps(_record(exchange, pair, reviews.get(pair, [])), ensure_ascii=False))
        for pair in exchange.pairs
    )
    return {RECORDS: "".join(lines), SETTINGS: json.dumps(_settings(exchange), ensure_ascii=False, indent=2) + "\n"}


def _record(exchange: Exchange, pair: Pair, reviews: list[Review]) -> dict[str, Any]:
    query_id, chunk_id = pair
    own: dict[str, Any] = {"reviews": [details(review) for review in reviews]}
    if pair in exchange.adjudicated:
        annotator, grade = exchange.adjudicated[pair]
        own["adjudicated"] = {"annotator": annotator, "grade": int(grade)}
    suggestions = {}
    if pair in exchange.model:
        agent, suggested = exchange.model[pair]
        suggestions = {QUESTION: {"value": int(suggested), "score": None, "agent": agent}}
    return {
        "id": id_of("pair", *pair),
        "fields": {
            **{name: text for name, text in exchange.beside(query_id).items() if text},
            "query": exchange.judged(query_id),
            "passage": exchange.passages[chunk_id],
        },
        "metadata": {
            "query_id": query_id,
            "chunk_id": chunk_id,
            "rubric_sha": exchange.rubric.sha,
            "lane": lanes_of(reviews),
            "goldbench": json.dumps(own, ensure_ascii=False, sort_keys=True),
            **exchange.answer(query_id),
        },
        "suggestions": suggestions,
        "responses": {QUESTION: [{"value": int(r.grade), "user_id": id_of("annotator", r.annotator)} for r in reviews]},
        "vectors": {},
    }


def _settings(exchange: Exchange) -> dict[str, Any]:
    def text(name: str, title: str, *, required: bool = True) -> dict[str, Any]:
        settings = {"type": "text", "use_markdown": False}
        return {"name": name, "title": title, "required": required, "settings": settings}

    def term(name: str) -> dict[str, Any]:
        return {"name": name, "title": name, "settings": {"type": "terms"}, "visible_for_annotators": False}

    names = ("query_id", "chunk_id", "rubric_sha", "lane", "goldbench", *(["answer"] if exchange.answers else []))
    rubric = exchange.rubric
    return {
        "guidelines": f"How far does the passage answer the query?\n\n{rubric.text}\n\nrubric {rubric.sha}",
        "questions": [
            {
                "name": QUESTION,
                "title": "How far does the passage answer the query?",
                "description": rubric.text,
                "required": True,
                "settings": {"type": "rating", "options": [{"value": int(grade)} for grade in Relevance]},
            }
        ],
        "fields": [
            *(text(name, BESIDE[name], required=False) for name in exchange.beside_names),
            text("query", "Query"),
            text("passage", "Passage"),
        ],
        "vectors": [],
        "metadata": [term(name) for name in names],
        "allow_extra_metadata": True,
        "distribution": {"strategy": "overlap", "min_submitted": exchange.wanted},
    }


def read(path: Path) -> Iterator[Given]:
    """Yield the judgments of records, one after the other or in one JSON array; only submitted answers count.

    An annotator who is unknown to this set is called ``argilla-`` and the beginning of the annotator's id.

    Raises:
        InputError: A record is not valid; the message names its line.
    """
    with in_file(path):
        for row in read_rows(objects(path), _given):
            yield from row


def _given(line: int, record: Mapping[str, Any]) -> list[Given]:
    metadata = record.get("metadata")
    if not isinstance(metadata, Mapping):
        raise Fault("a record has no metadata with query_id and chunk_id")
    pair = {name: metadata.get(name) for name in ("query_id", "chunk_id")}
    own = own_details(metadata.get("goldbench"))
    reviews = own.get("reviews", [])
    if not isinstance(reviews, list) or not all(isinstance(review, dict) for review in reviews):
        raise Fault("the field called goldbench differs from what was written")
    known = {id_of("annotator", str(answer.get("annotator"))): answer for answer in reviews}
    rubric = metadata.get("rubric_sha") if isinstance(metadata.get("rubric_sha"), str) else None
    reviews_of_pairs = []
    for response in _responses(record):
        grade = grade_from(response.get("value"))
        user = str(response.get("user_id"))
        details = known.get(user, {})
        same = details.get("grade") == grade
        details_of_same = details if same else {"annotator": details.get("annotator", f"argilla-{user[:8]}")}
        reviews_of_pairs.append(
            Given(line, review_of({"first_grade": grade, **details_of_same, **pair, "grade": grade}), "judge", rubric)
        )
    if isinstance(own.get("adjudicated"), Mapping):
        decided = own["adjudicated"]
        grade = grade_from(decided.get("grade"))
        values = {**pair, "annotator": decided.get("annotator"), "grade": grade, "first_grade": grade}
        reviews_of_pairs.append(Given(line, review_of(values), "adjudicate", rubric))
    return reviews_of_pairs


def _responses(record: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    responses = record.get("responses") or {}
    responses_given = responses.get(QUESTION, []) if isinstance(responses, Mapping) else None
    if not isinstance(responses_given, list) or not all(isinstance(response, Mapping) for response in responses_given):
        raise Fault(f"the responses to {QUESTION} are not a list of objects")
    return [response for response in responses_given if response.get("status") not in _DRAFTS]
