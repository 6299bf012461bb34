"""What an exported data set keeps of its queries beside their texts: answers, quotes, notes, earlier turns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from goldbench.formats.benchmarks.answered_rows import cited_ids, noted_kind, quoted
from goldbench.formats.benchmarks.collection import Topic, joined, topic_of_row
from goldbench.formats.faults import Place
from goldbench.records.query import QueryKind

Rows = Iterable[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class ExportedNotes:
    """The rows of the configurations ``answers`` and ``notes`` by query, and the passages that answers quote."""

    answers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    notes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    passages: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, answers: Rows, notes: Rows, corpus: Rows) -> ExportedNotes:
        """Return the notes in the rows of three configurations; the corpus is read only if an answer has a quote.

        Args:
            answers: Rows with ``query-id``, ``answer`` and ``evidence``.
            notes: Rows with ``query-id``.
            corpus: The passages.
        """
        found = _by_query(answers)
        cited = {doc_id for row in found.values() for doc_id in cited_ids(_quotes(row))}
        rows = (row for row in corpus if row.get("_id") in cited) if cited else ()
        passages = {row["_id"]: joined(row.get("title") or "", row.get("text") or "") for row in rows}
        return cls(found, _by_query(notes), passages)

    def topic(self, place: Place, row: Mapping[str, Any]) -> Topic:
        """Return the query of a row with everything that is known of it; raises as ``topic_of_row``."""
        query_id = row.get("_id", "")
        answer, notes = self.answers.get(query_id, {}), self.notes.get(query_id, {})
        asked, needed = notes.get("asked"), notes.get("needs")
        needs = [one for one in needed if isinstance(one, str)] if isinstance(needed, list) else []
        metadata = {
            "answer": {"text": answer.get("answer")},
            "history": notes.get("history"),
            "standalone": row.get("text") if isinstance(asked, str) else None,
        }
        text = asked if isinstance(asked, str) else row.get("text")
        found = topic_of_row(place, {**row, "text": text, "metadata": metadata})
        return found._replace(
            answers=tuple(quoted(_quotes(answer), self.passages)) if found.answer else (),
            kind=noted_kind(notes),
            needs=tuple(needs) if len(needs) > 1 else (),
        )


def unanswered(place: Place, row: Mapping[str, Any]) -> Topic:
    """Return a query that no passage answers; one without its source is left out of a set, and counted."""
    source = row.get("source")
    near = source if isinstance(source, str) else None
    return topic_of_row(place, row)._replace(kind=QueryKind.UNANSWERABLE, near=near)


def _by_query(rows: Rows) -> dict[str, Mapping[str, Any]]:
    return {row["query-id"]: row for row in rows if isinstance(row.get("query-id"), str)}


def _quotes(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the quotes of an answer, as ``dataset.json`` has them."""
    found = row.get("evidence")
    quotes = found if isinstance(found, list) else ()
    return [{"quote": one.get("quote"), "chunk_id": one.get("corpus-id")} for one in quotes if isinstance(one, Mapping)]
