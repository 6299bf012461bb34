"""The workbench of a folder: opened, and served like the review page."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from goldbench.errors import GoldbenchError, InputError
from goldbench.goldset.file_names import BENCH
from goldbench.goldset.folder import GoldFolder
from goldbench.goldset.gold_path import state_of
from goldbench.records.review_event import Event, EventKind
from goldbench.review.assignment import Assigner, Team
from goldbench.review.ledger import Ledger, ledger_path, open_ledger
from goldbench.review.meanings import SetMeanings
from goldbench.review.page_server import InvalidRequest, LocalPage
from goldbench.review.payload import clean
from goldbench.review.reviewable_set import ReviewableSet, load_reviewable
from goldbench.review.sent_event import SentEvent, make_event, parse_event
from goldbench.review.state import State, fold
from goldbench.score.common_queries import outdated_lines
from goldbench.score.runs import Gold, load_gold
from goldbench.text.display import shell_command
from goldbench.workbench.exported_page import PACKAGE, page_files, page_values
from goldbench.workbench.query_detail import QueryDetail
from goldbench.workbench.set_table import SetTable, SystemRuns
from goldbench.workbench.system_runs import EXPERIMENT, held_runs, run_paths

if TYPE_CHECKING:
    from goldbench.measures.names import Measure

MAX_RANK = 1_000_000
"""A result below this rank is not asked for."""

_ABOUT_PASSAGES = {EventKind.JUDGE, EventKind.ADJUDICATE}
_ABOUT_QUERIES = {
    EventKind.EDIT_QUERY,
    EventKind.REJECT_QUERY,
    EventKind.ACCEPT_QUERY,
    EventKind.BAD_QUERY,
    EventKind.REOPEN,
}


@dataclass(frozen=True, slots=True)
class WorkbenchSettings:
    """What a workbench shows: measures, the runs that were given, and the first results that decide on a failure."""

    measures: Sequence[Measure]
    k: int
    runs: Mapping[str, Path]


def load_table(gold: Gold, wanted: WorkbenchSettings, decide: Callable[[], State], material: ReviewableSet) -> SetTable:
    """Return a set with its systems.

    Args:
        gold: The judgments of the set.
        wanted: What is shown.
        decide: Returns people's decisions by now.
        material: The set.
    """
    runs, problems = held_runs(gold, run_paths(material.folder, wanted.runs), wanted.measures)
    problems += outdated_lines(gold, ((run.name, run.documents()) for run in runs))
    return SetTable(material, gold, SystemRuns(runs, wanted.measures, wanted.k, problems), decide)


def decided(folder: Path, ledger: str | None, material: ReviewableSet) -> State:
    """Return what people decided so far, without a change to the folder if nobody did.

    Args:
        folder: The folder of the set.
        ledger: The file of the ledger; None for the file in the folder.
        material: The set.

    Raises:
        InputError: The ledger is damaged, or the given one is missing.
    """
    if ledger is None and not GoldFolder(folder).ledger.is_file():
        return State()
    own = SetMeanings(material)
    with open_ledger(ledger_path(folder, ledger), data_sha=material.data_sha, meanings=own, create=False) as book:
        return fold(book.translated(book.events()).events)


def reviewable(folder: Path) -> ReviewableSet:
    """Return the set in a folder.

    Raises:
        InputError: There is none, or it holds no query.
    """
    material = load_reviewable(folder)
    if not material.queries:
        command = shell_command("add")
        raise InputError(folder, f"holds no query to show; add some with {command}, or give another folder")
    return material


class Workbench:
    """The answers of the served page; one request at a time, because each may renew what the others read.

    When the files of the set have changed, they are read again.
    """

    def __init__(self, folder: Path, wanted: WorkbenchSettings, *, ledger: str | None = None) -> None:
        """Open a set, its runs and its ledger, which is created if nobody has judged yet.

        Args:
            folder: The folder of the set.
            wanted: What is shown.
            ledger: The file of the ledger; None for the file in the folder.

        Raises:
            InputError: The folder holds no query, or the ledger is damaged.
        """
        self.folder = folder
        self.team = Team()
        self._wanted = wanted
        self._ledger_file = ledger
        self._turn = threading.Lock()
        self._times_read = 0
        self._problem = ""
        self._files = self._file_states()
        self.ledger, self.table, self._assigner = self._open()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.ledger.close()

    def take_team(self, team: Team) -> None:
        """Let these people judge, and settle disagreements if they may."""
        self.team = team
        self._assigner.team = team

    def _open(self) -> tuple[Ledger, SetTable, Assigner]:
        material = reviewable(self.folder)
        own = SetMeanings(material)
        ledger = open_ledger(ledger_path(self.folder, self._ledger_file), data_sha=material.data_sha, meanings=own)
        try:
            assigner = Assigner(ledger, (), team=self.team)
            ledger.hurry()
            table = load_table(load_gold(self.folder), self._wanted, assigner.refresh, material)
        except GoldbenchError:
            ledger.close()
            raise
        return ledger, table, assigner

    # --- questions ----------------------------------------------------------------------------------------------------

    def look(self, _: str, __: Mapping[str, str]) -> dict[str, Any]:
        """Read the set again if its files changed; return how often that was done, and what was wrong."""
        with self._turn:
            states = self._file_states()
            if states != self._files:
                self._files = states
                self._read_again()
            return self._reading()

    def _read_again(self) -> None:
        self._times_read += 1
        self._problem = ""
        before = self.ledger
        try:
            self.ledger, self.table, self._assigner = self._open()
        except GoldbenchError as error:
            self._problem = f"The set was changed and cannot be read ({error}); this page shows it as it was before."
        else:
            before.close()

    def _file_states(self) -> dict[Path, tuple[int, int] | None]:
        """Return when each file that the page is made of was changed, and its size."""
        states = state_of(self.folder)
        runs = [*GoldFolder(self.folder).runs(), *self._wanted.runs.values(), self.folder / BENCH / EXPERIMENT]
        for path in runs:
            with contextlib.suppress(OSError):
                stat = path.stat()
                states[path] = (stat.st_mtime_ns, stat.st_size)
        return states

    def _reading(self) -> dict[str, Any]:
        return {"read": self._times_read, "problem": clean(self._problem)}

    def list(self, annotator: str, _: Mapping[str, str]) -> dict[str, Any]:
        """Return the list of queries."""
        with self._turn:
            overview = self.table.overview()
            settles = self.team.settles(annotator)
            return {**overview, **self._reading(), "annotator": clean(annotator), "settles": settles}

    def query(self, _: str, arguments: Mapping[str, str]) -> dict[str, Any]:
        """Return one query by its id."""
        with self._turn:
            return self._query(arguments.get("id", ""))

    def _query(self, key: str) -> dict[str, Any]:
        query = QueryDetail(self.table).find(key)
        if query is None:
            raise InvalidRequest("unknown query")
        return query

    def passage(self, _: str, arguments: Mapping[str, str]) -> dict[str, Any]:
        """Return the whole text of a passage, with its marks for a query."""
        query_id = arguments.get("query", "")
        chunk_id = arguments.get("passage", "")
        with self._turn:
            if chunk_id not in self.table.material.corpus or query_id not in self.table.material.queries:
                raise InvalidRequest("unknown passage")
            return QueryDetail(self.table).passage(query_id, chunk_id)

    def results(self, _: str, arguments: Mapping[str, str]) -> dict[str, Any]:
        """Return further results of a system for a query."""
        query_id = arguments.get("query", "")
        system = _number(arguments.get("system"))
        first = _number(arguments.get("first"))
        with self._turn:
            if query_id not in self.table.material.queries or system >= len(self.table.systems.runs) or first < 1:
                raise InvalidRequest("unknown query or system")
            return QueryDetail(self.table).results(query_id, system, first)

    def matches(self, _: str, arguments: Mapping[str, str]) -> dict[str, Any]:
        """Return the queries whose passages hold all words that are looked for."""
        words = arguments.get("words", "").casefold().split()
        with self._turn:
            return {"ids": self.table.search_passages(words) if words else []}

    # --- decisions ----------------------------------------------------------------------------------------------------

    def event(self, annotator: str, body: dict[str, Any]) -> dict[str, Any]:
        """Store a decision; return the query as it is now.

        Who judges here has seen the judge's grades and the systems' ranks. Such a judgment is marked as revealed and
        belongs to no lane: it counts as a grade of people, but in no figure of agreement.
        """
        sent = parse_event(body)
        if sent.query not in self.table.material.queries:
            raise InvalidRequest("unknown query")
        with self._turn:
            event = self._undo(annotator, sent) if sent.kind is EventKind.UNDO else self._event(annotator, sent)
            stored, _ = self._assigner.record(event, blind=False)
            return {"seq": stored.seq, **self._query(stored.query_id)}

    def _event(self, annotator: str, sent: SentEvent) -> Event:
        if sent.kind in _ABOUT_PASSAGES:
            if sent.grade is None or sent.passage is None:
                raise InvalidRequest(f"{sent.kind.value} needs a passage and a grade")
            if sent.passage not in self.table.material.corpus:
                raise InvalidRequest("unknown passage")
        elif sent.kind not in _ABOUT_QUERIES or sent.passage is not None:
            raise InvalidRequest(f"{sent.kind.value} is not a decision on this query or passage")
        about = {"query_id": sent.query, "chunk_id": sent.passage, "revealed": sent.kind is EventKind.JUDGE}
        return make_event(self.table.material, annotator, {**sent.content, **about})

    def _undo(self, annotator: str, sent: SentEvent) -> Event:
        """Return the event that takes back the person's last act on a query or on one of its passages."""
        known = self._assigner.ledger.find(sent.client_id)
        if known is not None:
            return known
        pair = (sent.query, sent.passage)
        with self._assigner.reading() as state:
            acts = reversed(state.acts_of(annotator))
            target = next((act for act in acts if (act.query_id, act.chunk_id) == pair), None)
        if target is None:
            raise InvalidRequest("There is nothing of yours to undo here")
        about = {"query_id": sent.query, "chunk_id": sent.passage, "repeat": target.repeat}
        fields = {"client_id": sent.client_id, "kind": sent.kind, "undoes": target.client_id, **about}
        return make_event(self.table.material, annotator, fields)

    # --- serving ------------------------------------------------------------------------------------------------------

    def page(self) -> LocalPage:
        """Return the page."""
        return LocalPage(
            name="open",
            package=PACKAGE,
            pages={"/": "workbench.html"},
            static=page_files(),
            values=page_values(),
            questions={
                "/api/list": self.list,
                "/api/query": self.query,
                "/api/passage": self.passage,
                "/api/results": self.results,
                "/api/matches": self.matches,
                "/api/look": self.look,
            },
            decisions={"/api/event": self.event},
            entrance="enter.html",
        )

    @property
    def key(self) -> Path:
        """The file of the key that signs cookies."""
        return ledger_path(self.folder, self._ledger_file).with_suffix(".key")


def _number(text: str | None) -> int:
    if text is None or not text.isdecimal() or len(text) > 7 or int(text) > MAX_RANK:
        raise InvalidRequest("a number is missing or not valid")
    return int(text)
