"""The workbench as one file: without a server, without decisions, and silent on the network."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from goldbench.text.display import shell_command, shown
from goldbench.workbench.page_answers import overview
from goldbench.workbench.page_files import one_file
from goldbench.workbench.query_detail import QueryDetail
from goldbench.workbench.set_table import SetTable

MOST_QUERIES = 2000
"""Queries of the set that one file holds, those that the systems answer worst first; the others are left out."""

MOST_LEFT_OUT = 1000
"""Queries that are not in the set, and that one file holds."""

MOST_BYTES = 9_500_000
"""Bytes of the packed data: the page stays below 10 MB."""

FOR_QUERIES = 6_000_000
"""Bytes of the queries and their lists; what is left over is for the texts of passages, the most needed first."""

DEPTHS = (10, 5, 3, 1)
"""Results of each system that are tried, until the queries fit."""

_OPEN = shell_command("open")
_TOLD = 500
"""Bytes for what the page says of texts that are left out."""

_BLOCK = 200
"""Queries or passages that are packed together."""


def exported(table: SetTable, *, notice: str | None) -> str:
    """Return the page of a set as one file.

    Args:
        table: The set.
        notice: The set's warning.
    """
    detail = QueryDetail(table)
    listed = overview(table, notice=notice)
    own = [row for row in listed["rows"] if row["id"] in table.material.queries]
    others = [row for row in listed["rows"] if row["id"] not in table.material.queries]
    kept = [*sorted(own, key=_hardness)[:MOST_QUERIES], *others[:MOST_LEFT_OUT]]
    queries, depth = _fitting({row["id"]: _query(detail, row["id"]) for row in kept})
    held = {query_id for block in queries for query_id in block.ids}
    room = MOST_BYTES - _size(queries) - len(_packed(listed)) - _TOLD
    texts, lacking = _texts(detail, [one for block in queries for one in block.items], room)
    told = _told(len(held & table.material.queries.keys()), len(own), len(held) - len(own), len(others))
    problems = [*listed["problems"], *told, *_cut(depth, lacking)]
    listed = {**listed, "rows": [row for row in listed["rows"] if row["id"] in held], "problems": problems}
    packed = [_packed(listed), *(block.packed for block in queries), *texts]
    return one_file(shown(table.material.folder.resolve().name), " ".join(packed))


@dataclass(frozen=True, slots=True)
class _Block:
    """Some queries, packed together."""

    ids: tuple[str, ...]
    items: tuple[dict[str, Any], ...]
    packed: str


def _hardness(row: dict[str, Any]) -> float:
    """Return the sum of a query's first figure over the systems."""
    return sum(scores[0] or 0.0 for scores in row["scores"])


def _told(own: int, of_own: int, others: int, of_others: int) -> Iterator[str]:
    """Yield what the file lacks of the queries."""
    if own < of_own:
        yield f"The {own:,} hardest of {of_own:,} queries are in this file; {_OPEN} shows all."
    if others < of_others:
        yield f"{max(0, others):,} of {of_others:,} rejected queries are in this file; {_OPEN} shows all."


def _cut(depth: int, lacking: int) -> Iterator[str]:
    """Yield what the file lacks of lists and texts."""
    if depth < DEPTHS[0]:
        yield f"The file holds the first {depth:,} results of each system; {_OPEN} shows all."
    if lacking:
        yield f"The texts of {lacking:,} lower-ranked passages are left out of this file; {_OPEN} shows them."


def _query(detail: QueryDetail, key: str) -> dict[str, Any]:
    """Return a query without the texts of its passages."""
    found = detail.any(key)
    assert found is not None
    for one in found.get("systems", ()):
        for result in (*one["results"], *one["later"]):
            result["begins"] = result["begins"][:80]
    bare = ("text", "html", "cut", "document", "headings")
    passages = [{name: value for name, value in one.items() if name not in bare} for one in found["passages"]]
    return {**found, "passages": passages}


def _fitting(queries: Mapping[str, dict[str, Any]]) -> tuple[list[_Block], int]:
    """Return the queries in blocks that fit, and how many results of each system they have."""
    blocks: list[_Block] = []
    for depth in DEPTHS:
        blocks = [_block(part, depth) for part in _parts(queries.items())]
        if _size(blocks) <= FOR_QUERIES:
            return blocks, depth
    while _size(blocks) > FOR_QUERIES:
        blocks.pop()
    return blocks, DEPTHS[-1]


def _parts(items: Iterable[tuple[str, dict[str, Any]]]) -> Iterator[list[tuple[str, dict[str, Any]]]]:
    """Yield the items in blocks."""
    rest = iter(items)
    while part := list(islice(rest, _BLOCK)):
        yield part


def _block(part: Sequence[tuple[str, dict[str, Any]]], depth: int) -> _Block:
    cut = {key: _shortened(query, depth) for key, query in part}
    return _Block(tuple(cut), tuple(cut.values()), _packed(cut))


def _shortened(query: dict[str, Any], depth: int) -> dict[str, Any]:
    """Return a query with fewer results of each system."""
    if "systems" not in query or depth == DEPTHS[0]:
        return query
    systems = [{**one, "results": one["results"][:depth]} for one in query["systems"]]
    return {**query, "systems": systems}


def _size(blocks: Sequence[_Block]) -> int:
    return sum(len(block.packed) + 1 for block in blocks)


def _texts(detail: QueryDetail, queries: Iterable[dict[str, Any]], room: int) -> tuple[list[str], int]:
    """Return the texts of passages in packed blocks, and how many passages did not fit.

    Args:
        detail: Gives the texts.
        queries: The queries whose passages are wanted.
        room: Bytes for the blocks.
    """
    needs: dict[str, int] = {}
    for query in queries:
        for passage in query["passages"]:
            needs[passage["id"]] = 0
        for one in query.get("systems", ()):
            for result in (*one["results"], *one["later"]):
                if result["known"]:
                    needs[result["id"]] = min(result["rank"], needs.get(result["id"], result["rank"]))
    blocks: list[str] = []
    order = sorted(needs, key=needs.__getitem__)
    for at in range(0, len(order), _BLOCK):
        block = _packed({one: detail.text(one) for one in order[at : at + _BLOCK]})
        room -= len(block) + 1
        if room < 0:
            return blocks, len(order) - at
        blocks.append(block)
    return blocks, 0


def _packed(data: Mapping[str, Any]) -> str:
    """Return data as base64 of a zlib stream of JSON."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return base64.b64encode(zlib.compress(text.encode("utf-8", "replace"), 9)).decode()
