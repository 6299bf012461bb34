"""Pairs and judgments for Label Studio: tasks in its JSON, and the configuration of the labelling page with hotkeys.

Label Studio shows predictions as soon as a task is opened, so a model's grades are among them only where they were
asked for. What it has no place for travels in the task's data, by the ``unique_id`` of the annotation.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

from pipeline.errors import InputError
from pipeline.formats.annotations.exchange import Exchange, Given, Pair, details, grade_from, id_of, objects, review_of
from pipeline.text.display import shown
from schemas.judgment import RUBRIC, Relevance
from schemas.review_event import Review

TASKS, CONFIG = "tasks.json", "config.xml"
_GRADE, _NOTE, _PASSAGE = "grade", "note", "passage"


def write(exchange: Exchange) -> dict[str, str]:
    """Return the files by name: tasks and configuration."""
    said = exchange.by_pair()
    tasks = [json.dumps(_task(exchange, pair, said.get(pair, [])), ensure_ascii=False) for pair in exchange.pairs]
    return {TASKS: "[" + ",".join("\n" + task for task in tasks) + "\n]\n", CONFIG: config(exchange.rubric_sha)}


def config(rubric_sha: str) -> str:
    """Return the labelling page: the rubric always in sight, the digit is the grade."""
    choices = "\n".join(
        f'    <Choice value={quoteattr(f"{grade:d} - {RUBRIC[grade]}")} alias="{grade:d}" hotkey="{grade:d}"/>'
        for grade in sorted(Relevance, reverse=True)
    )
    return f"""<View>
  <!-- rubric {rubric_sha} -->
  <Header value="How far does the passage answer the query? In doubt take the lower grade."/>
  <Text name="query" value="$query"/>
  <Text name="{_PASSAGE}" value="$passage"/>
  <Choices name="{_GRADE}" toName="{_PASSAGE}" choice="single" required="true" showInline="false">
{choices}
  </Choices>
  <TextArea name="{_NOTE}" toName="{_PASSAGE}" placeholder="Note" maxSubmissions="1" editable="true"/>
</View>
"""


def _task(exchange: Exchange, pair: Pair, said: list[Review]) -> dict[str, Any]:
    query_id, chunk_id = pair
    own = {_unique(review): details(review) for review in said}
    annotations = [_annotation(review) for review in said]
    if pair in exchange.adjudicated:
        annotator, grade = exchange.adjudicated[pair]
        unique = id_of("adjudication", annotator, *pair)
        own[unique] = {"annotator": annotator, "kind": "adjudicate"}
        annotations.append({**_marked(unique, grade), "ground_truth": True})
    task: dict[str, Any] = {
        "data": {
            "query": exchange.queries[query_id],
            "passage": exchange.passages[chunk_id],
            "query_id": query_id,
            "chunk_id": chunk_id,
            "rubric_sha": exchange.rubric_sha,
            "lane": ",".join(sorted({review.lane.value for review in said if review.lane is not None})),
            "goldset": json.dumps(own, ensure_ascii=False, sort_keys=True),
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
    made = _marked(_unique(review), review.grade)
    if review.note:
        text = {"text": [review.note]}
        made["result"].append(
            {"id": "note", "from_name": _NOTE, "to_name": _PASSAGE, "type": "textarea", "value": text}
        )
    return made if review.ms is None else {**made, "lead_time": review.ms / 1000}


def _marked(unique: str, grade: Relevance) -> dict[str, Any]:
    return {
        "unique_id": unique,
        "was_cancelled": False,
        "ground_truth": False,
        "result": [_choice(grade, unique)],
    }


def _choice(grade: Relevance, name: str) -> dict[str, Any]:
    value = {"choices": [str(int(grade))]}
    return {"id": name[:10], "from_name": _GRADE, "to_name": _PASSAGE, "type": "choices", "value": value}


def read(path: Path) -> Iterator[Given]:
    """Yield the judgments of exported tasks; cancelled annotations are passed over.

    Somebody this set does not know is called by his mail address, or ``label-studio-`` and his number.

    Raises:
        InputError: A task is not what it should be; the message names its line.
    """
    for line, task in objects(path):
        data, annotations = task.get("data"), task.get("annotations")
        if not isinstance(data, Mapping) or not isinstance(annotations or [], list):
            raise InputError(shown(path), "a task has no data, or annotations that are no list", line=line)
        own = _own(data.get("goldset"), path, line)
        rubric = data.get("rubric_sha") if isinstance(data.get("rubric_sha"), str) else None
        pair = {name: data.get(name) for name in ("query_id", "chunk_id")}
        for annotation in annotations or []:
            if not isinstance(annotation, Mapping) or not isinstance(annotation.get("result"), list):
                raise InputError(shown(path), "an annotation has no result", line=line)
            if annotation.get("was_cancelled"):
                continue
            yield _given(annotation, own.get(str(annotation.get("unique_id")), {}), pair, path, line, rubric)


def _given(
    annotation: Mapping[str, Any],
    known: Mapping[str, Any],
    pair: Mapping[str, Any],
    path: Path,
    line: int,
    rubric: str | None,
) -> Given:
    results = [
        one for one in annotation["result"] if isinstance(one, Mapping) and isinstance(one.get("value"), Mapping)
    ]
    chosen = [one["value"].get("choices") for one in results if one.get("from_name") == _GRADE]
    if len(chosen) != 1 or not isinstance(chosen[0], list) or len(chosen[0]) != 1:
        raise InputError(shown(path), "an annotation has not exactly one grade", line=line)
    grade = grade_from(str(chosen[0][0]).partition(" - ")[0], path=path, line=line)
    notes = [one["value"].get("text") for one in results if one.get("from_name") == _NOTE]
    note = "\n".join(map(str, notes[0])) if notes and isinstance(notes[0], list) else str(notes[0] if notes else "")
    same = known.get("grade") == grade
    kept = {name: value for name, value in known.items() if name != "kind"} if same else {}
    lead = annotation.get("lead_time")
    ms = round(lead * 1000) if isinstance(lead, int | float) and 0 <= lead < 1e9 else None
    values = {"first_grade": grade, "ms": ms, **kept, **pair, "grade": grade, "note": note}
    values["annotator"] = known.get("annotator") or _name(annotation.get("completed_by"))
    kind = "adjudicate" if known.get("kind") == "adjudicate" else "judge"
    return Given(
        line, review_of(values, path=path, line=line), "adjudicate" if kind == "adjudicate" else "judge", rubric
    )


def _name(completed_by: object) -> str:
    if isinstance(completed_by, Mapping):
        return str(completed_by.get("email") or f"label-studio-{completed_by.get('id', 'unknown')}")[:64]
    return f"label-studio-{completed_by if completed_by is not None else 'unknown'}"[:64]


def _own(text: object, path: Path, line: int) -> dict[str, Mapping[str, Any]]:
    if text in (None, ""):
        return {}
    try:
        found = json.loads(str(text))
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or not all(isinstance(one, Mapping) for one in found.values()):
        raise InputError(shown(path), "the data called goldset are not as they were written", line=line)
    return found
