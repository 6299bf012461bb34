"""Import of judgments into a ledger: all of a file or nothing; importing a file again adds nothing."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from goldbench.errors import Message, UsageError
from goldbench.formats.annotations import argilla, judgment_table, label_studio, ledger_lines, settled_qrels
from goldbench.formats.annotations.exchange import Given
from goldbench.formats.faults import Fault, explain, in_file
from goldbench.records.review_event import Event, EventKind, Review
from goldbench.review.exports import Format
from goldbench.review.ledger import Ledger, is_same_act
from goldbench.review.meanings import Meanings
from goldbench.review.people import current_ids
from goldbench.review.reviewable_set import ReviewableSet
from goldbench.review.state import State, fold

_LONGEST_MS = 2**31 - 1
"""Milliseconds that every database can store as a whole number; longer times are refused."""


@dataclass(frozen=True, slots=True)
class ImportedJudgments:
    """The numbers of judgments (or events) read, and of events added to the ledger."""

    read: int
    new: int


def import_file(
    path: Path, form: Format, *, material: ReviewableSet, ledger: Ledger, at: str, annotator: str | None = None
) -> ImportedJudgments:
    """Import a file into a ledger.

    Args:
        path: The file; for argilla and label-studio also the folder of the export.
        form: The format.
        material: The data set.
        ledger: The ledger.
        at: The time of the judgments, UTC, ISO 8601; events have their own.
        annotator: The annotator, for formats that do not hold one.

    Raises:
        InputError: The file is not valid, or of another data set or rubric; nothing was imported.
        UsageError: trec needs an annotator.
    """
    before = ledger.events()
    meanings: Meanings | None = None
    with in_file(path):
        if form == "native":
            events, meanings = _native(path, before, material, ledger)
            count = len(events)
        else:
            events_before = ledger.translated(before).events
            count, events = _judgments(_given(path, form, annotator), (before, events_before), material, at)
    known = {event.client_id for event in before}
    ledger.append_all(events, meanings=meanings)
    return ImportedJudgments(count, sum(event.client_id not in known for event in events))


def _native(
    path: Path, before: Iterable[Event], material: ReviewableSet, ledger: Ledger
) -> tuple[list[Event], Meanings]:
    """Return the events of a file and what their ids mean, checked against the data set and the events before them."""
    queries = current_ids(material)
    known = {event.client_id: event for event in before}
    texts, lines = ledger_lines.read(path, data_sha=ledger.data_sha)
    try:
        meanings = Meanings.from_rows(texts)
    except ValueError:
        raise Fault("holds texts that are not valid") from None
    for line, event in ((line, event) for line, event in lines if event.data_sha == ledger.data_sha):
        with _at(line):
            _check(event.query_id, event.chunk_id, event.ms, material, queries)
    for line, event in lines:
        with _at(line):
            if not is_same_act(known.setdefault(event.client_id, event), event):
                raise Fault("has the client_id of another event")
            if event.undoes is not None and event.undoes not in known:
                raise Fault("undoes an event that does not come before it")
    return [event for _, event in lines], meanings


def _judgments(
    givens: Iterable[Given], before: tuple[Iterable[Event], Iterable[Event]], material: ReviewableSet, at: str
) -> tuple[int, list[Event]]:
    """Return the number of judgments, and the new events that they give.

    Args:
        givens: The judgments.
        before: The events of the ledger, and those of them that apply to the set.
        material: The set.
        at: The time of the judgments.
    """
    state = fold(before[1])
    queries = current_ids(material)
    known = {event.client_id for event in before[0]}
    events: list[Event] = []
    seen: dict[tuple[str, ...], int] = {}
    for judgment in givens:
        review = judgment.review
        key = (judgment.kind, review.query_id, review.chunk_id, review.annotator)
        with _at(judgment.line):
            _check(review.query_id, review.chunk_id, review.ms, material, queries)
            if key in seen:
                raise Fault(f"judges the same pair as line {seen[key]}")
            seen[key] = judgment.line
            if not _stands(judgment, state):
                events += [
                    new_event for new_event in _events(judgment, material, at) if new_event.client_id not in known
                ]
    return len(seen), events


@contextlib.contextmanager
def _at(line: int) -> Iterator[None]:
    """Add the line to every fault that is raised inside."""
    try:
        yield
    except ValidationError as error:
        raise Fault(explain(error), line=line) from None
    except Fault as fault:
        raise fault.at(line) from None


def _given(path: Path, form: Format, annotator: str | None) -> Iterator[Given]:
    if form == "csv":
        return judgment_table.read(path)
    if form == "argilla":
        return argilla.read(path / argilla.RECORDS if path.is_dir() else path)
    if form == "label-studio":
        return label_studio.read(path / label_studio.TASKS if path.is_dir() else path)
    if annotator is None:
        raise UsageError(Message("{format} {}: the format holds no annotator; give {annotator=} NAME", form))
    return settled_qrels.read_trec(path, annotator=annotator)


def _check(
    query_id: str, chunk_id: str | None, ms: int | None, material: ReviewableSet, queries: Collection[str]
) -> None:
    if ms is not None and ms > _LONGEST_MS:
        raise Fault(f"ms is more than {_LONGEST_MS:,}")
    if query_id not in queries:
        raise Fault("names a query that is not in the data set")
    if chunk_id is not None and chunk_id not in material.corpus:
        raise Fault("names a passage that is not in the data set")


def _stands(judgment: Given, state: State) -> bool:
    """Return whether the ledger holds the same judgment already."""
    pair = judgment.review.query_id, judgment.review.chunk_id
    if judgment.kind == "adjudicate":
        decided = state.adjudication(pair)
        return decided is not None and (decided.annotator, decided.grade) == (
            judgment.review.annotator,
            judgment.review.grade,
        )
    now = state.review(judgment.review.annotator, pair)
    same = {"adjudicated": False, "rubric_sha": judgment.review.rubric_sha}  # some formats name the rubric beside it
    return now is not None and now.model_copy(update=same) == judgment.review


def _events(judgment: Given, material: ReviewableSet, at: str) -> list[Event]:
    """Return the events of one judgment: first the blind grade, if another followed with the model's in sight."""
    review = judgment.review
    about = material.data_sha, review.rubric_sha or judgment.rubric_sha or material.rubric.sha
    if judgment.kind == "adjudicate":
        return [_event(review, about, at, EventKind.ADJUDICATE)]
    if review.revealed and review.blind:
        blind = review.model_copy(update={"grade": review.first_grade, "revealed": False})
        return [_event(blind, about, at, EventKind.JUDGE), _event(review, about, at, EventKind.JUDGE)]
    return [_event(review, about, at, EventKind.JUDGE)]


def _event(review: Review, about: tuple[str, str], at: str, kind: EventKind) -> Event:
    data_sha, rubric_sha = about
    fields = review.model_dump(mode="json", exclude={"adjudicated", "first_grade", "rubric_sha"})
    name = hashlib.sha256(json.dumps([kind.value, data_sha, fields], sort_keys=True).encode()).hexdigest()
    return Event(
        client_id=f"import-{name[:48]}",
        at=at,
        annotator=review.annotator,
        kind=kind,
        query_id=review.query_id,
        chunk_id=review.chunk_id,
        grade=review.grade,
        evidence=review.evidence or None,
        note=review.note or None,
        ms=review.ms,
        lane=review.lane,
        inclusion=review.inclusion,
        revealed=review.revealed,
        highlights=review.highlights,
        rubric_sha=rubric_sha,
        data_sha=data_sha,
    )
