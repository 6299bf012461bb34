"""The workbench as one file: without a server, without decisions, and silent on the network."""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from typing import Any

from goldbench.review.page_server import FRAME, fill_template, static_files
from goldbench.review.payload import GRADE_NAMES
from goldbench.text.display import shell_command
from goldbench.workbench.query_detail import QueryDetail
from goldbench.workbench.set_table import SetTable

MAX_QUERIES = 2000
"""Queries of the set that one file holds, those that the systems answer worst first; the others are left out."""

MAX_LEFT_OUT = 1000
"""Queries that are not in the set, and that one file holds."""

MAX_BYTES = 9_500_000
"""Bytes of the packed data: the page stays below 10 MB. What queries leave over is for texts, the most needed first."""

PREVIEW_CHARACTERS = 80
"""Characters of a passage in a list."""

BLOCK = 200
"""Queries or passages that are packed together."""

PACKAGE = "goldbench.workbench"

SCRIPTS = ("passage.js", "page.js", "texts.js", "source.js", "query.js", "workbench.js")
STYLES = ("workbench.css", "passage.css")
"""In the order in which they take effect."""


def exported(table: SetTable) -> str:
    """Return the page of a set as one file."""
    detail = QueryDetail(table)
    overview = table.overview()
    rows = {row["id"]: row for row in overview["rows"]}
    own = sorted(table.material.queries, key=lambda query_id: _difficulty(rows[query_id]))
    left_out = [key for key in rows if key in table.left_out]
    queries = {key: _without_texts(detail, key) for key in (*own[:MAX_QUERIES], *left_out[:MAX_LEFT_OUT])}
    room = MAX_BYTES - len(_pack(overview))
    packed, lacking = _pack_blocks(queries, room)
    shown_queries = dict(list(queries.items())[: len(queries) - lacking])
    room -= sum(map(len, packed))
    texts, without_text = _pack_blocks(
        {each: detail.text(each) for each in _needed_passages(shown_queries.values())}, room
    )
    is_own = [key in table.material.queries for key in shown_queries]
    counts = {"hardest": (sum(is_own), len(own)), "left out": (len(is_own) - sum(is_own), len(left_out))}
    problems = [*overview["problems"], *_missing(counts, without_text)]
    overview |= {"rows": [row for key, row in rows.items() if key in shown_queries], "problems": problems}
    return _one_file(overview["name"], " ".join([_pack(overview), *packed, *texts]))


def _difficulty(row: dict[str, Any]) -> float:
    """Return the sum of a query's first figure over the systems."""
    return sum(scores[0] or 0.0 for scores in row["scores"])


def _missing(counts: Mapping[str, tuple[int, int]], texts: int) -> Iterator[str]:
    """Yield what the file lacks, given how many queries of which kind it holds, of how many, and the missing texts."""
    command = shell_command("open")
    for name, (held, count) in counts.items():
        if held < count:
            yield f"{held:,} of {count:,} {name} queries are in this file; {command} shows all."
    if texts:
        yield f"The texts of {texts:,} lower-ranked passages are left out of this file; {command} shows them."


def _without_texts(detail: QueryDetail, key: str) -> dict[str, Any]:
    query = detail.find(key)
    assert query is not None
    for system in query.get("systems", ()):
        for result in (*system["results"], *system["later"]):
            result["begins"] = result["begins"][:PREVIEW_CHARACTERS]
    texts = ("text", "html", "cut", "document", "headings")
    passages = [{name: value for name, value in each.items() if name not in texts} for each in query["passages"]]
    return {**query, "passages": passages}


def _needed_passages(queries: Iterable[dict[str, Any]]) -> list[str]:
    """Return the passages of queries: those of the queries themselves, then results by their best rank."""
    needs: dict[str, int] = {}
    for query in queries:
        for passage in query["passages"]:
            needs[passage["id"]] = 0
        for system in query.get("systems", ()):
            for result in (*system["results"], *system["later"]):
                if result["known"]:
                    needs[result["id"]] = min(result["rank"], needs.get(result["id"], result["rank"]))
    return sorted(needs, key=needs.__getitem__)


def _pack_blocks(items: Mapping[str, Any], room: int) -> tuple[list[str], int]:
    """Return items in packed blocks that fit in some bytes, and how many items did not."""
    packed: list[str] = []
    keys = list(items)
    for start in range(0, len(keys), BLOCK):
        block = _pack({key: items[key] for key in keys[start : start + BLOCK]})
        room -= len(block) + 1
        if room < 0:
            return packed, len(keys) - start
        packed.append(block)
    return packed, 0


def _pack(data: Mapping[str, Any]) -> str:
    """Return data as base64 of a zlib stream of JSON."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return base64.b64encode(zlib.compress(text.encode("utf-8", "replace"), 9)).decode()


@dataclass(frozen=True, slots=True)
class EmbeddedPage:
    """What a page in one file holds: scripts, styles, their digests, and its data."""

    scripts: tuple[str, ...]
    styles: tuple[str, ...]
    data: str

    @property
    def script_sources(self) -> str:
        """The only scripts that may run."""
        return _digests(self.scripts)

    @property
    def style_sources(self) -> str:
        """The only styles that count."""
        return _digests(self.styles)


def _digests(texts: Iterable[str]) -> str:
    hashes = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in texts)
    return " ".join(f"'sha256-{digest}'" for digest in hashes)


def _one_file(title: str, data: str) -> str:
    texts = {name: file.read_text(encoding="utf-8") for name, file in page_files().items()}
    embedded = EmbeddedPage(tuple(texts[name] for name in SCRIPTS), tuple(texts[name] for name in STYLES), data)
    return fill_template(PACKAGE, "workbench.html", **{**page_values(), "title": title, "held": embedded})


def page_files() -> dict[str, Traversable]:
    """Return the scripts and styles of the page by name."""
    return {
        **static_files(PACKAGE, "texts.js", "source.js", "query.js", "workbench.js", "workbench.css", "enter.js"),
        **static_files(FRAME, "page.js"),
        **static_files("goldbench.report", "passage.js", "passage.css", folder="templates"),
    }


def page_values() -> dict[str, Any]:
    """Return what the template shows."""
    return {"title": "", "held": None, "scripts": SCRIPTS, "styles": STYLES, "grades": json.dumps(GRADE_NAMES)}
