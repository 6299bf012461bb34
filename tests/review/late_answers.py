"""Answers of a server that reach a page later than they were given, in any order."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import APIResponse, Route


class Late:
    """Answers to what a page asks for at a path: each is got at once, and reaches the page when it is let go.

    Args:
        page: The page.
        path: The beginning of the path.
        first: How many are held; later ones pass.
    """

    def __init__(self, page: Any, path: str, first: int = 99) -> None:
        self._page, self._first, self.asked = page, first, 0
        self._held: list[tuple[Route, APIResponse]] = []
        page.route(re.compile(re.escape(path)), self._hold)

    def _hold(self, route: Route) -> None:
        self.asked += 1
        if self.asked > self._first:
            route.continue_()
        else:
            self._held.append((route, route.fetch()))

    def wait(self, asked: int = 1) -> None:
        """Wait until the page has asked so often, and the server has answered."""
        while self.asked < asked or len(self._held) < min(asked, self._first):
            self._page.wait_for_timeout(5)  # the browser's events are heard meanwhile

    def let_go(self) -> None:
        """Let all answers reach the page, and those of later questions at once; return when they are there."""
        held, self._held, self._first = self._held, [], 0
        for route, answer in held:
            route.fulfill(response=answer)
        for route, _ in held:
            route.request.response().finished()
        self._page.evaluate("() => new Promise(requestAnimationFrame)")
