"""What the page receives. These functions never get what must stay hidden before a judgment.

The page gets a passage's text, place and marks, and opaque keys of pairs. The judge's grade, quote and name, ranks,
sources, strata and probabilities are in no argument here except that of ``revealed``, which is called only for pairs
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
from goldbench.review.desk import Handed
from goldbench.review.queue import Item
from goldbench.review.reviewable_set import Place, ReviewableSet
from goldbench.review.state import Pair
from goldbench.text.asked_query import SEVERAL, AskedQuery
from goldbench.text.words import content_terms, index_terms, word_spans

LONGEST = 50_000
"""Characters of a passage that are shown, the rest is cut; chunks are far shorter, rows of a table may be longer."""

BEGINS = 120
"""Characters of a passage in a list; the rest is cut."""

NAMES = {"3": "Answers", "2": "Helps", "1": "Same topic", "0": "Unrelated"}


class Keys:
    """Opaque keys of pairs and queries.

    A key is that of ids and texts: a page that stays open while the set is replaced sends decisions on what is still in
    it, and on nothing else.
    """

    def __init__(self, items: Iterable[Item], *, queries: Mapping[str, str], corpus: Mapping[str, str]) -> None:
        self._asks, self._corpus = queries, corpus
        self._pairs: dict[str, tuple[Pair, bool]] = {}
        self._queries: dict[str, str] = {}
        for item in items:
            self._pairs[self.of(item.pair)] = (item.pair, False)
            self._pairs[self.of(item.pair, repeat=True)] = (item.pair, True)
            self._queries[self.of_query(item.query_id)] = item.query_id

    def of(self, pair: Pair, *, repeat: bool = False) -> str:
        """Return the key of a pair; its second look has another one."""
        return _key("again" if repeat else "pair", *pair, self._asks[pair[0]], self._corpus[pair[1]])

    def of_query(self, query_id: str) -> str:
        """Return the key of a query."""
        return _key("query", query_id, self._asks[query_id])

    def pair(self, key: str) -> tuple[Pair, bool] | None:
        """Return the pair of a key, and whether it is a second look; None if the key is unknown."""
        return self._pairs.get(key)

    def query(self, key: str) -> str | None:
        """Return the query of a key; None if the key is unknown."""
        return self._queries.get(key)


def _key(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:20]


def shown(
    handed: Handed, material: ReviewableSet, keys: Keys, *, mine: Event | None, review: Review | None
) -> dict[str, Any]:
    """Return a pair as the page gets it.

    Args:
        handed: The pair.
        material: The data set.
        keys: The keys of pairs.
        mine: The person's current decision on it; a second look does not show it.
        review: The person's judgment of it.
    """
    query_id, chunk_id = handed.item.pair
    place = material.places.get(chunk_id, Place())
    text = _text(material, chunk_id)
    asked = material.asked[query_id]
    own = None if handed.repeat else mine
    seen = None if handed.repeat else review
    return {
        "pair": keys.of(handed.item.pair, repeat=handed.repeat),
        "query": keys.of_query(query_id),
        **asks(asked),
        "title": clean(place.title),
        "headings": [clean(heading) for heading in place.headings],
        "text": clean(text[:LONGEST]),
        "html": rendered(text[:LONGEST]),
        "cut": len(text) > LONGEST,
        "marks": marks(asked.judged, text[:LONGEST], material.language(query_id)),
        "around": place.before is not None or place.after is not None,
        "lane": handed.item.lane.value,
        "said": own.kind.value if own else None,
        "grade": int(own.grade) if own and own.kind is EventKind.JUDGE and own.grade is not None else None,
        "note": clean(seen.note) if seen else "",
        "evidence": clean(seen.evidence) if seen else "",
    }


def asks(asked: AskedQuery) -> dict[str, Any]:
    """Return a query as the page gets it: the text to judge, and what a person must know to judge it fairly."""
    return {
        "asks": clean(asked.judged),
        "turns": [{"who": who, "says": clean(said[:LONGEST])} for who, said in asked.said],
        "meant": clean(asked.original) if asked.original else None,
        "hint": SEVERAL if asked.several else None,
    }


def around(material: ReviewableSet, chunk_id: str) -> dict[str, str | None]:
    """Return the passages before and after a passage as HTML, None if there is none."""
    place = material.places.get(chunk_id, Place())
    before, after = place.before, place.after
    return {
        "before": rendered(before[-LONGEST:]) if before is not None else None,
        "after": rendered(after[:LONGEST]) if after is not None else None,
    }


@functools.lru_cache(maxsize=1024)
def rendered(text: str) -> str:
    """Return a passage as safe HTML in which text tells its place; the same passage is asked for again and again."""
    return passage_html(text, anchors=True)


def row(item: Item, material: ReviewableSet, keys: Keys, *, mine: Event | None) -> dict[str, Any]:
    """Return a pair as a line of the query's overview.

    Args:
        item: The pair.
        material: As in `shown`.
        keys: As in `shown`.
        mine: The person's current decision on it.
    """
    return {
        "pair": keys.of(item.pair),
        "lane": item.lane.value,
        "begins": clean(_begins(_text(material, item.chunk_id))),
        "said": mine.kind.value if mine else None,
        "grade": int(mine.grade) if mine and mine.kind is EventKind.JUDGE and mine.grade is not None else None,
    }


@functools.lru_cache(maxsize=1024)
def _begins(text: str) -> str:
    """Return the beginning of a passage on one line, without Markdown, and "…" if it is not the whole passage."""
    line = passage_words(text[: 4 * BEGINS])
    return line if len(line) <= BEGINS and len(text) <= 4 * BEGINS else f"{line[:BEGINS].rstrip()} …"


def _text(material: ReviewableSet, chunk_id: str) -> str:
    text = material.places.get(chunk_id, Place()).text
    return material.corpus[chunk_id] if text is None else text


def revealed(said: Sequence[Judgment]) -> dict[str, Any] | None:
    """Return the judge's grade of a pair and a quote of an assessor who gave it; None without judgments."""
    if not said:
        return None
    grade = settled([one.relevance for one in said])
    quotes = [one.evidence for one in said if one.evidence and one.relevance == grade]
    return {"grade": int(grade), "quote": clean(quotes[0]) if quotes else ""}


def marks(query: str, text: str, language: str | None) -> list[list[int]]:
    """Return the starts and ends of the query's words in a text, in UTF-16 units as a browser counts them.

    A word matches by its stem, or in scripts without spaces by one of its pairs of characters.

    Args:
        query: The query.
        text: The passage.
        language: The language of the query, or None.
    """
    wanted = frozenset(content_terms(query, language))
    if not wanted:
        return []
    found: list[list[int]] = []
    known: dict[str, bool] = {}
    position = units = 0
    for start, end in stretches(text):
        word = text[start:end]
        if word not in known:
            known[word] = bool(wanted & index_terms(word, language))
        if known[word]:
            units += _units(text[position:start])
            length = _units(word)
            found.append([units, units + length])
            units, position = units + length, end
    return found


def stretches(text: str) -> Iterable[tuple[int, int]]:
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


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def clean(text: str) -> str:
    """Return a text that can be sent as UTF-8: lone surrogates are replaced."""
    return text.encode("utf-8", "replace").decode() if not text.isascii() else text
