"""The workbench of a folder: opened, and served like the review page."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from goldbench.errors import GoldbenchError, InputError
from goldbench.goldset.file_names import BENCH
from goldbench.goldset.folder import GoldFolder
from goldbench.goldset.gold_path import notice_of, state_of
from goldbench.review.connections import PageServer, page_server
from goldbench.review.desk import Desk
from goldbench.review.ledger import Ledger, ledger_url, open_ledger
from goldbench.review.ledger_tables import file_of
from goldbench.review.local_page import Audience, LocalPage, guarded, open_door
from goldbench.review.meanings import SetMeanings
from goldbench.review.reviewable_set import ReviewableSet, load_reviewable
from goldbench.review.server import PATIENCE_S, Place, listening
from goldbench.review.state import State, fold
from goldbench.review.team import Team
from goldbench.score.common_queries import outdated_lines
from goldbench.score.runs import Gold, load_gold
from goldbench.text.display import shell_command
from goldbench.workbench.acts import Recorder
from goldbench.workbench.earlier_version import earlier_version
from goldbench.workbench.page_answers import Material, PageAnswers
from goldbench.workbench.page_files import PACKAGE, page_files, page_values
from goldbench.workbench.set_table import SetTable, Systems
from goldbench.workbench.system_runs import EXPERIMENT, held_runs, run_paths

if TYPE_CHECKING:
    from goldbench.measures.names import Measure


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a workbench shows: measures, the runs that were given, and the first results that decide on a failure."""

    measures: Sequence[Measure]
    k: int
    runs: Mapping[str, Path]
    against: Path | None = None
    """The earlier version of the set that it is compared with."""


def load_table(gold: Gold, wanted: Wanted, state: Callable[[], State], material: ReviewableSet) -> SetTable:
    """Return a set with its systems.

    Args:
        gold: The judgments of the set.
        wanted: What is shown.
        state: Returns people's decisions by now.
        material: The set.
    """
    runs, problems = held_runs(gold, run_paths(material.folder, wanted.runs), wanted.measures)
    problems += outdated_lines(gold, ((run.name, run.documents()) for run in runs))
    earlier = earlier_version(wanted.against, material.folder) if wanted.against else None
    return SetTable(material, gold, Systems(runs, wanted.measures, wanted.k, problems, earlier), state)


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
        raise InputError(
            folder, f"holds no query to show; add some with {shell_command('add')}, or give another folder"
        )
    return material


@contextlib.contextmanager
def opened(folder: Path, ledger: str | None) -> Iterator[tuple[ReviewableSet, Ledger]]:
    """Give a set and its ledger, which is created if nobody has judged yet.

    Args:
        folder: The folder of the set.
        ledger: The address of the ledger; None for the file in the folder.

    Raises:
        InputError: The folder holds no query, or the ledger is damaged.
    """
    material = reviewable(folder)
    own = SetMeanings(material)
    with open_ledger(ledger_url(folder, ledger), data_sha=material.data_sha, meanings=own) as book:
        yield material, book


@dataclass(slots=True)
class _Files:
    """The files of a workbench, which are read again when they changed."""

    folder: Path
    wanted: Wanted
    address: str | None
    team: Team
    _ledger: Ledger | None = None
    """The ledger that was opened for the set as it is now; the first one is closed by its opener."""

    def state(self) -> dict[Path, tuple[int, int] | None]:
        """Return when each file that the page is made of was changed, and its size."""
        experiment = self.folder / BENCH / EXPERIMENT
        runs = [*GoldFolder(self.folder).runs(), *self.wanted.runs.values(), experiment]
        found = state_of(self.folder)
        for path in runs:
            with contextlib.suppress(OSError):
                stat = path.stat()
                found[path] = (stat.st_mtime_ns, stat.st_size)
        return found

    def read(self) -> Material:
        """Read the set again, and open its ledger for it.

        Raises:
            GoldbenchError: They cannot be read.
        """
        material = reviewable(self.folder)
        url = ledger_url(self.folder, self.address)
        ledger = open_ledger(url, data_sha=material.data_sha, meanings=SetMeanings(material))
        try:
            made = self.material(material, ledger)
        except GoldbenchError:
            ledger.close()
            raise
        if self._ledger is not None:
            self._ledger.close()
        self._ledger = ledger
        return made

    def material(self, material: ReviewableSet, ledger: Ledger) -> Material:
        """Return what the page is about.

        Args:
            material: The set.
            ledger: Its ledger.
        """
        gold = load_gold(material.folder)
        desk = Desk(ledger, (), team=self.team, patience_s=PATIENCE_S)
        table = load_table(gold, self.wanted, desk.refresh, material)
        return Material(table, Recorder(desk, material), notice_of(gold.path))

    def close(self) -> None:
        """Close the ledger that was opened here."""
        if self._ledger is not None:
            self._ledger.close()


@contextlib.contextmanager
def _ahead(answers: PageAnswers) -> Iterator[None]:
    """Compute the list of queries in a thread, while somebody opens the link."""
    ended = threading.Event()
    thread = threading.Thread(target=answers.prepare, args=(ended.is_set,), name="list of queries")
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@dataclass(frozen=True, slots=True)
class Workbench:
    """A workbench that is ready to be served: its answers, and the file of the key that signs cookies."""

    answers: PageAnswers
    key: Path

    @classmethod
    def of(
        cls,
        material: ReviewableSet,
        ledger: Ledger,
        wanted: Wanted,
        *,
        address: str | None = None,
        team: Team | None = None,
    ) -> Workbench:
        """Return the workbench of a set; its runs are read here.

        Args:
            material: The set.
            ledger: Its ledger.
            wanted: What is shown.
            address: The address of the ledger; None for the file in the folder.
            team: The people, who settle disagreements if they may.
        """
        files = _Files(material.folder, wanted, address, team or Team())
        file = file_of(ledger.name)
        key = file.with_suffix(".key") if file else GoldFolder(material.folder).review_key
        return cls(PageAnswers(files.material(material, ledger), files), key)

    def server(
        self,
        place: Place,
        sock: socket.socket,
        *,
        at: str = "",
        tell: Callable[[str, str], None],
        complain: Callable[[str], None],
    ) -> PageServer:
        """Return the server, after its links were passed to ``tell``.

        Args:
            place: To whom and where the page is served.
            sock: The bound socket.
            at: What follows a link, as ``#query=q1``.
            tell: Called with each person's name and link.
            complain: Called with one line about each internal error, without content.
        """
        audience = Audience(place.annotators, place.host, place.network, place.rates)
        door = open_door(sock, audience, self.key, tell=tell, complain=complain, page="open", at=at)
        answers = self.answers
        page = LocalPage(
            package=PACKAGE,
            pages={"/": "workbench.html"},
            static=page_files(),
            values=page_values(""),
            asked={
                "/api/list": answers.list,
                "/api/query": answers.query,
                "/api/passage": answers.passage,
                "/api/results": answers.results,
                "/api/found": answers.found,
                "/api/look": answers.look,
            },
            told={"/api/act": answers.act},
            entrance="enter.html",
        )
        return page_server(guarded(page, door, complain=complain))

    def serve(
        self, place: Place, *, at: str, tell: Callable[[str, str], None], complain: Callable[[str], None]
    ) -> None:
        """Serve the page until it is interrupted.

        Args:
            place: As in `server`.
            at: As in `server`.
            tell: As in `server`.
            complain: As in `server`.

        Raises:
            OutputError: The port is taken.
        """
        with listening(place, complain=complain) as sock:
            server = self.server(place, sock, at=at, tell=tell, complain=complain)
            with _ahead(self.answers), contextlib.suppress(KeyboardInterrupt):  # raised again after an orderly end
                server.run(sockets=[sock])
