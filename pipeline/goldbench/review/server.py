"""The server of the page: draws the queue, opens the ledger and binds the port before it prints any link."""

from __future__ import annotations

import contextlib
import errno
import socket
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from goldbench.errors import InputError, Message, OutputError, UsageError
from goldbench.goldset.folder import GoldFolder
from goldbench.measures.ranks.order import best
from goldbench.records.relevance import RELEVANT
from goldbench.review.connections import QUEUED, PageServer, page_server
from goldbench.review.desk import Desk
from goldbench.review.learnt_order import LearntOrder
from goldbench.review.ledger import Ledger, ledger_url, open_ledger
from goldbench.review.ledger_tables import file_of
from goldbench.review.likely_errors import Runs
from goldbench.review.local_page import Audience, open_door
from goldbench.review.meanings import SetMeanings
from goldbench.review.queue import Item, Queue, QueueSettings
from goldbench.review.responses import Answers
from goldbench.review.reviewable_set import ReviewableSet, load_reviewable
from goldbench.review.security import Rates
from goldbench.review.team import Team
from goldbench.review.web import create_app
from goldbench.score.runs import load_run, read_results
from goldbench.text.display import shown

DEEPEST = 100
"""Results of a run that count for a pair's impact; nobody looks at lower ranks."""

FURTHER = 20
"""Ports after the default one that are tried while they are taken."""

PATIENCE_S = 0.4
"""Seconds that a request waits for another process that holds the ledger; the browser keeps what was refused."""


@dataclass(frozen=True, slots=True)
class Opened:
    """An opened review."""

    material: ReviewableSet
    ledger: Ledger
    queue: Queue
    key: Path

    @property
    def items(self) -> tuple[Item, ...]:
        """The items in their first order."""
        return self.queue.items

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
    rates: Rates | None = field(default=None)
    team: Team | None = None
    elsewhere: bool = False


@contextlib.contextmanager
def opened(folder: Path, ledger: str | None, settings: QueueSettings) -> Iterator[Opened]:
    """Give the review of a folder, with its ledger open.

    Args:
        folder: The folder of a build.
        ledger: The address of the ledger, or None for the file in the folder.
        settings: The settings of the queue.

    Raises:
        InputError: The folder holds nothing to judge, or the ledger is damaged.
    """
    material = load_reviewable(folder)
    queue = draw(material, settings)
    if not queue.items:
        raise InputError(folder, "holds no pair to judge: no pool and no relevant passages, or the lanes leave none")
    address = ledger_url(folder, ledger)
    file = file_of(address)
    key = file.with_suffix(".key") if file else GoldFolder(folder).review_key
    with open_ledger(address, data_sha=material.data_sha, meanings=SetMeanings(material)) as book:
        yield Opened(material, book, queue, key)


def draw(material: ReviewableSet, settings: QueueSettings) -> Queue:
    """Return the queue of a data set."""
    grades = material.grades()
    covers = {pair: material.cover(*pair) for pair in material.pairs if pair in grades and grades[pair] >= RELEVANT}
    return Queue(material.pool, material.judgments, settings=settings, covers=covers, runs=_runs(material.folder))


def serve(review: Opened, place: Place, *, tell: Callable[[str, str], None], complain: Callable[[str], None]) -> int:
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
    review: Opened,
    place: Place,
    sock: socket.socket,
    *,
    tell: Callable[[str, str], None],
    complain: Callable[[str], None],
) -> PageServer:
    """Return the server of a review, after its links were passed to ``tell``.

    Args:
        review: As in `serve`.
        place: As in `serve`.
        sock: The bound socket.
        tell: As in `serve`.
        complain: As in `serve`.
    """
    audience = Audience(place.annotators, place.host, place.network, place.rates)
    door = open_door(sock, audience, review.key, tell=tell, complain=complain)
    desk = Desk(
        review.ledger,
        review.items,
        renewed=LearntOrder(review.queue),
        team=place.team or Team(place.annotators),
        repeats=place.repeats,
        seed=place.seed,
        patience_s=PATIENCE_S,
    )
    answers = Answers(desk, review.material, training=place.training)
    return page_server(create_app(answers, door, complain=complain))


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
    with bound(place.host, place.port, further=FURTHER if place.elsewhere else 0) as sock:
        if place.port and (port := int(sock.getsockname()[1])) != place.port:
            complain(f"port {place.port} is taken by another program; the page is at port {port}")
        yield sock


@contextlib.contextmanager
def bound(host: str, port: int, *, further: int = 0) -> Iterator[socket.socket]:
    """Give a listening socket; port 0 takes a free port.

    Args:
        host: The address.
        port: The port.
        further: How many of the following ports are tried if it is taken.

    Raises:
        OutputError: The port cannot be used.
        UsageError: The address is not one of this machine.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sets TCP_NODELAY only on a socket created as TCP; without it every answer waits 40 ms.
    with socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP) as sock:
        # On Windows, SO_REUSEADDR would let two servers share a port.
        sock.setsockopt(socket.SOL_SOCKET, getattr(socket, "SO_EXCLUSIVEADDRUSE", socket.SO_REUSEADDR), 1)
        try:
            _bind(sock, host, port, further)
            sock.listen(QUEUED)
        except socket.gaierror:
            raise UsageError(Message("{host} {}: not an address of this machine", shown(host))) from None
        except (OSError, OverflowError) as error:
            reason = (getattr(error, "strerror", None) or "not a valid port").lower()
            raise OutputError(f"port {port} of {shown(host)} cannot be used ({reason}); give another port") from None
        yield sock


def _bind(sock: socket.socket, host: str, port: int, further: int) -> None:
    """Bind a socket to a port, or to the first free one of those that follow."""
    for candidate in range(port, min(port + further, 65535) + 1):
        try:
            sock.bind((host, candidate))
        except OSError as error:
            if candidate == port + further or error.errno not in {errno.EADDRINUSE, errno.EACCES}:
                raise
        else:
            return


def _runs(folder: Path) -> Runs:
    """Return the rankings of the runs in a data set's folder, best first; the card names files that are no runs."""
    found: dict[str, dict[str, Sequence[str]]] = {}
    for name, path in GoldFolder(folder).named_runs().items():
        with contextlib.suppress(InputError):
            scores = read_results(load_run(path))
            found[name] = {query_id: list(best(docs, DEEPEST)) for query_id, docs in scores.items()}
    return found
