"""A scorecard as one HTML page that loads nothing from the network."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from goldbench.pipeline.measures.statistics.slices import FEW, Slicing
from goldbench.pipeline.report.charts import (
    COLOURS,
    Points,
    by_cutoff,
    check_installed,
    drawn,
    forest,
    points_of,
    rendered,
)
from goldbench.pipeline.report.scorecard_text import (
    PAIR_HEADINGS,
    best,
    leaderboard_rows,
    method_line,
    pair_row,
    sentences,
    unbeaten,
)
from goldbench.pipeline.report.text_tables import Rows, p_value
from goldbench.pipeline.report.trust import Trust, facts
from goldbench.pipeline.report.verdict_text import verdict_lines
from goldbench.schemas.scorecard import Comparison, Scorecard, Verdict

if TYPE_CHECKING:
    from markupsafe import Markup

LONGEST_TEXT = 1200
"""Characters of a passage on the page; the rest is cut."""

LONGEST_QUERY = 300
"""Characters of a query or a quote on the page; the rest is cut."""

MOST_QUERIES = 2000
"""Queries whose results are on the page, the hardest first; the others are left out."""

MOST_BYTES = 12_000_000
"""Bytes of queries and results on the page; further queries are left out. With the library it stays under 20 MB."""


@dataclass(frozen=True, slots=True)
class Found:
    """A retrieved document: its id and its grade, None where nobody judged it."""

    doc_id: str
    grade: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Details:
    """What a page shows beyond its scorecard.

    ``values`` are the first measure's, by system, in the order of ``query_ids``; ``curves`` the means by family of
    measures; ``retrieved`` the top documents by system and query; ``relevant`` the judged relevant documents with their
    grades; ``quotes`` the evidence by query; ``texts`` of queries, ``passages`` of documents; ``trusted`` the card and
    the agreement of the gold set.
    """

    query_ids: Sequence[str]
    values: Mapping[str, Sequence[float]]
    curves: Mapping[str, Sequence[Points]] = field(default_factory=dict)
    slicings: Sequence[Slicing] = ()
    retrieved: Mapping[str, Mapping[str, Sequence[Found]]] = field(default_factory=dict)
    relevant: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    level: int = 1
    quotes: Mapping[str, str] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    passages: Mapping[str, str] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)
    notice: str | None = None
    trusted: Trust = field(default_factory=Trust)
    special: Sequence[tuple[str, Rows]] = ()
    """Tables of queries of particular kinds, each with its title."""
    unanswerable: Sequence[str] = ()
    """Lines on queries without an answer."""


def page(card: Scorecard, details: Details) -> str:
    """Return the page; equal input gives equal text.

    Raises:
        MissingExtra: A package that draws or fills pages is not installed.
    """
    check_installed()
    data, shown = _browser(card, details)
    return rendered(
        "scorecard.html.j2",
        title=f"Scores on {card.gold.name}",
        card=card,
        notice=details.notice,
        trust=list(facts(card)),
        fitness=verdict_lines(card.verdict),
        best=best(card),
        sentences=list(sentences(card)),
        leaderboard=list(leaderboard_rows(card)),
        unbeaten=unbeaten(card),
        forest=drawn(forest(points_of(card, card.measures[:1], []), x_title=card.measures[0]), "forest"),
        matrix=_matrix(card),
        names=[system.system for system in card.systems],
        pairs=[PAIR_HEADINGS, *map(pair_row, card.comparisons)],
        curves=_curves(details),
        slicings=details.slicings,
        few=FEW,
        special=details.special,
        unanswerable=details.unanswerable,
        data=data,
        shown=shown,
        queries=len(details.query_ids),
        method=method_line(card),
        trusted=details.trusted,
    )


def hardest(query_ids: Sequence[str], values: Mapping[str, Sequence[float]]) -> list[int]:
    """Return the positions of the queries whose results are on the page, those with the lowest scores first."""
    totals = [sum(scores) for scores in zip(*values.values(), strict=True)]
    return sorted(range(len(query_ids)), key=lambda row: (totals[row], query_ids[row]))[:MOST_QUERIES]


def _matrix(card: Scorecard) -> list[tuple[str, list[dict[str, str] | None]]]:
    """Return a row per system of its differences from every other by the first measure, None on the diagonal."""
    found = {(one.first, one.second): one for one in card.comparisons if one.measure == card.measures[0]}
    names = [system.system for system in card.systems]
    return [(row, [_cell(found, row, column) for column in names]) for row in names] if found else []


def _cell(found: Mapping[tuple[str, str], Comparison], row: str, column: str) -> dict[str, str] | None:
    if row == column:
        return None
    one, sign = (found[row, column], 1) if (row, column) in found else (found[column, row], -1)
    wins, losses = (one.wins, one.losses) if sign == 1 else (one.losses, one.wins)
    low, high = sorted((sign * one.low, sign * one.high))
    settled = one.verdict in {Verdict.FIRST, Verdict.SECOND}
    return {
        "difference": f"{sign * one.difference:+.4f}",
        "interval": f"[{low:+.4f}, {high:+.4f}]",
        "p": p_value(one.p_holm),
        "count": f"{wins}/{one.ties}/{losses}",
        "kind": ("first" if sign * one.difference > 0 else "second") if settled else "open",
    }


def _curves(details: Details) -> list[tuple[str, Markup]]:
    return [
        (family, drawn(by_cutoff(series, y_title=f"{family}@k"), f"curve-{number}"))
        for number, (family, series) in enumerate(details.curves.items())
    ]


def _browser(card: Scorecard, details: Details) -> tuple[Markup, int]:
    """Return the JSON that the page's script reads, and the number of queries in it."""
    names = [system.system for system in card.systems]
    passages: dict[str, str] = {}
    queries, used = [], 0
    for row in hardest(details.query_ids, details.values):
        query_id = details.query_ids[row]
        entry = _query(details, names, row)
        texts = {doc_id: details.passages[doc_id] for doc_id in _documents(entry) if doc_id in details.passages}
        new = {doc_id: _cut(text, LONGEST_TEXT) for doc_id, text in texts.items() if doc_id not in passages}
        used += _bytes(entry) + _bytes(new)
        if used > MOST_BYTES:
            break
        passages |= new
        queries.append(entry | {"id": query_id})
    data = {
        "measure": card.measures[0],
        "systems": names,
        "colours": list(COLOURS),
        "level": details.level,
        "ids": list(details.query_ids),
        "kinds": [details.kinds.get(query_id, "") for query_id in details.query_ids],
        "values": {name: [round(value, 6) for value in details.values[name]] for name in names},
        "queries": queries,
        "passages": passages,
    }
    return _json(data), len(queries)


def _query(details: Details, names: Sequence[str], row: int) -> dict[str, Any]:
    query_id = details.query_ids[row]
    relevant = details.relevant.get(query_id, {})
    return {
        "row": row,
        "text": _cut(details.texts.get(query_id, ""), LONGEST_QUERY),
        "quote": _cut(details.quotes.get(query_id, ""), LONGEST_QUERY),
        "relevant": sorted(relevant.items(), key=lambda item: (-item[1], item[0]))[:10],
        "found": [
            [[one.doc_id, one.grade] for one in details.retrieved.get(name, {}).get(query_id, ())] for name in names
        ],
    }


def _documents(entry: Mapping[str, Any]) -> list[str]:
    found = [doc_id for results in entry["found"] for doc_id, _ in results]
    return list(dict.fromkeys([doc_id for doc_id, _ in entry["relevant"]] + found))


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


def _bytes(value: object) -> int:
    return len(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))


def _json(value: object) -> Markup:
    """Return JSON without any character that could end the script element around it."""
    from markupsafe import Markup

    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)  # noqa: S704  no character is left that HTML reads
