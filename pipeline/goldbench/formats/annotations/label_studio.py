"""Pairs and judgments for Label Studio: tasks in its JSON, and the configuration of the labelling page with hotkeys.

Label Studio shows predictions as soon as a task is opened, so predictions hold a model's grades only if the user asks
for them. Fields that it has no place for are in the task's data, by the ``unique_id`` of the annotation.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

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
from goldbench.prompts.rubric import Rubric
from goldbench.records.relevance import Relevance
from goldbench.records.review_event import Review

TASKS = "tasks.json"
CONFIG = "config.xml"
_GRADE = "grade"
_NOTE = "note"
_PASSAGE = "passage"


def write(exchange: Exchange) -> dict[str, str]:
    """Return the files by name: tasks and configuration."""
    reviews = exchange.by_pair()
    tasks = [json.dumps(_task(exchange, pair, reviews.get(pair, [])), ensure_ascii=False) for pair in exchange.pairs]
    return {
        TASKS: "[" + ",".join("\n" + task for task in tasks) + "\n]\n",
        CONFIG: config(exchange.rubric, exchange.beside_names),
    }


def config(rubric: Rubric, beside: Sequence[str] = ()) -> str:
    """Return the labelling page, which always shows the rubric; the key of a digit gives the grade.

    Args:
        rubric: The rubric.
        beside: The fields of a task that are shown above the query, as `Exchange.beside` names them.
    """
    above = "".join(
        f'  <Header value={quoteattr(BESIDE[name])} size="6"/>\n  <Text name="{name}" value="${name}"/>\n'
        for name in beside
    )
    lines = filter(None, rubric.text.splitlines())
    rules = "".join(f'  <Header value={quoteattr(line)} size="6"/>\n' for line in lines)
    choices = "\n".join(
        f'    <Choice value="{grade:d}" alias="{grade:d}" hotkey="{grade:d}"/>'
        for grade in sorted(Relevance, reverse=True)
    )
    return f"""<View>
  <!-- rubric {rubric.sha} -->
  <Header value="How far does the passage answer the query?"/>
{rules}{above}  <Text name="query" value="$query"/>
  <Text name="{_PASSAGE}" value="$passage"/>
  <Choices name="{_GRADE}" toName="{_PASSAGE}" choice="single" required="true" showInline="false">
{choices}
  </Choices>
  <TextArea name="{_NOTE}" toName="{_PASSAGE}" placeholder="Note" maxSubmissions="1" editable="true"/>
</View>
"""


def _task(exchange: Exchange, pair: Pair, reviews: list[Review]) -> dict[str, Any]:
    query_id, chunk_id = pair
    own = {_unique(review): details(review) for review in reviews}
    annotations = [_annotation(review) for review in reviews]
    if pair in exchange.adjudicated:
        annotator, grade = exchange.adjudicated[pair]
        unique = id_of("adjudication", annotator, *pair)
        own[unique] = {"annotator": annotator, "kind": "adjudicate"}
        annotations.append({**_marked(unique, grade), "ground_truth": True})
    task: dict[str, Any] = {
        "data": {
            **exchange.beside(query_id),
            "query": exchange.judged(query_id),
            "passage": exchange.passages[chunk_id],
            "query_id": query_id,
            "chunk_id": chunk_id,
            "rubric_sha": exchange.rubric.sha,
            "lane": lanes_of(reviews),
            "goldbench": json.dumps(own, ensure_ascii=False, sort_keys=True),
            **exchange.answer(query_id),
        },
        "annotations": annotations,
    }
    if pair in exchange.model:
        agent, grade = exchange.model[pair]
        task["predictions"] = [{"model_version": agent, "result": [_choice(grade, id_of("model", agent, *pair))]}]
    return task


def _unique(review: Review) -> str:
    return id_of("annotation", review.annotator, review.query_id, review.chunk_id)


def _annotation(review: Review) -> dict[str, Any]:
    annotation = _marked(_unique(review), review.grade)
    if review.note:
        text = {"text": [review.note]}
        annotation["result"].append(
            {"id": "note", "from_name": _NOTE, "to_name": _PASSAGE, "type": "textarea", "value": text}
        )
    return annotation if review.ms is None else {**annotation, "lead_time": review.ms / 1000}


def _marked(unique: str, grade: Relevance) -> dict[str, Any]:
    result = [_choice(grade, unique)]
    return {"unique_id": unique, "was_cancelled": False, "ground_truth": False, "result": result}


def _choice(grade: Relevance, name: str) -> dict[str, Any]:
    value = {"choices": [str(int(grade))]}
    return {"id": name[:10], "from_name": _GRADE, "to_name": _PASSAGE, "type": "choices", "value": value}


def read(path: Path) -> Iterator[Given]:
    """Yield the judgments of exported tasks; cancelled annotations are skipped.

    An annotator who is unknown to this set is called by the mail address, or ``label-studio-`` and the number.

    Raises:
        InputError: A task is not valid; the message names its line.
    """
    with in_file(path):
        for row in read_rows(objects(path), _given):
            yield from row


def _given(line: int, task: Mapping[str, Any]) -> list[Given]:
    data = task.get("data")
    annotations = task.get("annotations") or []
    if not isinstance(data, Mapping) or not isinstance(annotations, list):
        raise Fault("a task has no data, or its annotations are not a list")
    own = own_details(data.get("goldbench"))
    if not all(isinstance(item, Mapping) for item in own.values()):
        raise Fault("the field called goldbench differs from what was written")
    rubric = data.get("rubric_sha") if isinstance(data.get("rubric_sha"), str) else None
    pair = {name: data.get(name) for name in ("query_id", "chunk_id")}
    collected = []
    for annotation in annotations:
        if not isinstance(annotation, Mapping) or not isinstance(annotation.get("result"), list):
            raise Fault("an annotation has no result")
        if not annotation.get("was_cancelled"):
            known = own.get(str(annotation.get("unique_id")), {})
            review = _review(annotation, known, pair)
            collected.append(
                Given(line, review, "adjudicate" if known.get("kind") == "adjudicate" else "judge", rubric)
            )
    return collected


def _review(annotation: Mapping[str, Any], known: Mapping[str, Any], pair: Mapping[str, Any]) -> Review:
    results = [
        entry
        for entry in annotation["result"]
        if isinstance(entry, Mapping) and isinstance(entry.get("value"), Mapping)
    ]
    chosen = [result["value"].get("choices") for result in results if result.get("from_name") == _GRADE]
    if len(chosen) != 1 or not isinstance(chosen[0], list) or len(chosen[0]) != 1:
        raise Fault("an annotation does not have exactly one grade")
    grade = grade_from(str(chosen[0][0]).partition(" - ")[0])
    notes = [entry["value"].get("text") for entry in results if entry.get("from_name") == _NOTE]
    note = "\n".join(map(str, notes[0])) if notes and isinstance(notes[0], list) else str(notes[0] if notes else "")
    same = known.get("grade") == grade
    details = {name: value for name, value in known.items() if name != "kind"} if same else {}
    lead = annotation.get("lead_time")
    ms = round(lead * 1000) if isinstance(lead, int | float) and 0 <= lead < 1e9 else None
    values = {"first_grade": grade, "ms": ms, **details, **pair, "grade": grade, "note": note}
    values["annotator"] = known.get("annotator") or _name(annotation.get("completed_by"))
    return review_of(values)


def _name(completed_by: object) -> str:
    if isinstance(completed_by, Mapping):
        return str(completed_by.get("email") or f"label-studio-{completed_by.get('id', 'unknown')}")[:64]
    return f"label-studio-{completed_by if completed_by is not None else 'unknown'}"[:64]
