"""One query with everything that is known of it: texts, judgments, people's decisions, every system's list."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from goldbench.measures.ranks.failure_causes import Cause, Listed
from goldbench.records.corpus import Evidence
from goldbench.records.judgment import Judgment
from goldbench.report.passage_html import passage_html
from goldbench.review.payload import asks, clean
from goldbench.review.reviewable_set import Place
from goldbench.review.state import State
from goldbench.text.evidence import find_quote
from goldbench.text.matched_words import matched_words
from goldbench.workbench.earlier_version import NEW
from goldbench.workbench.left_out_queries import LeftOut
from goldbench.workbench.set_table import VERDICTS, SetTable
from goldbench.workbench.system_runs import HeldRun

SHOWN, MORE = 10, 50
"""Results of a system that a query shows at first, at least, and those that are added at once."""

FIRST_CHARACTERS = 300
"""Characters of a passage in a list; the whole text comes when it is opened."""

SENT = 20_000
"""Characters of a relevant passage that come with the query; the rest comes when it is opened."""

_OF_THE_QUERY = ("kind", "style", "language", "recipe", "generator", "overlap", "noise", "frequency", "traffic")


@dataclass(frozen=True, slots=True)
class QueryDetail:
    """Gives what the page shows of single queries of a set, as JSON objects."""

    table: SetTable

    def any(self, key: str, *, depth: int | None = None) -> dict[str, Any] | None:
        """Return a query of the list, whether the set has it or not; None if no line of the list has this key.

        Args:
            key: The id of the query, or its key.
            depth: As in `of`.
        """
        if key in self.table.material.queries:
            return self.of(key, depth=depth)
        if key in self.table.left_out.by_key:
            return self.left_out(key)
        return self.removed(key) if key in self.table.removed else None

    def of(self, query_id: str, *, depth: int | None = None) -> dict[str, Any]:
        """Return a query of the set.

        Args:
            query_id: The query.
            depth: Results of each system; None for the usual number.
        """
        table, material = self.table, self.table.material
        state = table.renew()
        relevant = table.labels.relevant(query_id)
        source = table.source(query_id)
        known = dict.fromkeys([*([source] if source else []), *relevant])
        return {
            "id": query_id,
            **asks(material.asked[query_id]),
            **self._about(query_id),
            "passages": [self.passage(query_id, one, most=SENT) for one in known],
            "people": self._people(state, query_id),
            "verdict": self._verdict(state, query_id),
            "systems": [self._list(run, query_id, relevant, depth) for run in table.systems.runs],
            "siblings": [_sibling(one) for one in self._siblings(known)],
            **self._since(query_id),
        }

    def _since(self, query_id: str) -> dict[str, Any]:
        """Return what changed since the earlier version, nothing if the set is compared with none."""
        earlier = self.table.systems.earlier
        if earlier is None:
            return {}
        change = earlier.changes.get(query_id)
        return {"since": earlier.told(change) if change else {"status": NEW}}

    def removed(self, key: str) -> dict[str, Any]:
        """Return a query that only the earlier version has, with its labels there."""
        change, earlier = self.table.removed[key], self.table.systems.earlier
        assert earlier is not None
        told = {"words": f"Only the earlier version has it: {earlier.name}.", "reason": ""}
        return {
            "id": key,
            "asks": clean(change.text),
            "left_out": told,
            "about": {},
            "answer": "",
            "passages": [],
            "siblings": [],
            "since": earlier.told(change),
        }

    def left_out(self, key: str) -> dict[str, Any]:
        """Return a query that is not in the set, with the passage that it was written from."""
        one = self.table.left_out.by_key[key]
        assert one.candidate is not None
        held = self.table.material.corpus
        passages = (
            [self._passage(one.chunk_id, list(one.candidate.evidence), most=SENT)] if one.chunk_id in held else []
        )
        siblings = (other for other in self._siblings([one.chunk_id]) if other.key != key)
        fields = one.candidate.model_dump(mode="json", include={"kind", "style", "language", "generator", "answer"})
        about = {name: clean(value) for name, value in fields.items() if isinstance(value, str)}
        return {
            "id": key,
            "asks": clean(one.candidate.alone),
            "left_out": _sibling(one),
            "about": {name: about[name] for name in about if name != "answer"},
            "answer": about.get("answer", ""),
            "passages": passages,
            "siblings": [_sibling(other) for other in siblings],
        }

    def results(self, query_id: str, system: int, first: int) -> dict[str, Any]:
        """Return further results of a system.

        Args:
            query_id: The query.
            system: The place of the system, from 0.
            first: The rank of the first of them, from 1.
        """
        self.table.renew()
        run = self.table.systems.runs[system]
        listed = self.table.failures.listed(run.of(query_id), query_id)
        relevant = self.table.labels.relevant(query_id)
        rows = self._rows(query_id, listed, relevant, range(first - 1, min(first - 1 + MORE, len(listed))))
        return {"results": list(rows), "found": len(listed)}

    def passage(self, query_id: str, chunk_id: str, *, most: int | None = None) -> dict[str, Any]:
        """Return a passage as a query shows it, with the judgments and the marks of evidence.

        Args:
            query_id: The query.
            chunk_id: The passage.
            most: Characters of it; None for the whole.
        """
        evidence = self.table.material.notes.get(query_id, {}).get("evidence") or ()
        spans = [Evidence.model_validate(one) for one in evidence]
        found = self._passage(chunk_id, spans, most=most, quotes=self._quotes(query_id, chunk_id))
        return {**found, **self._judged(query_id, chunk_id)}

    def _passage(
        self, chunk_id: str, evidence: Sequence[Evidence], *, most: int | None, quotes: Sequence[str] = ()
    ) -> dict[str, Any]:
        text = self._shown(chunk_id)
        marks = evidence_spans(text, self.table.material.places.get(chunk_id, Place()), evidence)
        marks = marks or [found for quote in quotes if (found := find_quote(quote, text))]
        return {
            "id": chunk_id,
            **self.text(chunk_id, most=most),
            "evidence": [in_utf16(text, *span) for span in marks if most is None or span[1] <= most],
        }

    def text(self, chunk_id: str, *, most: int | None = None) -> dict[str, Any]:
        """Return what a passage holds, whatever the query: its document, headings, and text, raw and as HTML.

        Args:
            chunk_id: The passage.
            most: Characters of it; None for the whole.
        """
        text = self._shown(chunk_id)
        place = self.table.material.places.get(chunk_id, Place())
        return {
            "document": self.table.document(chunk_id),
            "headings": [clean(heading) for heading in place.headings],
            "text": clean(text[:most]),
            "html": _rendered(text[:most]),
            "cut": most is not None and len(text) > most,
        }

    def _shown(self, chunk_id: str) -> str:
        """Return a passage as it is shown: without the title that it is indexed with, which stands above it."""
        place = self.table.material.places.get(chunk_id, Place())
        return self.table.material.corpus[chunk_id] if place.text is None else place.text

    def _about(self, query_id: str) -> dict[str, Any]:
        """Return what a build noted of a query, and its answer."""
        notes = self.table.material.notes.get(query_id, {})
        told = {name: notes[name] for name in _OF_THE_QUERY if notes.get(name) not in (None, "")}
        persona = (notes.get("asked") or {}).get("persona")
        level = (notes.get("difficulty") or {}).get("level")
        told |= {name: one for name, one in (("persona", persona), ("difficulty", level)) if one}
        about = {name: clean(value) if isinstance(value, str) else value for name, value in told.items()}
        answer = self.table.material.answers.get(query_id, {}).get("text") or notes.get("answer") or ""
        return {"about": about, "answer": clean(str(answer)), "source": self.table.source(query_id)}

    def _quotes(self, query_id: str, chunk_id: str) -> list[str]:
        noted = self.table.material.notes.get(query_id, {}).get("quote")
        quote = [noted] if isinstance(noted, str) and chunk_id == self.table.source(query_id) else []
        return [*quote, *(one.evidence for one in self._said(query_id, chunk_id) if one.evidence)]

    def _said(self, query_id: str, chunk_id: str) -> Sequence[Judgment]:
        return self.table.material.judged.get((query_id, chunk_id), ())

    def _judged(self, query_id: str, chunk_id: str) -> dict[str, Any]:
        """Return the grade of a passage, who gave it, and why."""
        state = self.table.state
        mine = {
            clean(name): int(review.grade)
            for earlier in reversed(self.table.names(query_id))
            for name in state.judged_by((earlier, chunk_id))
            if (review := state.review(name, (earlier, chunk_id)))
        }
        return {
            "grade": self.table.labels.grades(query_id).get(chunk_id),
            "judges": [_judgment(one) for one in self._said(query_id, chunk_id)],
            "graded_by": mine,
            "sampled": not mine and (query_id, chunk_id) in self.table.sampled,
            "disputed": state.adjudication((query_id, chunk_id)) is None and state.disputed((query_id, chunk_id)),
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
            for review in state.reviews_of(name)
        ]

    def _verdict(self, state: State, query_id: str) -> dict[str, Any] | None:
        """Return the last verdict of people on a query, None if there is none."""
        reported = state.bad(query_id)
        verdicts = state.query_verdicts()
        event = next((verdicts[one] for one in self.table.names(query_id) if one in verdicts), None)
        if event is None and not reported:
            return None
        reasons = sorted({reason.value for reason in reported.values()})
        if event is None:
            return {"verdict": "reported", "who": clean(", ".join(sorted(reported))), "reasons": reasons, "text": ""}
        reasons = [event.reason.value] if event.reason else reasons
        told = {"verdict": VERDICTS[event.kind], "who": clean(event.annotator), "at": event.at}
        return {**told, "reasons": reasons, "text": clean(event.text or ""), "event": event.client_id}

    def _list(self, run: HeldRun, query_id: str, relevant: Sequence[str], depth: int | None) -> dict[str, Any]:
        listed = self.table.failures.listed(run.of(query_id), query_id)
        first = min(depth or max(SHOWN, self.table.systems.k), len(listed))
        held = set(relevant)
        later = [at for at in range(first, len(listed)) if listed[at].doc_id in held]
        causes = self.table.failures.causes(run, query_id)
        return {
            "system": run.name,
            "scores": self.table.scores(run, query_id),
            "causes": [cause.value for cause in causes],
            "found": len(listed),
            "results": list(self._rows(query_id, listed, relevant, range(first), causes)),
            "later": list(self._rows(query_id, listed, relevant, later[:SHOWN])),
            "missing": sorted(held - {one.doc_id for one in listed}),
        }

    def _rows(
        self,
        query_id: str,
        listed: Sequence[Listed],
        relevant: Sequence[str],
        places: Sequence[int],
        causes: Sequence[Cause] = (),
    ) -> Iterator[dict[str, Any]]:
        """Yield results of a list; ``tied`` ones have the score of a neighbour."""
        for at in places:
            one = listed[at]
            near = (other.score for other in (*listed[max(0, at - 1) : at], *listed[at + 1 : at + 2]))
            copy = None
            if Cause.NEAR_DUPLICATE_ABOVE in causes and one.doc_id not in relevant:
                copy = self.table.failures.copies_of(one.doc_id, relevant)
            yield {
                "id": one.doc_id,
                "rank": at + 1,
                "score": one.score,
                "tied": one.score in near,
                "copy_of": copy,
                **self._begins(query_id, one.doc_id),
                **self._judged(query_id, one.doc_id),
            }

    def _begins(self, query_id: str, doc_id: str) -> dict[str, Any]:
        material = self.table.material
        text = material.corpus.get(doc_id)
        if text is None:
            return {"known": False, "document": "", "begins": "", "words": {}}
        own = self._shown(doc_id)
        return {
            "known": True,
            "document": self.table.document(doc_id),
            "begins": clean(" ".join(own[: 2 * FIRST_CHARACTERS].split())[:FIRST_CHARACTERS]),
            "words": matched_words(material.asked[query_id].judged, text, material.language(query_id)),
        }

    def _siblings(self, chunk_ids: Sequence[str] | Mapping[str, object]) -> list[LeftOut]:
        return [one for chunk_id in chunk_ids for one in self.table.left_out.by_chunk.get(chunk_id, ())]


_MARKUP = re.compile(r"[#*_`|~<>\[\\]|\n\s*\n|^\s*(?:[-+]|\d+[.)])\s", re.MULTILINE)
"""What Markdown may render otherwise than plain text; most passages of plain text have none of it."""


@lru_cache(maxsize=512)
def _rendered(text: str) -> str:
    """Return a passage as safe HTML whose elements tell where they stand in it; empty if it has no markup."""
    return passage_html(text, anchors=True) if _MARKUP.search(text) else ""


def evidence_spans(text: str, place: Place, evidence: Sequence[Evidence]) -> list[tuple[int, int]]:
    """Return where evidence stands in a passage as it is shown: its start and end, in order.

    Args:
        text: The passage as it is shown.
        place: Its surroundings.
        evidence: Stretches of documents with their words.
    """
    if place.span is None:
        return sorted(found for one in evidence if (found := find_quote(one.quote, text)))
    spans = []
    for one in evidence:
        if one.doc_id != place.span.doc_id:
            continue
        start = one.start - place.span.start
        if start >= 0 and text[start : start + len(one.quote)] == one.quote:
            spans.append((start, start + len(one.quote)))
        elif place.span.start < one.end and one.start < place.span.end and (found := find_quote(one.quote, text)):
            spans.append(found)  # words held out of the passage have moved the rest
    return sorted(set(spans))


def in_utf16(text: str, start: int, end: int) -> list[int]:
    """Return the start and end of a stretch of a text in UTF-16 units, as a browser counts them.

    Args:
        text: The text.
        start: Its first character, from 0.
        end: The character after it.
    """
    before, length = (len(part.encode("utf-16-le", "surrogatepass")) // 2 for part in (text[:start], text[start:end]))
    return [before, before + length]


def _judgment(one: Judgment) -> dict[str, Any]:
    return {
        "assessor": clean(one.assessor),
        "grade": int(one.relevance),
        "reason": clean(one.rationale),
        "quote": clean(one.evidence),
        "flag": one.flag.value,
        "capped": one.capped,
        "shared_from": one.shared_from,
    }


def _sibling(one: LeftOut) -> dict[str, Any]:
    said = {"by": one.by.value, "rule": one.rule, "words": one.words, "reason": clean(one.reason)}
    return {"key": one.key, "text": clean(one.candidate.alone) if one.candidate else "", **said}
