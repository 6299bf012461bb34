"""What the workbench answers: the list of queries, single queries and passages, and acts."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from goldbench.errors import GoldbenchError
from goldbench.review.overview import Refused
from goldbench.review.payload import clean
from goldbench.text.display import brief, shown
from goldbench.workbench.acts import Recorder
from goldbench.workbench.query_detail import QueryDetail
from goldbench.workbench.set_table import SetTable

MOST_RANK = 1_000_000
"""A result below this rank is not asked for."""
_AT_ONCE, _PAUSE_S = 20, 0.001
"""Queries whose lines are computed ahead without a pause, and seconds of each pause, the turn of a request."""


def overview(table: SetTable, *, notice: str | None) -> dict[str, Any]:
    """Return everything that the list of queries shows.

    Args:
        table: The set.
        notice: The set's warning.
    """
    rows = table.rows()
    return {
        "set": shown(table.material.folder),
        "name": shown(table.material.folder.resolve().name),
        "earlier": table.systems.earlier.name if table.systems.earlier else None,
        "queries": len(table.material.queries),
        "passages": len(table.material.corpus),
        "notice": notice,
        "brief": brief(notice, "") if notice else None,
        "problems": list(table.systems.problems),
        "systems": [run.name for run in table.systems.runs],
        "measures": [measure.name for measure in table.systems.measures],
        "k": table.systems.k,
        "level": table.labels.level,
        "pending": table.state.seq > 0 and any(table.labels.is_pending(one) for one in table.material.queries),
        "means": table.means(),
        "causes": table.causes(),
        "rows": rows,
    }


@dataclass(frozen=True, slots=True)
class Material:
    """What the page is about as it was read last: the set, where acts are stored, the set's warning."""

    table: SetTable
    recorder: Recorder
    notice: str | None = None


class Watched(Protocol):
    """The files of a set, which may change while the page is open."""

    def state(self) -> object:
        """Return what differs from an earlier return value if a file changed."""

    def read(self) -> Material:
        """Read the files.

        Raises:
            GoldbenchError: They cannot be read.
        """


class PageAnswers:
    """Answers of the served page; one request at a time, because each may renew what the others read.

    When the files of the set have changed and were left alone for the time between two looks, they are read again.

    Args:
        material: The set as it was read.
        files: Its files.
    """

    def __init__(self, material: Material, files: Watched) -> None:
        self._turn = threading.Lock()
        self._files, self._read = files, files.state()
        self._waiting: object = None
        self._times, self._problem = 0, ""
        self._take(material)

    def _take(self, material: Material) -> None:
        self.table, self.recorder, self.notice = material.table, material.recorder, material.notice
        self._detail = QueryDetail(self.table)

    def look(self, _: str, __: Mapping[str, str]) -> dict[str, Any]:
        """Look whether the files of the set changed; return how often they were read again, and what was wrong."""
        with self._turn:
            now = self._files.state()
            if now == self._read:
                self._waiting = None
            elif now != self._waiting:
                self._waiting = now  # somebody may still be writing
            else:
                self._read_again(now)
            return self._told()

    def _read_again(self, state: object) -> None:
        self._read, self._waiting = state, None
        try:
            self._take(self._files.read())
            self._problem = ""
        except GoldbenchError as error:
            self._problem = f"The set was changed and cannot be read ({error}); this page shows it as it was before."
        self._times += 1

    def _told(self) -> dict[str, Any]:
        return {"read": self._times, "problem": clean(self._problem)}

    def prepare(self, ended: Callable[[], bool]) -> None:
        """Compute the lines of all queries, so that the first list is there at once; requests come in between.

        Args:
            ended: Returns whether the page is not served any more.
        """
        table = self.table
        query_ids = list(table.material.queries)
        for first in range(0, len(query_ids), _AT_ONCE):
            if ended() or self.table is not table:
                return
            with self._turn, contextlib.suppress(GoldbenchError):  # the request for the list tells it
                table.prepare(query_ids[first : first + _AT_ONCE])
            time.sleep(_PAUSE_S)

    def list(self, annotator: str, _: Mapping[str, str]) -> dict[str, Any]:
        """Return the list of queries."""
        with self._turn:
            found = overview(self.table, notice=self.notice)
            settles = self.recorder.settles(annotator)
            return {**found, **self._told(), "annotator": clean(annotator), "settles": settles}

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
        found = self._detail.any(query_id)
        if found is None:
            raise Refused("unknown query")
        return found


def _number(text: str | None) -> int:
    if text is None or not text.isdecimal() or len(text) > 7 or int(text) > MOST_RANK:
        raise Refused("a number is missing or not valid")
    return int(text)
