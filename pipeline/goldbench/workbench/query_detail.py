"""One query with everything that is known of it: texts, judgments, people's decisions, every system's list."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from goldbench.measures.ranks.failure_causes import Cause, ListedResult
from goldbench.records.corpus import Evidence
from goldbench.records.judgment import Judgment
from goldbench.report.passage_html import passage_html
from goldbench.review.payload import clean, show_query, utf16_length
from goldbench.review.reviewable_set import Position
from goldbench.review.state import State
from goldbench.text.evidence import find_quote
from goldbench.text.matched_words import matched_words
from goldbench.workbench.set_table import VERDICTS, LeftOutQuery, SetTable
from goldbench.workbench.system_runs import HeldRun

FIRST_RESULTS = 10
MORE_RESULTS = 50
"""Results of a system that a query shows at first, at least, and those that are added at once."""

PREVIEW_CHARACTERS = 300
"""Characters of a passage in a list; the whole text comes when it is opened."""

CARD_CHARACTERS = 20_000
"""Characters of a relevant passage that come with the query; the rest comes when it is opened."""

_NOTES = ("kind", "style", "language", "generator", "overlap", "noise", "frequency", "traffic")


@dataclass(frozen=True, slots=True)
class QueryDetail:
    """Gives what the page shows of single queries of a set, as JSON objects."""

    table: SetTable

    def find(self, key: str) -> dict[str, Any] | None:
        """Return a query of the list, whether the set has it or not; None if no line of the list has this key."""
        if key in self.table.material.queries:
            return self.show(key)
        return self.show_left_out(key) if key in self.table.left_out else None

    def show(self, query_id: str) -> dict[str, Any]:
        """Return a query of the set."""
        table = self.table
        state = table.renew()
        relevant = table.relevant(query_id)
        source = table.source(query_id)
        chunk_ids = dict.fromkeys([*([source] if source else []), *relevant])
        return {
            "id": query_id,
            **show_query(table.material.asked[query_id]),
            "about": self._about(query_id),
            "answer": table.answer(query_id),
            "source": source,
            "passages": [self.passage(query_id, chunk_id, most=CARD_CHARACTERS) for chunk_id in chunk_ids],
            "people": self._people(state, query_id),
            "verdict": self._verdict(state, query_id),
            "systems": [self._system(run, query_id, relevant) for run in table.systems.runs],
            "siblings": list(self._siblings(chunk_ids)),
        }

    def show_left_out(self, key: str) -> dict[str, Any]:
        """Return a query that is not in the set, with the passage that it was written from."""
        left_out = self.table.left_out[key]
        candidate = left_out.candidate
        chunk_id = left_out.chunk_id
        evidence = list(candidate.evidence)
        is_held = chunk_id in self.table.material.corpus
        fields = candidate.model_dump(mode="json", include={"kind", "style", "language", "generator"})
        return {
            "id": key,
            "asks": clean(candidate.alone),
            "left_out": _show_left_out(left_out),
            "about": {name: clean(value) for name, value in fields.items() if isinstance(value, str)},
            "answer": clean(candidate.answer or ""),
            "passages": [self._passage(chunk_id, evidence, most=CARD_CHARACTERS)] if is_held else [],
            "siblings": [each for each in self._siblings([chunk_id]) if each["key"] != key],
        }

    def results(self, query_id: str, system: int, first: int) -> dict[str, Any]:
        """Return further results of a system.

        Args:
            query_id: The query.
            system: The number of the system, from 0.
            first: The rank of the first of them, from 1.
        """
        self.table.renew()
        results = self.table.results(self.table.systems.runs[system], query_id)
        ranks = range(first - 1, min(first - 1 + MORE_RESULTS, len(results)))
        rows = self._rows(query_id, results, self.table.relevant(query_id), ranks)
        return {"results": list(rows), "found": len(results)}

    def passage(self, query_id: str, chunk_id: str, *, most: int | None = None) -> dict[str, Any]:
        """Return a passage as a query shows it, with the judgments and the marks of evidence.

        Args:
            query_id: The query.
            chunk_id: The passage.
            most: Characters of it; None for the whole.
        """
        notes = self.table.material.notes.get(query_id, {})
        evidence = [Evidence.model_validate(span) for span in notes.get("evidence") or ()]
        quotes = [each.evidence for each in self._judgments(query_id, chunk_id) if each.evidence]
        if isinstance(notes.get("quote"), str) and chunk_id == self.table.source(query_id):
            quotes.insert(0, notes["quote"])
        passage = self._passage(chunk_id, evidence, most=most, quotes=quotes)
        return {**passage, **self._judged(query_id, chunk_id)}

    def _passage(
        self, chunk_id: str, evidence: Sequence[Evidence], *, most: int | None, quotes: Sequence[str] = ()
    ) -> dict[str, Any]:
        text = self.table.material.text(chunk_id)
        spans = evidence_spans(text, self.table.material.position(chunk_id), evidence)
        spans = spans or [span for quote in quotes if (span := find_quote(quote, text))]
        return {
            "id": chunk_id,
            **self.text(chunk_id, most=most),
            "evidence": [in_utf16(text, *span) for span in spans if most is None or span[1] <= most],
        }

    def text(self, chunk_id: str, *, most: int | None = None) -> dict[str, Any]:
        """Return what a passage holds, whatever the query: its document, headings, and text, raw and as HTML."""
        text = self.table.material.text(chunk_id)
        return {
            "document": self.table.document(chunk_id),
            "headings": [clean(heading) for heading in self.table.material.position(chunk_id).headings],
            "text": clean(text[:most]),
            "html": _render(text[:most]),
            "cut": most is not None and len(text) > most,
        }

    def _about(self, query_id: str) -> dict[str, Any]:
        """Return what a build noted of a query."""
        notes = self.table.material.notes.get(query_id, {})
        about = {name: notes[name] for name in _NOTES if notes.get(name) not in (None, "")}
        persona = (notes.get("asked") or {}).get("persona")
        level = (notes.get("difficulty") or {}).get("level")
        about |= {name: value for name, value in (("persona", persona), ("difficulty", level)) if value}
        return {name: clean(value) if isinstance(value, str) else value for name, value in about.items()}

    def _judgments(self, query_id: str, chunk_id: str) -> Sequence[Judgment]:
        return self.table.material.judged.get((query_id, chunk_id), ())

    def _judged(self, query_id: str, chunk_id: str) -> dict[str, Any]:
        """Return the grade of a passage, who gave it, and why."""
        state = self.table.state
        pair = (query_id, chunk_id)
        people = {
            clean(name): int(review.grade)
            for earlier in reversed(self.table.names(query_id))
            for name in state.judged_by((earlier, chunk_id))
            if (review := state.review(name, (earlier, chunk_id)))
        }
        return {
            "grade": self.table.grades(query_id).get(chunk_id),
            "judges": [_show_judgment(judgment) for judgment in self._judgments(query_id, chunk_id)],
            "graded_by": people,
            "sampled": not people and pair in self.table.sampled,
            "disputed": state.adjudication(pair) is None and state.disputed(pair),
        }

    def _people(self, state: State, query_id: str) -> list[dict[str, Any]]:
        """Return what people say of the passages of a query."""
        return [
            {
                "who": clean(review.annotator),
                "passage": review.chunk_id,
                "grade": int(review.grade),
                "note": clean(review.note),
                "evidence": clean(review.evidence),
            }
            for name in self.table.names(query_id)
            for review in state.reviews(name)
        ]

    def _verdict(self, state: State, query_id: str) -> dict[str, Any] | None:
        """Return the last verdict of people on a query, None if there is none."""
        reported = state.bad(query_id)
        reasons = sorted({reason.value for reason in reported.values()})
        verdicts = state.query_verdicts()
        event = next((verdicts[name] for name in self.table.names(query_id) if name in verdicts), None)
        if event is not None:
            return {
                "verdict": VERDICTS[event.kind],
                "who": clean(event.annotator),
                "reasons": [event.reason.value] if event.reason else reasons,
                "text": clean(event.text or ""),
            }
        if reported:
            return {"verdict": "reported", "who": clean(", ".join(sorted(reported))), "reasons": reasons, "text": ""}
        return None

    def _system(self, run: HeldRun, query_id: str, relevant: Sequence[str]) -> dict[str, Any]:
        results = self.table.results(run, query_id)
        first = min(max(FIRST_RESULTS, self.table.systems.k), len(results))
        later = [rank for rank in range(first, len(results)) if results[rank].doc_id in relevant]
        causes = self.table.causes(run, query_id)
        return {
            "system": run.name,
            "scores": self.table.scores(run, query_id),
            "causes": [cause.value for cause in causes],
            "found": len(results),
            "results": list(self._rows(query_id, results, relevant, range(first), causes)),
            "later": list(self._rows(query_id, results, relevant, later[:FIRST_RESULTS])),
            "missing": sorted({*relevant} - {result.doc_id for result in results}),
        }

    def _rows(
        self,
        query_id: str,
        results: Sequence[ListedResult],
        relevant: Sequence[str],
        ranks: Iterable[int],
        causes: Sequence[Cause] = (),
    ) -> Iterator[dict[str, Any]]:
        """Yield results of a list, by their ranks from 0; ``tied`` ones have the score of a neighbour."""
        for rank in ranks:
            result = results[rank]
            neighbours = (*results[max(0, rank - 1) : rank], *results[rank + 1 : rank + 2])
            copy = None
            if Cause.NEAR_DUPLICATE_ABOVE in causes and result.doc_id not in relevant:
                copy = self.table.copy_of(result.doc_id, relevant)
            yield {
                "id": result.doc_id,
                "rank": rank + 1,
                "score": result.score,
                "tied": any(result.score == neighbour.score for neighbour in neighbours),
                "copy_of": copy,
                **self._preview(query_id, result.doc_id),
                **self._judged(query_id, result.doc_id),
            }

    def _preview(self, query_id: str, doc_id: str) -> dict[str, Any]:
        material = self.table.material
        if doc_id not in material.corpus:
            return {"known": False, "document": "", "begins": "", "words": {}}
        beginning = " ".join(material.text(doc_id)[: 2 * PREVIEW_CHARACTERS].split())
        query = material.asked[query_id].judged
        return {
            "known": True,
            "document": self.table.document(doc_id),
            "begins": clean(beginning[:PREVIEW_CHARACTERS]),
            "words": matched_words(query, material.corpus[doc_id], material.language(query_id)),
        }

    def _siblings(self, chunk_ids: Iterable[str]) -> Iterator[dict[str, Any]]:
        for chunk_id in chunk_ids:
            for left_out in self.table.left_out_by_chunk.get(chunk_id, ()):
                yield {"key": left_out.key, "text": clean(left_out.candidate.alone), **_show_left_out(left_out)}


_MARKUP = re.compile(r"[#*_`|~<>\[\\]|\n\s*\n|^\s*(?:[-+]|\d+[.)])\s", re.MULTILINE)
"""What Markdown may render otherwise than plain text; most passages of plain text have none of it."""


@lru_cache(maxsize=512)
def _render(text: str) -> str:
    """Return a passage as safe HTML whose elements tell where they stand in it; empty if it has no markup."""
    return passage_html(text, anchors=True) if _MARKUP.search(text) else ""


def evidence_spans(text: str, position: Position, evidence: Sequence[Evidence]) -> list[tuple[int, int]]:
    """Return where evidence stands in a passage as it is shown: its start and end, in order.

    Args:
        text: The passage as it is shown.
        position: Its surroundings.
        evidence: Stretches of documents with their words.
    """
    span = position.span
    if span is None:
        return sorted(match for each in evidence if (match := find_quote(each.quote, text)))
    spans = set()
    for each in evidence:
        if each.doc_id != span.doc_id:
            continue
        start = each.start - span.start
        if start >= 0 and text[start : start + len(each.quote)] == each.quote:
            spans.add((start, start + len(each.quote)))
        elif span.start < each.end and each.start < span.end and (match := find_quote(each.quote, text)):
            spans.add(match)  # the evidence crosses the border of the passage
    return sorted(spans)


def in_utf16(text: str, start: int, end: int) -> list[int]:
    """Return the start and end of a stretch of a text in UTF-16 units, as a browser counts them."""
    before = utf16_length(text[:start])
    return [before, before + utf16_length(text[start:end])]


def _show_judgment(judgment: Judgment) -> dict[str, Any]:
    return {
        "assessor": clean(judgment.assessor),
        "grade": int(judgment.relevance),
        "reason": clean(judgment.rationale),
        "quote": clean(judgment.evidence),
        "flag": judgment.flag.value,
        "capped": judgment.capped,
        "shared_from": judgment.shared_from,
    }


def _show_left_out(left_out: LeftOutQuery) -> dict[str, Any]:
    return {"by": left_out.stage, "rule": left_out.rule, "reason": clean(left_out.reason)}
