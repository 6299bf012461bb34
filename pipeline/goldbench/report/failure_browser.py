"""The queries behind the figures of a page: what its script reads to filter, sort and open them. Bounded in size."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goldbench.measures.ranks.failure_causes import MEANINGS, TITLES, Cause
from goldbench.measures.statistics.significance import LEAST_WIN
from goldbench.report.charts import COLOURS
from goldbench.report.named_queries import PORT
from goldbench.report.rank_buckets import BUCKETS
from goldbench.text.display import cut

if TYPE_CHECKING:
    from markupsafe import Markup

TEXT_LIMITS = (20_000, 8_000, 4_000, 2_000, 1_200, 600, 300)
"""Characters of a passage on the page: the first of these with which all of them fit; the rest is cut, and said so.
If they do not fit with the last one, only the passages that are needed most have a text."""

_RENDERED_FROM = 2_000
"""The lowest of these limits at which Markdown is rendered, whose HTML takes several times the space of its text."""

LONGEST_QUERY = 2_000
"""Characters of a query, a quote or a judge's reason on the page; the rest is cut."""

MOST_QUERIES = 2_000
"""Queries whose results are on the page, the hardest first; the others are left out."""

MOST_BYTES = 7_500_000
"""Bytes of queries and results on the page; further queries are left out. With the charts and their library, which
takes 2 MB, the page stays under 10 MB."""

_MARKDOWN = re.compile(
    r"^ {0,3}(?:#{1,6} |[-*+] |\d{1,9}[.)] |> ?|\|.*\||```|~~~|-{3,}$)"  # a block
    r"|\*\*|__|~~|`[^`\n]+`|\]\(|<br",
    re.MULTILINE,
)
"""What a text without Markdown does not have; a text with it is rendered, which takes longer and more space."""


@dataclass(frozen=True, slots=True)
class Found:
    """A retrieved document: its id, its grade, None where nobody judged it, and the score the system gave it."""

    doc_id: str
    grade: int | None
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class Reason:
    """How an assessor judged a pair: the grade, who gave it, and why; empty texts if nothing is on record."""

    grade: int
    assessor: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Behind:
    """The queries behind the figures, the systems in the order of the scorecard.

    ``values`` are those of each measure by system, in the order of ``query_ids``, NaN where it is not defined; the
    first measure ranks the queries. ``retrieved`` are the top documents by system and query, ``relevant`` the judged
    relevant documents with their grades, ``quotes`` the evidence by query, ``texts`` of queries, ``passages`` of
    documents. ``ranks`` is the rank of the first relevant document by system and query, None if none was found within
    ``depth`` results. ``causes`` are those of failures at ``k`` by system and query, ``words`` the forms of the words
    of a query, ``reasons`` what judges said by query and document, ``pooled`` the documents of a query that were to be
    judged (None if the set has no pool), ``parts`` the part of each query by trait, in the
    order of ``query_ids``. ``home`` is the set as a person would name it to a command, None if judgments alone were
    given.
    """

    query_ids: Sequence[str]
    values: Mapping[str, Mapping[str, Sequence[float]]]
    k: int = 10
    depth: int | None = None
    level: int = 1
    retrieved: Mapping[str, Mapping[str, Sequence[Found]]] = field(default_factory=dict)
    relevant: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    ranks: Mapping[str, Sequence[int | None]] = field(default_factory=dict)
    causes: Mapping[str, Mapping[str, Sequence[Cause]]] = field(default_factory=dict)
    quotes: Mapping[str, str] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    passages: Mapping[str, str] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)
    words: Mapping[str, Sequence[Sequence[str]]] = field(default_factory=dict)
    reasons: Mapping[str, Mapping[str, Sequence[Reason]]] = field(default_factory=dict)
    pooled: Mapping[str, Collection[str]] | None = None
    parts: Mapping[str, Sequence[str | None]] = field(default_factory=dict)
    home: str | None = None

    @property
    def measures(self) -> list[str]:
        """The measures, the first one first."""
        return list(self.values)

    @property
    def systems(self) -> list[str]:
        """The systems, in the order of the scorecard."""
        return list(next(iter(self.values.values())))


def hardest(query_ids: Sequence[str], values: Mapping[str, Sequence[float]]) -> list[int]:
    """Return the positions of the queries whose results are on the page, those with the lowest scores first."""
    totals = [sum(scores) for scores in zip(*values.values(), strict=True)]
    return sorted(range(len(query_ids)), key=lambda row: (totals[row], query_ids[row]))[:MOST_QUERIES]


def browser_data(behind: Behind) -> tuple[Markup, int]:
    """Return the JSON that the page's script reads, and the number of queries in it."""
    first = behind.values[behind.measures[0]]
    entries, passages = _fitting(behind, hardest(behind.query_ids, first))
    rows = [entry["row"] for entry in entries]
    data = {
        "measures": behind.measures,
        "systems": behind.systems,
        "colours": list(COLOURS),
        "level": behind.level,
        "least": LEAST_WIN,
        "k": behind.k,
        "depth": behind.depth,
        "home": behind.home,
        "set": Path(behind.home).resolve().name if behind.home else None,
        "workbench": f"http://127.0.0.1:{PORT}/",
        "has_pool": behind.pooled is not None,
        "buckets": [[one.name, one.first, one.last] for one in BUCKETS],
        "causes": [[cause.value, TITLES[cause], MEANINGS[cause]] for cause in Cause],
        "ids": list(behind.query_ids),
        "kinds": [behind.kinds.get(query_id, "") for query_id in behind.query_ids],
        "parts": {trait: _numbered(labels) for trait, labels in behind.parts.items()},
        "values": dict(_values(behind, rows)),
        "queries": entries,
        "passages": passages,
        "lacking": any(
            one in behind.passages and one not in passages for entry in entries for one in _documents(entry)
        ),
    }
    return _json(data), len(entries)


def _values(behind: Behind, rows: Sequence[int]) -> Iterator[tuple[str, list[list[float | None]]]]:
    """Yield each measure with its values by system: of all queries for the first one, of those shown for others."""
    for measure, columns in behind.values.items():
        asked = range(len(behind.query_ids)) if measure == behind.measures[0] else rows
        yield measure, [[_rounded(found[row]) for row in asked] for found in columns.values()]


def _fitting(behind: Behind, rows: Sequence[int]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return the queries and passages that fit, with the longest texts with which all passages do.

    If the shortest texts are too long together, queries come first, and then the passages that are needed most.
    """
    left = MOST_BYTES - _bytes([list(behind.query_ids), list(behind.kinds.values())])
    left -= 8 * len(behind.query_ids) * len(behind.systems)
    entries = [_query(behind, row) for row in rows]
    sizes = [_bytes(entry) + 8 * len(behind.systems) * len(behind.measures) for entry in entries]
    found = dict.fromkeys(doc_id for entry in entries for doc_id in _documents(entry))
    for limit in TEXT_LIMITS:
        passages = _within(behind, found, limit, left - sum(sizes))
        if passages is not None:
            return entries, passages
    kept: list[dict[str, Any]] = []
    for entry, size in zip(entries, sizes, strict=True):
        if size > left:
            break
        left -= size
        kept.append(entry)
    return kept, _most_needed(behind, kept, left)


def _most_needed(behind: Behind, entries: Sequence[Mapping[str, Any]], most: int) -> dict[str, Any]:
    """Return the beginnings of passages that fit: first those of relevant ones, then by their best rank."""
    needs: dict[str, int] = {}
    for entry in entries:
        for doc_id, _ in entry["relevant"]:
            needs[doc_id] = 0
        for results in entry["found"]:
            for rank, one in enumerate(results, 1):
                needs[one[0]] = min(rank, needs.get(one[0], rank))
    found: dict[str, Any] = {}
    for doc_id in sorted(needs, key=needs.__getitem__):
        if doc_id in behind.passages:
            shown = _shown(behind.passages[doc_id], TEXT_LIMITS[-1])
            most -= _bytes([doc_id, shown])
            if most < 0:
                break
            found[doc_id] = shown
    return found


def _within(behind: Behind, doc_ids: Iterable[str], limit: int, most: int) -> dict[str, Any] | None:
    """Return the passages by id; None if they take more bytes."""
    found: dict[str, Any] = {}
    for doc_id in doc_ids:
        if doc_id in behind.passages:
            found[doc_id] = _shown(behind.passages[doc_id], limit)
            most -= _bytes([doc_id, found[doc_id]])
            if most < 0:
                return None
    return found


def _shown(text: str, limit: int) -> str | list[Any]:
    """Return a plain passage; one with Markdown or one that is cut as its beginning, its length, and its HTML."""
    start = text[:limit]
    html = ""
    if limit >= _RENDERED_FROM and _MARKDOWN.search(start):
        from goldbench.report.passage_html import passage_html

        html = passage_html(start, anchors=True)
    return [start, len(text), html] if html or len(text) > limit else start


def _query(behind: Behind, row: int) -> dict[str, Any]:
    query_id = behind.query_ids[row]
    relevant = behind.relevant.get(query_id, {})
    best = sorted(relevant.items(), key=lambda item: (-item[1], item[0]))[:10]
    found = [
        [[one.doc_id, one.grade, _rounded(one.score)] for one in behind.retrieved.get(name, {}).get(query_id, ())]
        for name in behind.systems
    ]
    shown = {doc_id for doc_id, _ in best} | {one[0] for results in found for one in results}
    reasons = behind.reasons.get(query_id, {})
    return {
        "id": query_id,
        "row": row,
        "text": cut(behind.texts.get(query_id, ""), LONGEST_QUERY),
        "quote": cut(behind.quotes.get(query_id, ""), LONGEST_QUERY),
        "relevant": best,
        "more": len(relevant) - len(best),
        "found": found,
        "ranks": [behind.ranks[name][row] if name in behind.ranks else None for name in behind.systems],
        "causes": [list(behind.causes.get(name, {}).get(query_id, ())) for name in behind.systems],
        "pooled": sorted(shown & set((behind.pooled or {}).get(query_id, ()))),
        "words": behind.words.get(query_id, ()),
        "reasons": {
            doc_id: [[one.grade, one.assessor, cut(one.text, LONGEST_QUERY)] for one in told]
            for doc_id, told in reasons.items()
            if doc_id in shown
        },
    }


def _documents(entry: Mapping[str, Any]) -> list[str]:
    found = [one[0] for results in entry["found"] for one in results]
    return list(dict.fromkeys([doc_id for doc_id, _ in entry["relevant"]] + found))


def _numbered(labels: Sequence[str | None]) -> list[Any]:
    """Return the distinct labels, and the number of each query's, -1 for none."""
    names = list(dict.fromkeys(label for label in labels if label is not None))
    places = {name: place for place, name in enumerate(names)}
    return [names, [-1 if label is None else places[label] for label in labels]]


def _rounded(value: float) -> float | None:
    return round(value, 4) if abs(value) < float("inf") else None


def _bytes(value: object) -> int:
    return len(_text(value).encode("utf-8", "replace"))


def _text(value: object) -> str:
    """Return JSON without any character that could end the script element around it."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _json(value: object) -> Markup:
    from markupsafe import Markup

    return Markup(_text(value))  # noqa: S704  no character is left that HTML reads
