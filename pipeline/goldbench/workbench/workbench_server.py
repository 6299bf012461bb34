"""The workbench of a folder: opened, and served like the review page."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goldbench.errors import GoldbenchError, InputError
from goldbench.goldset.file_names import BENCH
from goldbench.goldset.folder import GoldFolder
from goldbench.goldset.gold_path import notice_of, state_of
from goldbench.records.review_event import Event, EventKind
from goldbench.review.assignment import Assigner
from goldbench.review.ledger import Ledger, ledger_url, open_ledger
from goldbench.review.local_page import InvalidRequest, LocalPage
from goldbench.review.meanings import SetMeanings
from goldbench.review.payload import clean
from goldbench.review.reviewable_set import ReviewableSet, load_reviewable
from goldbench.review.sent_event import SentEvent, make_event, parse_event
from goldbench.review.server import Place, key_file, listening, open_door, page_server
from goldbench.review.state import State, fold
from goldbench.review.team import Team
from goldbench.score.common_queries import outdated_lines
from goldbench.score.runs import Gold, load_gold
from goldbench.text.display import shell_command
from goldbench.workbench.page_files import PACKAGE, page_files, page_values
from goldbench.workbench.query_detail import QueryDetail
from goldbench.workbench.set_table import SetTable, Systems
from goldbench.workbench.system_runs import EXPERIMENT, held_runs, run_paths

if TYPE_CHECKING:
    import uvicorn

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
    return SetTable(material, gold, Systems(runs, wanted.measures, wanted.k, problems), decide)


def decided(folder: Path, ledger: str | None, material: ReviewableSet) -> State:
    """Return what people decided so far, without a change to the folder if nobody did.

    Args:
        folder: The folder of the set.
        ledger: The address of the ledger; None for the file in the folder.
        material: The set.

    Raises:
        InputError: The ledger is damaged, or the given one is missing.
    """
    if ledger is None and not GoldFolder(folder).ledger.is_file():
        return State()
    own = SetMeanings(material)
    with open_ledger(ledger_url(folder, ledger), data_sha=material.data_sha, meanings=own, create=False) as book:
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


def _open(folder: Path, ledger: str | None) -> tuple[ReviewableSet, Ledger]:
    material = reviewable(folder)
    own = SetMeanings(material)
    return material, open_ledger(ledger_url(folder, ledger), data_sha=material.data_sha, meanings=own)


@contextlib.contextmanager
def opened(folder: Path, ledger: str | None) -> Iterator[tuple[ReviewableSet, Ledger]]:
    """Give a set and its ledger, which is created if nobody has judged yet.

    Args:
        folder: The folder of the set.
        ledger: The address of the ledger; None for the file in the folder.

    Raises:
        InputError: The folder holds no query, or the ledger is damaged.
    """
    material, book = _open(folder, ledger)
    with book:
        yield material, book


class Workbench:
    """The answers of the served page; one request at a time, because each may renew what the others read.

    When the files of the set have changed and were left alone for the time between two looks, they are read again.
    """

    def __init__(
        self,
        material: ReviewableSet,
        ledger: Ledger,
        wanted: WorkbenchSettings,
        *,
        address: str | None = None,
        team: Team | None = None,
    ) -> None:
        """Read the runs of a set.

        Args:
            material: The set.
            ledger: Its ledger.
            wanted: What is shown.
            address: The address of the ledger; None for the file in the folder.
            team: The people, who settle disagreements if they may.
        """
        self.folder = material.folder
        self._wanted = wanted
        self._address = address
        self._team = team or Team()
        self._turn = threading.Lock()
        self._files = self._file_states()
        self._changed: object = None
        self._reopened: Ledger | None = None
        self._times_read = 0
        self._problem = ""
        self._take(material, ledger)

    def _take(self, material: ReviewableSet, ledger: Ledger) -> None:
        gold = load_gold(material.folder)
        assigner = Assigner(ledger, (), team=self._team)
        ledger.hurry()
        self.table = load_table(gold, self._wanted, assigner.refresh, material)
        self._notice = notice_of(gold.path)
        self._assigner = assigner
        self._detail = QueryDetail(self.table)

    # --- questions ----------------------------------------------------------------------------------------------------

    def look(self, _: str, __: Mapping[str, str]) -> dict[str, Any]:
        """Look whether the files of the set changed; return how often they were read again, and what was wrong."""
        with self._turn:
            states = self._file_states()
            if states == self._files:
                self._changed = None
            elif states != self._changed:
                self._changed = states  # somebody may still be writing
            else:
                self._files = states
                self._read_again()
            return self._reading()

    def _read_again(self) -> None:
        try:
            material, ledger = _open(self.folder, self._address)
            try:
                self._take(material, ledger)
            except GoldbenchError:
                ledger.close()
                raise
            if self._reopened is not None:
                self._reopened.close()
            self._reopened = ledger
            self._problem = ""
        except GoldbenchError as error:
            self._problem = f"The set was changed and cannot be read ({error}); this page shows it as it was before."
        self._times_read += 1

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
            overview = self.table.overview(self._notice)
            settles = self._team.settles(annotator)
            return {**overview, **self._reading(), "annotator": clean(annotator), "settles": settles}

    def query(self, _: str, arguments: Mapping[str, str]) -> dict[str, Any]:
        """Return one query by its id."""
        with self._turn:
            return self._query(arguments.get("id", ""))

    def _query(self, key: str) -> dict[str, Any]:
        query = self._detail.find(key)
        if query is None:
            raise InvalidRequest("unknown query")
        return query

    def passage(self, _: str, arguments: Mapping[str, str]) -> dict[str, Any]:
        """Return the whole text of a passage, with its marks for a query."""
        query_id, chunk_id = arguments.get("query", ""), arguments.get("passage", "")
        with self._turn:
            if chunk_id not in self.table.material.corpus or query_id not in self.table.material.queries:
                raise InvalidRequest("unknown passage")
            return self._detail.passage(query_id, chunk_id)

    def results(self, _: str, arguments: Mapping[str, str]) -> dict[str, Any]:
        """Return further results of a system for a query."""
        query_id = arguments.get("query", "")
        system = _number(arguments.get("system"))
        first = _number(arguments.get("first"))
        with self._turn:
            if query_id not in self.table.material.queries or system >= len(self.table.systems.runs) or first < 1:
                raise InvalidRequest("unknown query or system")
            return self._detail.results(query_id, system, first)

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

    def server(
        self,
        place: Place,
        sock: socket.socket,
        *,
        at: str = "",
        tell: Callable[[str, str], None],
        complain: Callable[[str], None],
    ) -> uvicorn.Server:
        """Return the server, after its links were passed to ``tell``.

        Args:
            place: To whom and where the page is served.
            sock: The bound socket.
            at: What follows a link, as ``#query=q1``.
            tell: Called with each person's name and link.
            complain: Called with one line about each internal error, without content.
        """
        page = LocalPage(
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
        key = key_file(self.folder, ledger_url(self.folder, self._address))

        def tell_link(name: str, link: str) -> None:
            tell(name, link + at)

        door = open_door(place, sock, key, page="open", tell=tell_link, complain=complain)
        return page_server(page, door, complain)

    def serve(
        self, place: Place, *, at: str, tell: Callable[[str, str], None], complain: Callable[[str], None]
    ) -> None:
        """Serve the page until it is interrupted; see `server`.

        Raises:
            OutputError: The port is taken.
        """
        with listening(place, complain=complain) as sock:
            server = self.server(place, sock, at=at, tell=tell, complain=complain)
            with contextlib.suppress(KeyboardInterrupt):  # raised again after an orderly end
                server.run(sockets=[sock])


def _number(text: str | None) -> int:
    if text is None or not text.isdecimal() or len(text) > 7 or int(text) > MAX_RANK:
        raise InvalidRequest("a number is missing or not valid")
    return int(text)
