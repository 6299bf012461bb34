"""What the page receives. These functions never get what must stay hidden before a judgment.

The page gets a passage's text, place and marks, and opaque keys of pairs. The judge's grade, quote and name, ranks,
sources, strata and probabilities are in no argument here except that of ``reveal``, which is called only for pairs
whose judgment is stored.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from goldbench.records.judgment import Judgment
from goldbench.records.relevance import settled
from goldbench.records.review_event import Event, EventKind, Review
from goldbench.report.passage_html import passage_html, passage_words
from goldbench.review.assignment import PersonAssignment
from goldbench.review.queue import QueueItem
from goldbench.review.reviewable_set import ReviewableSet
from goldbench.review.state import Pair
from goldbench.text.asked_query import SEVERAL, AskedQuery
from goldbench.text.words import content_terms, index_terms, word_spans

MAX_CHARACTERS = 50_000
"""Characters of a passage that are shown, the rest is cut; chunks are far shorter, rows of a table may be longer."""

PREVIEW_CHARACTERS = 120
"""Characters of a passage in a list; the rest is cut."""

GRADE_NAMES = {"3": "Answers", "2": "Helps", "1": "Same topic", "0": "Unrelated"}


class Keys:
    """Opaque keys of pairs and queries.

    A key is that of ids and texts: a page that stays open while the set is replaced sends decisions on what is still in
    it, and on nothing else.
    """

    def __init__(self, items: Iterable[QueueItem], *, queries: Mapping[str, str], corpus: Mapping[str, str]) -> None:
        self._query_texts = queries
        self._corpus = corpus
        self.pairs: dict[str, tuple[Pair, bool]] = {}
        """The pair of each key, and whether it is a second look."""
        self.queries: dict[str, str] = {}
        for item in items:
            self.pairs[self.of(item.pair)] = (item.pair, False)
            self.pairs[self.of(item.pair, repeat=True)] = (item.pair, True)
            self.queries[self.of_query(item.query_id)] = item.query_id

    def of(self, pair: Pair, *, repeat: bool = False) -> str:
        """Return the key of a pair; its second look has another one."""
        return _key("again" if repeat else "pair", *pair, self._query_texts[pair[0]], self._corpus[pair[1]])

    def of_query(self, query_id: str) -> str:
        """Return the key of a query."""
        return _key("query", query_id, self._query_texts[query_id])


def _key(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:20]


def show_pair(
    assignment: PersonAssignment, material: ReviewableSet, keys: Keys, *, decision: Event | None, review: Review | None
) -> dict[str, Any]:
    """Return a pair as the page gets it.

    Args:
        assignment: The pair.
        material: The data set.
        keys: The keys of pairs.
        decision: The person's current decision on it; a second look does not show it.
        review: The person's judgment of it.
    """
    item = assignment.item
    query_id, chunk_id = item.pair
    position = material.position(chunk_id)
    text = material.text(chunk_id)
    query = material.asked[query_id]
    own = None if assignment.repeat else decision
    judgment = None if assignment.repeat else review
    return {
        "pair": keys.of(item.pair, repeat=assignment.repeat),
        "query": keys.of_query(query_id),
        **show_query(query),
        "title": clean(position.title),
        "headings": [clean(heading) for heading in position.headings],
        "text": clean(text[:MAX_CHARACTERS]),
        "html": render(text[:MAX_CHARACTERS]),
        "cut": len(text) > MAX_CHARACTERS,
        "marks": mark_words(query.judged, text[:MAX_CHARACTERS], material.language(query_id)),
        "around": position.before is not None or position.after is not None,
        "lane": item.lane.value,
        **_show_decision(own),
        "note": clean(judgment.note) if judgment else "",
        "evidence": clean(judgment.evidence) if judgment else "",
    }


def _show_decision(event: Event | None) -> dict[str, Any]:
    is_graded = event is not None and event.kind is EventKind.JUDGE and event.grade is not None
    return {
        "said": event.kind.value if event else None,
        "grade": int(event.grade) if is_graded and event and event.grade is not None else None,
    }


def show_query(query: AskedQuery) -> dict[str, Any]:
    """Return a query as the page gets it: the text to judge, and what a person must know to judge it fairly."""
    return {
        "asks": clean(query.judged),
        "turns": [{"who": who, "says": clean(text[:MAX_CHARACTERS])} for who, text in query.said],
        "meant": clean(query.original) if query.original else None,
        "hint": SEVERAL if query.several else None,
    }


def show_context(material: ReviewableSet, chunk_id: str) -> dict[str, str | None]:
    """Return the passages before and after a passage as HTML, None if there is none."""
    position = material.position(chunk_id)
    return {
        "before": render(position.before[-MAX_CHARACTERS:]) if position.before is not None else None,
        "after": render(position.after[:MAX_CHARACTERS]) if position.after is not None else None,
    }


@functools.lru_cache(maxsize=1024)
def render(text: str) -> str:
    """Return a passage as safe HTML in which text tells its position; the same passage is asked for again and again."""
    return passage_html(text, anchors=True)


def show_row(item: QueueItem, material: ReviewableSet, keys: Keys, *, decision: Event | None) -> dict[str, Any]:
    """Return a pair as a line of a list, with the person's current decision on it."""
    text = material.text(item.chunk_id)
    line = passage_words(text[: 4 * PREVIEW_CHARACTERS])
    if len(line) > PREVIEW_CHARACTERS or len(text) > 4 * PREVIEW_CHARACTERS:
        line = f"{line[:PREVIEW_CHARACTERS].rstrip()} …"
    return {"pair": keys.of(item.pair), "lane": item.lane.value, "begins": clean(line), **_show_decision(decision)}


def reveal(judgments: Sequence[Judgment]) -> dict[str, Any] | None:
    """Return the judge's grade of a pair and a quote of an assessor who gave it; None without judgments."""
    if not judgments:
        return None
    grade = settled([judgment.relevance for judgment in judgments])
    quotes = [judgment.evidence for judgment in judgments if judgment.evidence and judgment.relevance == grade]
    return {"grade": int(grade), "quote": clean(quotes[0]) if quotes else ""}


def mark_words(query: str, text: str, language: str | None) -> list[list[int]]:
    """Return the starts and ends of the query's words in a text, in UTF-16 units as a browser counts them.

    A word matches by its stem, or in scripts without spaces by one of its pairs of characters.
    """
    terms = frozenset(content_terms(query, language))
    if not terms:
        return []
    marks: list[list[int]] = []
    is_match: dict[str, bool] = {}
    position = 0
    units = 0
    for start, end in _split_words(text):
        word = text[start:end]
        if word not in is_match:
            is_match[word] = bool(terms & index_terms(word, language))
        if is_match[word]:
            units += utf16_length(text[position:start])
            length = utf16_length(word)
            marks.append([units, units + length])
            units += length
            position = end
    return marks


def _split_words(text: str) -> Iterable[tuple[int, int]]:
    """Yield the words; in scripts without spaces pairs of characters, like the query's terms."""
    spans = word_spans(text)
    last = -1
    for (start, end), following in itertools.zip_longest(spans, spans[1:]):
        if start < last:
            continue
        if following and following[0] == end and end - start <= 2:
            last = following[1]
            yield start, last
        else:
            yield start, end


def utf16_length(text: str) -> int:
    """Return the length of a text in UTF-16 units, as a browser counts them."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def clean(text: str) -> str:
    """Return a text that can be sent as UTF-8: lone surrogates are replaced."""
    return text.encode("utf-8", "replace").decode() if not text.isascii() else text
