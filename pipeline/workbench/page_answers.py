"""What the workbench answers: the list of queries, single queries and passages, and acts."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from goldbench.pipeline.goldset.gold_path import state_of
from goldbench.pipeline.review.overview import Refused
from goldbench.pipeline.review.payload import clean
from goldbench.pipeline.text.display import shown
from goldbench.pipeline.workbench.acts import Recorder
from goldbench.pipeline.workbench.query_detail import QueryDetail
from goldbench.pipeline.workbench.set_table import SetTable

MOST_RANK = 1_000_000
"""A result below this rank is not asked for."""


def overview(table: SetTable, *, notice: str | None) -> dict[str, Any]:
    """Return everything that the list of queries shows.

    Args:
        table: The set.
        notice: The set's warning.
    """
    rows = table.rows()
    return {
        "set": shown(table.material.folder),
        "queries": len(table.material.queries),
        "passages": len(table.material.corpus),
        "notice": notice,
        "problems": list(table.systems.problems),
        "systems": [run.name for run in table.systems.runs],
        "measures": [measure.name for measure in table.systems.measures],
        "k": table.systems.k,
        "level": table.gold.level,
        "pending": table.state.seq > 0 and any(table.labels.is_pending(one) for one in table.material.queries),
        "means": table.means(),
        "causes": table.causes(),
        "rows": rows,
    }


@dataclass
class PageAnswers:
    """Answers of the served page; one request at a time, because each may renew what the others read."""

    table: SetTable
    recorder: Recorder
    notice: str | None = None
    _turn: threading.Lock = field(default_factory=threading.Lock, init=False)

    def __post_init__(self) -> None:
        """Remember the files of the set, to tell when they change."""
        self._detail = QueryDetail(self.table)
        self._files = state_of(self.table.material.folder)

    def list(self, annotator: str, _: Mapping[str, str]) -> dict[str, Any]:
        """Return the list of queries."""
        with self._turn:
            found = overview(self.table, notice=self.notice)
        changed = state_of(self.table.material.folder) != self._files
        return {**found, "annotator": clean(annotator), "changed": changed}

    def query(self, _: str, asked: Mapping[str, str]) -> dict[str, Any]:
        """Return one query by its id."""
        with self._turn:
            return self._query(asked.get("id", ""))

    def passage(self, _: str, asked: Mapping[str, str]) -> dict[str, Any]:
        """Return the whole text of a passage, with its marks for a query."""
        query_id, chunk_id = asked.get("query", ""), asked.get("passage", "")
        with self._turn:
            if chunk_id not in self.table.material.corpus or query_id not in self.table.material.queries:
                raise Refused("unknown passage")
            return self._detail.passage(query_id, chunk_id)

    def results(self, _: str, asked: Mapping[str, str]) -> dict[str, Any]:
        """Return further results of a system for a query."""
        query_id = asked.get("query", "")
        system, first = (_number(asked.get(name)) for name in ("system", "first"))
        with self._turn:
            if query_id not in self.table.material.queries or system >= len(self.table.systems.runs) or first < 1:
                raise Refused("unknown query or system")
            return self._detail.results(query_id, system, first)

    def found(self, _: str, asked: Mapping[str, str]) -> dict[str, Any]:
        """Return the queries whose passages hold all words that are looked for."""
        words = asked.get("words", "").casefold().split()
        with self._turn:
            return {"ids": self.table.holding(words) if words else []}

    def act(self, annotator: str, body: dict[str, Any]) -> dict[str, Any]:
        """Store an act; return the query as it is now."""
        with self._turn:
            stored = self.recorder.record(annotator, body)
            return {"seq": stored.seq, **self._query(stored.query_id)}

    def _query(self, query_id: str) -> dict[str, Any]:
        if query_id in self.table.material.queries:
            return self._detail.of(query_id)
        if query_id in self.table.left_out.by_key:
            return self._detail.left_out(query_id)
        raise Refused("unknown query")


def _number(text: str | None) -> int:
    if text is None or not text.isdecimal() or len(text) > 7 or int(text) > MOST_RANK:
        raise Refused("a number is missing or not valid")
    return int(text)
