"""The workbench served from a thread of this process, and a visitor before it in a real browser."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from goldbench.measures.names import parse_measures
from goldbench.records.review_event import Event
from goldbench.review.assignment import Team
from goldbench.review.page_server import PageSettings, listening, page_server
from goldbench.workbench.workbench_server import Workbench, WorkbenchSettings
from tests.review.conftest import Person, browser, events_of, people_in
from tests.review.test_http import Client
from tests.workbench.workbench_set import write_workbench_set

__all__ = ["browser"]  # a fixture, found by its name

K = 3


def wanted(folder: Path, *, k: int = K, measures: tuple[str, ...] = ("ndcg@3", "r@3")) -> WorkbenchSettings:
    return WorkbenchSettings(parse_measures(measures, rel=2), k, {})


@dataclass
class Site:
    """A served workbench."""

    folder: Path
    links: dict[str, str] = field(default_factory=dict)
    complaints: list[str] = field(default_factory=list)

    @property
    def base(self) -> str:
        return next(iter(self.links.values())).partition("?")[0]

    def client(self, name: str = "anna") -> Client:
        link = self.links[name].partition("#")[0]
        return Client(int(link.split(":")[2].partition("/")[0])).enter(link)

    def events(self) -> list[Event]:
        return events_of(self.folder)


@contextlib.contextmanager
def serving(
    folder: Path, *names: str, asked: WorkbenchSettings | None = None, team: Team | None = None
) -> Iterator[Site]:
    site = Site(folder)
    place = PageSettings(names or ("anna",), 0)
    with Workbench(folder, asked or wanted(folder)) as workbench, listening(place, complain=print) as sock:
        workbench.take_team(team or Team())
        server = page_server(
            workbench.page(), place, sock, workbench.key, tell=site.links.__setitem__, complain=site.complaints.append
        )
        thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]})
        thread.start()
        try:
            yield site
        finally:
            server.should_exit = True
            thread.join(60)
    assert site.complaints == []


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with serving(write_workbench_set(tmp_path / "set")) as found:
        yield found


@pytest.fixture(scope="module")
def quiet_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """One server for tests in which nothing is stored."""
    with serving(write_workbench_set(tmp_path_factory.mktemp("site") / "set")) as found:
        yield found


class Visitor(Person):
    """Somebody before the workbench."""

    harmless = ("Failed to load resource: net::ERR_",)  # the page looks for changes, and its server ended before it

    def open(self, address: str) -> Visitor:
        self.page.goto(address)
        self.page.locator("body[data-ready]").wait_for()
        return self

    def query(self, query_id: str) -> Visitor:
        self.page.locator(f"#list a[data-query='{query_id}']").click()
        self.page.locator("#detail p.quiet bdi", has_text=query_id).wait_for()
        return self

    def text(self, selector: str) -> str:
        return str(self.page.locator(selector).first.inner_text())


@pytest.fixture
def visitor(browser: Any) -> Iterator[Callable[..., Visitor]]:
    """Somebody with a browser; nothing is asked from elsewhere, and nothing complains."""
    with people_in(browser, Visitor) as come:
        yield come
