"""The workbench as one file: without a server, without decisions, and silent on the network."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from goldbench.pipeline.text.display import shown
from goldbench.pipeline.workbench.page_answers import overview
from goldbench.pipeline.workbench.page_files import one_file
from goldbench.pipeline.workbench.query_detail import QueryDetail
from goldbench.pipeline.workbench.set_table import SetTable

MOST_QUERIES = 2000
"""Queries of the set that one file holds, those that the systems answer worst first; the others are left out."""

MOST_LEFT_OUT = 1000
"""Queries that are not in the set, and that one file holds."""

MOST_BYTES = 9_000_000
"""Bytes of the packed data; passages of lower ranks are left out before it is more. The file stays below 10 MB."""

_LEVEL = 9
"""How hard zlib tries."""

_TEXTS_TRIED = 12
"""Times that the number of passages is halved at most until they fit."""


@dataclass
class _Texts:
    """The passages of a file: each once, the most needed first."""

    detail: QueryDetail
    needed: dict[str, int] = field(default_factory=dict)

    def take(self, chunk_id: str, need: int) -> None:
        """Note a passage with the rank of its need, from 0; the least of several counts."""
        self.needed[chunk_id] = min(need, self.needed.get(chunk_id, need))

    def first(self, count: int) -> dict[str, Any]:
        """Return the texts of the first ``count`` passages."""
        known = self.detail.table.material.corpus
        order = sorted((one for one in self.needed if one in known), key=self.needed.__getitem__)
        return {one: self.detail.text(one) for one in order[:count]}


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
    wanted = {row["id"] for row in kept}
    texts = _Texts(detail)
    held = {row["id"]: _query(detail, row["id"], texts) for row in kept}
    problems = [*listed["problems"], *_told(len(own), len(others))]
    listed = {**listed, "rows": [row for row in listed["rows"] if row["id"] in wanted], "problems": problems}
    return one_file(shown(table.material.folder.resolve().name), _fitting(listed, held, texts))


def _hardness(row: dict[str, Any]) -> float:
    """Return the sum of a query's first figure over the systems."""
    return sum(scores[0] or 0.0 for scores in row["scores"])


def _told(own: int, others: int) -> Iterator[str]:
    """Yield what the file lacks."""
    if own > MOST_QUERIES:
        yield f"The {MOST_QUERIES:,} hardest of {own:,} queries are in this file; goldbench open shows all."
    if others > MOST_LEFT_OUT:
        yield f"{MOST_LEFT_OUT:,} of {others:,} rejected queries are in this file; goldbench open shows all."


def _query(detail: QueryDetail, key: str, texts: _Texts) -> dict[str, Any]:
    """Return a query without the texts of its passages, which are noted."""
    is_own = key in detail.table.material.queries
    found = detail.of(key) if is_own else detail.left_out(key)
    for passage in found["passages"]:
        texts.take(passage["id"], 0)
    for one in found.get("systems", ()):
        for result in (*one["results"], *one["later"]):
            texts.take(result["id"], result["rank"])
            result["begins"] = result["begins"][:80]
    bare = ("text", "html", "cut")
    passages = [{name: value for name, value in one.items() if name not in bare} for one in found["passages"]]
    return {**found, "passages": passages}


def _fitting(listed: dict[str, Any], held: dict[str, Any], texts: _Texts) -> str:
    """Return the data, packed, with as many passages as fit."""
    count = len(texts.needed)
    for _ in range(_TEXTS_TRIED):
        packed = _packed({"list": listed, "queries": held, "passages": texts.first(count)})
        if len(packed) <= MOST_BYTES:
            return packed
        count = min(count // 2, int(count * MOST_BYTES / len(packed)))
        said = "Texts of lower-ranked passages are left out of this file, which would be too large."
        listed = {**listed, "problems": [*(one for one in listed["problems"] if one != said), said]}
    return _packed({"list": listed, "queries": {}, "passages": {}})


def _packed(data: dict[str, Any]) -> str:
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return base64.b64encode(zlib.compress(text.encode("utf-8", "replace"), _LEVEL)).decode()
