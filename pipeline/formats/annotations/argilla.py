"""Pairs and judgments for Argilla 2: records as ``Record.to_dict`` writes them, a line each, and the settings.

A pair is a record with the fields ``query`` and ``passage`` and the rating question ``grade``, 0 to 3. What Argilla has
no place for travels in the metadata of the record. Suggestions are what annotators see first, so a model's grades are
among them only where they were asked for.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pipeline.errors import InputError
from pipeline.formats.annotations.exchange import (
    RUBRIC_TEXT,
    Exchange,
    Given,
    Pair,
    details,
    grade_from,
    id_of,
    objects,
    review_of,
)
from pipeline.formats.jsonl import as_line
from pipeline.text.display import shown
from schemas.judgment import Relevance
from schemas.review_event import Review

QUESTION = "grade"
RECORDS, SETTINGS = "records.jsonl", "settings.json"
_DRAFTS = {"draft", "discarded"}


def write(exchange: Exchange) -> dict[str, str]:
    """Return the files by name: records and settings."""
    said = exchange.by_pair()
    lines = (
        as_line(json.dumps(_record(exchange, pair, said.get(pair, [])), ensure_ascii=False)) for pair in exchange.pairs
    )
    return {RECORDS: "".join(lines), SETTINGS: json.dumps(_settings(exchange), ensure_ascii=False, indent=2) + "\n"}


def _record(exchange: Exchange, pair: Pair, said: list[Review]) -> dict[str, Any]:
    query_id, chunk_id = pair
    own: dict[str, Any] = {"reviews": [details(review) for review in said]}
    if pair in exchange.adjudicated:
        annotator, grade = exchange.adjudicated[pair]
        own["adjudicated"] = {"annotator": annotator, "grade": int(grade)}
    lanes = sorted({review.lane.value for review in said if review.lane is not None})
    suggestions = {}
    if pair in exchange.model:
        agent, suggested = exchange.model[pair]
        suggestions = {QUESTION: {"value": int(suggested), "score": None, "agent": agent}}
    return {
        "id": id_of("pair", *pair),
        "fields": {"query": exchange.queries[query_id], "passage": exchange.passages[chunk_id]},
        "metadata": {
            "query_id": query_id,
            "chunk_id": chunk_id,
            "rubric_sha": exchange.rubric_sha,
            "lane": ",".join(lanes),
            "goldset": json.dumps(own, ensure_ascii=False, sort_keys=True),
        },
        "suggestions": suggestions,
        "responses": {QUESTION: [{"value": int(r.grade), "user_id": id_of("annotator", r.annotator)} for r in said]},
        "vectors": {},
    }


def _settings(exchange: Exchange) -> dict[str, Any]:
    def text(name: str, title: str) -> dict[str, Any]:
        return {
            "name": name,
            "title": title,
            "required": True,
            "settings": {"type": "text", "use_markdown": False},
        }

    def term(name: str) -> dict[str, Any]:
        return {"name": name, "title": name, "settings": {"type": "terms"}, "visible_for_annotators": False}

    return {
        "guidelines": f"How far does the passage answer the query?\n\n{RUBRIC_TEXT}\n\nrubric {exchange.rubric_sha}",
        "questions": [
            {
                "name": QUESTION,
                "title": "How far does the passage answer the query?",
                "description": RUBRIC_TEXT,
                "required": True,
                "settings": {"type": "rating", "options": [{"value": int(grade)} for grade in Relevance]},
            }
        ],
        "fields": [text("query", "Query"), text("passage", "Passage")],
        "vectors": [],
        "metadata": [term(name) for name in ("query_id", "chunk_id", "rubric_sha", "lane", "goldset")],
        "allow_extra_metadata": True,
        "distribution": {"strategy": "overlap", "min_submitted": exchange.wanted},
    }


def read(path: Path) -> Iterator[Given]:
    """Yield the judgments of records, one after the other or in one JSON array; only submitted answers count.

    Somebody this set does not know is called ``argilla-`` and the beginning of his id.

    Raises:
        InputError: A record is not what it should be; the message names its line.
    """
    for line, record in objects(path):
        metadata = record.get("metadata")
        if not isinstance(metadata, Mapping):
            raise InputError(shown(path), "a record has no metadata with query_id and chunk_id", line=line)
        pair = {name: metadata.get(name) for name in ("query_id", "chunk_id")}
        own = _own(metadata.get("goldset"), path, line)
        known = {id_of("annotator", str(one.get("annotator"))): one for one in own.get("reviews", [])}
        rubric = metadata.get("rubric_sha") if isinstance(metadata.get("rubric_sha"), str) else None
        for response in _responses(record, path, line):
            grade = grade_from(response.get("value"), path=path, line=line)
            user = str(response.get("user_id"))
            said = known.get(user, {})
            same = said.get("grade") == grade
            kept = said if same else {"annotator": said.get("annotator", f"argilla-{user[:8]}")}
            values = {"first_grade": grade, **kept, **pair, "grade": grade}
            yield Given(line, review_of(values, path=path, line=line), "judge", rubric)
        if isinstance(own.get("adjudicated"), Mapping):
            decided = own["adjudicated"]
            grade = grade_from(decided.get("grade"), path=path, line=line)
            values = {**pair, "annotator": decided.get("annotator"), "grade": grade, "first_grade": grade}
            yield Given(line, review_of(values, path=path, line=line), "adjudicate", rubric)


def _own(text: object, path: Path, line: int) -> dict[str, Any]:
    if text in (None, ""):
        return {}
    try:
        found = json.loads(str(text))
    except (ValueError, RecursionError):
        found = None
    reviews = found.get("reviews", []) if isinstance(found, dict) else None
    if not isinstance(reviews, list) or not all(isinstance(one, dict) for one in reviews):
        raise InputError(shown(path), "the metadata called goldset are not as they were written", line=line)
    return found if isinstance(found, dict) else {}


def _responses(record: Mapping[str, Any], path: Path, line: int) -> list[Mapping[str, Any]]:
    responses = record.get("responses") or {}
    given = responses.get(QUESTION, []) if isinstance(responses, Mapping) else None
    if not isinstance(given, list) or not all(isinstance(one, Mapping) for one in given):
        raise InputError(shown(path), f"the responses to {QUESTION} are no list of objects", line=line)
    return [one for one in given if one.get("status") not in _DRAFTS]
