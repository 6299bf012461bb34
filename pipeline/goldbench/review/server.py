"""The server of a page: binds the port before it prints any link; and the review page of a set."""

from __future__ import annotations

import contextlib
import errno
import socket
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from goldbench.errors import InputError, Message, OutputError, UsageError
from goldbench.goldset.folder import GoldFolder
from goldbench.measures.ranks.order import best
from goldbench.records.relevance import RELEVANT
from goldbench.report.passage_html import passage_html
from goldbench.review.answers import Answers
from goldbench.review.assignment import Assigner
from goldbench.review.ledger import Ledger, ledger_file, ledger_url, open_ledger
from goldbench.review.likely_errors import Runs
from goldbench.review.local_page import FRAME, LocalPage, create_app, static_files
from goldbench.review.meanings import SetMeanings
from goldbench.review.payload import GRADE_NAMES
from goldbench.review.queue import Item, QueueSettings, make_queue
from goldbench.review.reviewable_set import ReviewableSet, load_reviewable
from goldbench.review.security import Door, Links, Sessions, key_note, name_for_links, session_key
from goldbench.review.team import Team
from goldbench.score.runs import load_run, read_results
from goldbench.text.display import shown

MAX_RANK = 100
"""Results of a run that count for a pair's impact; nobody looks at lower ranks."""

NEXT_PORTS = 20
"""Ports after the default one that are tried while they are taken."""

SCRIPTS = ("page.js", "asked.js", "review.js", "history.js", "progress.js", "adjudicate.js", "review.css")
SHARED_WITH_REPORTS = ("passage.js", "passage.css")


@dataclass(frozen=True, slots=True)
class OpenReview:
    """An opened review."""

    material: ReviewableSet
    ledger: Ledger
    items: tuple[Item, ...]
    key: Path

    def lanes(self) -> dict[str, int]:
        """Return the number of pairs in each lane."""
        return dict(sorted(Counter(item.lane.value for item in self.items).items()))


@dataclass(frozen=True, slots=True)
class Place:
    """How the page is served: to whom, where, and with which settings.

    ``port`` is 0 for a free one; with ``elsewhere``, the next free port is taken if it is taken.
    """

    annotators: tuple[str, ...]
    port: int
    host: str = "127.0.0.1"
    network: bool = False
    training: bool = False
    repeats: int = 10
    seed: int = 0
    team: Team | None = None
    elsewhere: bool = False


def key_file(folder: Path, ledger: str) -> Path:
    """Return the file of the key that signs cookies: beside a ledger in a file, else in the folder of the set."""
    path = ledger_file(ledger)
    return path.with_suffix(".key") if path else GoldFolder(folder).review_key


@contextlib.contextmanager
def opened(folder: Path, ledger: str | None, settings: QueueSettings) -> Iterator[OpenReview]:
    """Give the review of a folder, with its ledger open.

    Args:
        folder: The folder of a build.
        ledger: The address of the ledger, or None for the file in the folder.
        settings: The settings of the queue.

    Raises:
        InputError: The folder holds nothing to judge, or the ledger is damaged.
    """
    material = load_reviewable(folder)
    grades = material.grades()
    covers = {pair: material.cover(*pair) for pair in material.pairs if grades.get(pair, 0) >= RELEVANT}
    runs = _rankings(folder)
    items = make_queue(material.pool, material.judgments, settings=settings, covers=covers, runs=runs)
    if not items:
        raise InputError(folder, "holds no pair to judge: no pool and no relevant passages, or the lanes leave none")
    address = ledger_url(folder, ledger)
    with open_ledger(address, data_sha=material.data_sha, meanings=SetMeanings(material)) as book:
        yield OpenReview(material, book, items, key_file(folder, address))


def serve(
    review: OpenReview, place: Place, *, tell: Callable[[str, str], None], complain: Callable[[str], None]
) -> int:
    """Serve the page until it is interrupted, and return the number of events in the ledger.

    Args:
        review: The opened review.
        place: How it is served.
        tell: Called with each person's name and link.
        complain: Called with one line about each internal error, without content, and about a key that others can read.

    Raises:
        OutputError: The port is taken.
    """
    with listening(place, complain=complain) as sock:
        server = server_of(review, place, sock, tell=tell, complain=complain)
        with contextlib.suppress(KeyboardInterrupt):  # uvicorn raises it again after an orderly end
            server.run(sockets=[sock])
    return len(review.ledger.events())


def server_of(
    review: OpenReview,
    place: Place,
    sock: socket.socket,
    *,
    tell: Callable[[str, str], None],
    complain: Callable[[str], None],
) -> uvicorn.Server:
    """Return the server of a review at a bound socket, after its links were passed to ``tell``; see `serve`."""
    assigner = Assigner(
        review.ledger, review.items, team=place.team or Team(place.annotators), repeats=place.repeats, seed=place.seed
    )
    review.ledger.hurry()
    answers = Answers(assigner, review.material, training=place.training)
    page = LocalPage(
        package=FRAME,
        pages={
            "/": "review.html",
            "/history": "history.html",
            "/progress": "progress.html",
            "/adjudicate": "adjudicate.html",
        },
        static={
            **static_files(FRAME, *SCRIPTS),
            **static_files("goldbench.report", *SHARED_WITH_REPORTS, folder="templates"),
        },
        values={"grades": GRADE_NAMES, "rubric": passage_html(review.material.rubric.text)},
        questions={
            "/api/session": answers.session,
            "/api/next": answers.upcoming,
            "/api/item": answers.item,
            "/api/context": answers.context,
            "/api/query": answers.overview,
            "/api/history": answers.history,
            "/api/progress": answers.progress,
            "/api/adjudicate": answers.disputes,
        },
        decisions={"/api/event": answers.event},
    )
    door = open_door(place, sock, review.key, tell=tell, complain=complain)
    return page_server(page, door, complain)


def open_door(
    place: Place,
    sock: socket.socket,
    key: Path,
    *,
    page: str = "review",
    tell: Callable[[str, str], None],
    complain: Callable[[str], None],
) -> Door:
    """Return the door of a page, after the link of each person was passed to ``tell``.

    Args:
        place: To whom and where the page is served.
        sock: The bound socket.
        key: The file of the key that signs cookies; a missing one is created.
        page: The page that the door leads to.
        tell: Called with each person's name and link.
        complain: Called with one line if others can read the key.
    """
    port = int(sock.getsockname()[1])
    host = name_for_links(place.host)
    sessions = Sessions(session_key(key), place.annotators)
    if note := key_note(key):
        complain(note)
    links = Links(place.annotators, lambda name, token: tell(name, f"http://{host}:{port}/?token={token}"))
    return Door(port, links, sessions, host=host, network=place.network, page=page)


def page_server(page: LocalPage, door: Door, complain: Callable[[str], None]) -> uvicorn.Server:
    """Return the server of a page, which writes no log of its own: internal errors are told without content."""
    config = uvicorn.Config(
        create_app(page, door, complain),
        access_log=False,
        log_config=None,
        log_level="critical",
        server_header=False,
        lifespan="off",
        ws="none",
        timeout_keep_alive=30,
        timeout_graceful_shutdown=3,
    )
    return uvicorn.Server(config)


@contextlib.contextmanager
def listening(place: Place, *, complain: Callable[[str], None]) -> Iterator[socket.socket]:
    """Give the socket of a page.

    Args:
        place: How the page is served.
        complain: Called with one line if another port than the one asked for is taken.

    Raises:
        OutputError: The port cannot be used.
        UsageError: The address is not one of this machine.
    """
    family = socket.AF_INET6 if ":" in place.host else socket.AF_INET
    # asyncio sets TCP_NODELAY only on a socket created as TCP; without it every answer waits 40 ms.
    with socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP) as sock:
        # On Windows, SO_REUSEADDR would let two servers share a port.
        sock.setsockopt(socket.SOL_SOCKET, getattr(socket, "SO_EXCLUSIVEADDRUSE", socket.SO_REUSEADDR), 1)
        try:
            _bind(sock, place.host, place.port, NEXT_PORTS if place.elsewhere else 0)
            sock.listen()
        except socket.gaierror:
            raise UsageError(Message("{host} {}: not an address of this machine", shown(place.host))) from None
        except (OSError, OverflowError) as error:
            reason = (getattr(error, "strerror", None) or "not a valid port").lower()
            problem = f"port {place.port} of {shown(place.host)} cannot be used ({reason}); give another port"
            raise OutputError(problem) from None
        port = int(sock.getsockname()[1])
        if place.port not in {0, port}:
            complain(f"port {place.port} is taken by another program; the page is at port {port}")
        yield sock


def _bind(sock: socket.socket, host: str, port: int, further: int) -> None:
    """Bind a socket to a port, or to the first free one of those that follow."""
    last = min(port + further, 65535)
    for candidate in range(port, last + 1):
        try:
            sock.bind((host, candidate))
        except OSError as error:
            if candidate == last or error.errno not in {errno.EADDRINUSE, errno.EACCES}:
                raise
        else:
            return


def _rankings(folder: Path) -> Runs:
    """Return the rankings of the runs in a data set's folder, best first; the card names files that are no runs."""
    rankings: dict[str, dict[str, Sequence[str]]] = {}
    for name, path in GoldFolder(folder).named_runs().items():
        with contextlib.suppress(InputError):
            scores = read_results(load_run(path))
            rankings[name] = {query_id: list(best(docs, MAX_RANK)) for query_id, docs in scores.items()}
    return rankings
