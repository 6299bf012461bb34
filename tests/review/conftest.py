"""The page served from this process or from one of its own, and people before it in a real browser."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from goldbench.records.review_event import Event
from goldbench.review.ledger import Ledger, open_ledger
from goldbench.review.page_server import PageSettings, listening, page_server
from goldbench.review.queue import QueueSettings
from goldbench.review.reviewable_set import load_reviewable
from goldbench.review.server import opened, review_page
from tests.conftest import IMPORT_PATH
from tests.review.events import DATA
from tests.review.review_set import write_set

BROWSER = os.environ.get("CHROMIUM_PATH") or shutil.which("chromium") or shutil.which("google-chrome")
CHANGED = """pair => {
    const {pair: now, painted} = document.getElementById('text').dataset;
    const ended = document.getElementById('asks').textContent.startsWith('Nothing');
    if (now === undefined || now === pair || now !== painted) return false;
    return now ? performance.now() - shownAt > TOO_SOON_MS : ended; // sooner, a key is half of a double press
}"""
ANSWERED = """() => ['left', 'found', 'counts'].some(id => document.getElementById(id)?.textContent)"""
"""Whether the page of disagreements, the history or the progress has its data."""
LIMIT_MS = 30_000
"""How long a browser's page may take: a limit for what hangs, not for what is slow."""
SAVED = "() => document.getElementById('saved').textContent === 'saved ✓'"


@dataclass
class Site:
    """A served page: its links by person, and its ledger."""

    folder: Path
    links: dict[str, str]
    queue: tuple[Any, ...] = ()
    complaints: list[str] = field(default_factory=list)
    stop: Callable[[], None] = lambda: None

    @property
    def base(self) -> str:
        return next(iter(self.links.values())).partition("?")[0]

    def events(self) -> list[Event]:
        return events_of(self.folder)


def events_of(folder: Path) -> list[Event]:
    with open_ledger(folder / "review.sqlite", data_sha=load_reviewable(folder).data_sha) as ledger:
        return ledger.events()


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """An empty ledger of the set that events of ``tests.review.events`` are about."""
    with open_ledger(tmp_path / "review.sqlite", data_sha=DATA) as opened:
        yield opened


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Callable[..., Site]]:
    """Serve a small set from a thread of this process."""
    with serving(tmp_path) as start:
        yield start


@pytest.fixture(scope="module")
def shared_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """One server for tests in which nothing is stored."""
    with serving(tmp_path_factory.mktemp("site")) as start:
        yield start(queries=2, passages=3)


@contextlib.contextmanager
def serving(path: Path) -> Iterator[Callable[..., Site]]:
    """Give what serves sets below a folder; all servers end with the block."""
    running: list[Site] = []

    def start(
        folder: Path | None = None,
        *,
        annotators: tuple[str, ...] = ("anna",),
        queue: QueueSettings | None = None,
        rubric: str | None = None,
        **more: Any,
    ) -> Site:
        options = {name: more.pop(name) for name in ("repeats", "team") if name in more}
        folder = folder or write_set(path / "set", **more)
        if rubric is not None:
            (folder / "rubric.md").write_text(rubric, encoding="utf-8")
        settings = queue or QueueSettings(lanes=frozenset("A"), overlap=0)
        review_context = opened(folder, None, settings)
        review = review_context.__enter__()
        where = PageSettings(annotators, 0, **options)
        sock_context = listening(where, complain=print)
        sock = sock_context.__enter__()
        found = Site(folder, {}, queue=review.items)
        server = page_server(
            review_page(review, where),
            where,
            sock,
            review.key,
            tell=found.links.__setitem__,
            complain=found.complaints.append,
        )
        thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]})
        thread.start()

        def stop() -> None:
            server.should_exit = True
            thread.join(60)
            sock_context.__exit__(None, None, None)
            review_context.__exit__(None, None, None)

        found.stop = stop
        running.append(found)
        return found

    yield start
    for one in running:
        one.stop()
        assert one.complaints == []


@dataclass
class Process:
    """The command as a process of its own."""

    process: subprocess.Popen[str]
    links: dict[str, str]
    port: int


def start_process(folder: Path, *options: str, port: int = 0) -> Process:
    """Start ``goldbench review`` and read its links."""
    process = subprocess.Popen(
        [sys.executable, "-m", "goldbench", "review", str(folder), "--port", str(port), *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PYTHONPATH": IMPORT_PATH, "COLUMNS": "300"},
        stdin=subprocess.DEVNULL,
    )
    assert process.stdout is not None
    links: dict[str, str] = {}
    names = [options[i + 1] for i, option in enumerate(options) if option == "--annotator"]
    for line in process.stdout:
        found = re.match(r"(.+): (http://\S+token=\S+)", line)
        if found:
            links[found[1]] = found[2]
        if links and len(links) >= len(names):
            return Process(process, links, int(re.search(r":(\d+)/", next(iter(links.values())))[1]))
    raise AssertionError("the server ended: " + str(process.wait()))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if BROWSER is None and not os.environ.get("REQUIRE_BROWSER"):
        pytest.skip("no Chromium here; CHROMIUM_PATH says where one is")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as driver:
        found = driver.chromium.launch(
            executable_path=BROWSER, args=["--no-sandbox"] if os.geteuid() == 0 else [], chromium_sandbox=False
        )
        yield found
        found.close()


class Person:
    """Somebody before the page. Whatever it asks for and complains of is kept."""

    harmless: tuple[str, ...] = ()
    """How complaints begin that are expected."""

    def __init__(self, page: Any) -> None:
        self.page, self.asked, self.said = page, [], []
        self.offline = False
        page.set_default_timeout(LIMIT_MS)
        page.on("request", lambda one: self.asked.append(one.url))
        page.on("console", lambda one: self.said.append(one.text) if one.type == "error" and not self.offline else None)
        page.on("pageerror", lambda one: self.said.append(str(one)))

    def open(self, link: str) -> Person:
        self.page.goto(link)
        self.wait_for_passage(None)
        return self

    def wait_for_passage(self, other_than: str | None) -> None:
        self.page.wait_for_function(CHANGED, arg=other_than)

    @property
    def pair(self) -> str:
        return str(self.page.evaluate("document.getElementById('text').dataset.pair"))

    def press(self, key: str, *, moves: bool = True) -> None:
        before = self.pair
        self.page.keyboard.press(key)
        if moves:
            self.wait_for_passage(before)

    def visit(self, link: str) -> Person:
        """Open a page beside that of the passages, and wait for what it shows of the server's answer."""
        self.page.goto(link)
        self.page.wait_for_function(ANSWERED)
        return self

    def saved(self) -> Person:
        self.page.wait_for_function(SAVED)
        return self

    def text(self, name: str) -> str:
        return str(self.page.locator(f"#{name}").inner_text())


@pytest.fixture
def person(browser: Any) -> Iterator[Callable[..., Person]]:
    """Somebody with a browser of their own; nothing is asked from elsewhere, and nothing complains."""
    with people_in(browser, Person) as come:
        yield come


@contextlib.contextmanager
def people_in(browser: Any, kind: type[Person]) -> Iterator[Callable[..., Any]]:
    """Give what puts people of a kind before pages of their own; all pages are closed with the block."""
    people: list[Person] = []

    def come(link: str | None = None, **options: Any) -> Person:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        found = kind(context.new_page())
        people.append(found)
        return found.open(link) if link else found

    yield come
    for one in people:
        if not one.page.is_closed():
            one.page.unroute_all(behavior="ignoreErrors")  # else what is under way fails in the next test
        one.page.context.close()
    for one in people:
        assert [url for url in one.asked if not url.startswith(("http://127.0.0.1:", "data:,", "file:"))] == []
        assert [text for text in one.said if not text.startswith(kind.harmless)] == []


def only(lanes: str, **more: Any) -> QueueSettings:
    """A queue of some lanes, for one person."""
    return replace(QueueSettings(lanes=frozenset(lanes), overlap=0), **more)
