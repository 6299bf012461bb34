"""A page on this machine: its files, its routes and who may open it; the same for every page that goldbench serves."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from goldbench.errors import GoldbenchError
from goldbench.review.desk import NotYours
from goldbench.review.ledger import LedgerConflict, LedgerGone
from goldbench.review.overview import Refused, Unknown
from goldbench.review.security import SESSION_S, Guard, Links, Rates, Sessions, key_note, session_key

SHARED = "goldbench.review"
"""The package whose templates hold the frame of every page."""

_ENTERED = "entered"
"""What the entrance adds to the address that it leads to."""

_MEDIA = {"js": "text/javascript", "css": "text/css"}

Question = Callable[[str, Mapping[str, str]], dict[str, Any]]
"""Answers a person's question; the arguments come from the address."""

Decision = Callable[[str, dict[str, Any]], dict[str, Any]]
"""Stores a person's decision, a JSON object, and answers it."""


@dataclass(frozen=True, slots=True)
class Door:
    """The address of a page, and who may open it. ``page`` names it in the cookie and in the message to strangers."""

    port: int
    links: Links
    sessions: Sessions
    host: str = "127.0.0.1"
    network: bool = False
    rates: Rates | None = None
    page: str = "review"

    @property
    def cookie(self) -> str:
        """The cookie's name, which has the port because pages on other ports share this host's cookies."""
        return f"goldbench_{self.page}_{self.port}"

    @property
    def hosts(self) -> frozenset[str]:
        """The valid Host headers."""
        return frozenset(f"{name}:{self.port}" for name in ("127.0.0.1", "localhost", "[::1]", self.host.lower()))


@dataclass(frozen=True, slots=True)
class LocalPage:
    """What a page consists of.

    ``pages`` are the templates of ``package`` by path, and ``values`` what they show; ``static`` are scripts and styles
    by name. ``asked`` are the questions by path, ``told`` the decisions, ``others`` further routes. ``entrance`` is the
    template for people who come from a link of another page, None if none leads here.
    """

    package: str
    pages: Mapping[str, str]
    static: Mapping[str, Traversable]
    asked: Mapping[str, Question]
    told: Mapping[str, Decision]
    values: Mapping[str, Any] = field(default_factory=dict)
    others: Sequence[Route] = ()
    entrance: str | None = None


@dataclass(frozen=True, slots=True)
class Audience:
    """Who may open a page, and from where: ``host`` is the address listened at, ``network`` allows other machines."""

    names: Sequence[str]
    host: str = "127.0.0.1"
    network: bool = False
    rates: Rates | None = None


def open_door(
    sock: socket.socket,
    audience: Audience,
    key: Path,
    *,
    tell: Callable[[str, str], None],
    complain: Callable[[str], None],
    page: str = "review",
    at: str = "",
) -> Door:
    """Return the door of a page, after the link of each person was passed to ``tell``.

    Args:
        sock: The bound socket.
        audience: Who may open the page.
        key: The file of the key that signs cookies; a missing one is created.
        tell: Called with each person's name and link.
        complain: Called with one line if others can read the key.
        page: As in `Door`.
        at: What follows a link, as ``#query=q1``.
    """
    port = int(sock.getsockname()[1])
    base = f"http://{linked(audience.host)}:{port}/"
    links = Links(audience.names, tell=lambda name, token: tell(name, f"{base}?token={token}{at}"))
    sessions = Sessions(session_key(key), audience.names)
    door = Door(port, links, sessions, linked(audience.host), audience.network, audience.rates, page)
    if note := key_note(key):
        complain(note)
    for name, token in links.all():
        tell(name, f"{base}?token={token}{at}")
    return door


def linked(host: str) -> str:
    """Return the host name for links to an address."""
    if host in {"0.0.0.0", "::"}:  # noqa: S104  compared, not bound
        return socket.gethostname().lower()
    return f"[{host}]" if ":" in host else host


def guarded(page: LocalPage, door: Door, *, complain: Callable[[str], None]) -> ASGIApp:
    """Return the application of a page; every request is checked before a route sees it.

    Args:
        page: The page.
        door: The address, and who may open the page.
        complain: Called with one line about each internal error, without content.
    """
    routes = [
        *(Route(path, _page(page, template, door), methods=["GET"]) for path, template in page.pages.items()),
        Route("/static/{name}", _static(page), methods=["GET"]),
        *(Route(path, _asked(answer), methods=["GET"]) for path, answer in page.asked.items()),
        *(Route(path, _told(answer), methods=["POST"]) for path, answer in page.told.items()),
        *page.others,
    ]
    return Guard(
        Starlette(routes=routes, exception_handlers={HTTPException: _said, Exception: _failed}),
        hosts=door.hosts,
        any_address=door.network,
        sessions=door.sessions,
        links=door.links,
        cookie=door.cookie,
        rates=door.rates or Rates(),
        complain=complain,
    )


def template(package: str, name: str, **values: Any) -> str:  # noqa: ANN401  whatever the template shows
    """Return a filled template.

    Args:
        package: The package of the template; the frame of every page may be used by it.
        name: The template's file.
        values: What it shows.
    """
    return _environment(package).get_template(name).render(**values)


def static_files(package: str, *names: str, folder: str = "static") -> dict[str, Traversable]:
    """Return files of a package by name.

    Args:
        package: The package.
        names: Their names.
        folder: The folder of the package that holds them.
    """
    return {name: files(package).joinpath(folder, name) for name in names}


@cache
def _environment(package: str) -> Environment:
    loader = ChoiceLoader([PackageLoader(one, "templates") for one in dict.fromkeys((package, SHARED))])
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined)


def _said(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": error.detail}, error.status_code)


def _failed(_: Request, __: Exception) -> Response:
    """Answer an unexpected error; the guard reports it to the terminal."""
    return JSONResponse({"error": "internal error; nothing was stored"}, 500)


def _page(served: LocalPage, name: str, door: Door) -> Callable[[Request], Response]:
    html = template(served.package, name, **served.values)

    def closed(*, used: bool, status: int) -> Response:
        return HTMLResponse(template(SHARED, "closed.html", used=used, command=f"goldbench {door.page}"), status)

    def page(request: Request) -> Response:
        token = request.query_params.get("token")
        if token is not None:
            return _let_in(request, token)
        if request.scope["annotator"] is None:
            return _let_pass(request)
        return RedirectResponse(request.url.path, 303) if _ENTERED in request.query_params else HTMLResponse(html)

    def _let_pass(request: Request) -> Response:
        """Answer a request without a cookie: a browser keeps it back if another page's link was followed.

        The entrance asks for the page once more, as a page of this server, and the browser then sends the cookie.
        """
        linked = served.entrance is not None and request.headers.get("sec-fetch-site") == "cross-site"
        if linked and _ENTERED not in request.query_params:
            return HTMLResponse(template(served.package, served.entrance or "", address=f"?{_ENTERED}"))
        return closed(used=False, status=401)

    def _let_in(request: Request, token: str) -> Response:
        annotator = door.links.spend(token)
        if annotator is None:
            if request.scope["annotator"] is not None:  # the same browser, reloading its link
                return RedirectResponse(request.url.path, 303)
            return closed(used=True, status=403)
        response = RedirectResponse(request.url.path, 303)
        response.set_cookie(
            door.cookie, door.sessions.issue(annotator), max_age=SESSION_S, httponly=True, samesite="strict", path="/"
        )
        return response

    return page


def _static(page: LocalPage) -> Callable[[Request], Response]:
    def static(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in page.static:
            return JSONResponse({"error": "unknown file"}, 404)
        return Response(page.static[name].read_bytes(), media_type=_MEDIA[name.rpartition(".")[2]])

    return static


def _asked(answer: Question) -> Callable[[Request], Response]:
    """Return the route of a question, which takes its arguments from the address."""

    def route(request: Request) -> Response:
        return _answered(lambda: answer(request.scope["annotator"], request.query_params))

    return route


def _told(answer: Decision) -> Callable[[Request], Any]:
    """Return the route of a decision, which takes a JSON object."""

    async def route(request: Request) -> Response:
        try:
            body = json.loads(await request.body())
        except (ValueError, RecursionError):
            body = None
        if not isinstance(body, dict):
            return JSONResponse({"error": "the body is not a JSON object"}, 400)
        return await run_in_threadpool(_answered, lambda: answer(request.scope["annotator"], body))

    return route


def _answered(work: Callable[[], dict[str, Any]]) -> Response:
    try:
        return JSONResponse(work())
    except Unknown as unknown:
        return JSONResponse({"error": str(unknown)}, 410)
    except Refused as refused:
        return JSONResponse({"error": str(refused)}, 400)
    except (NotYours, LedgerConflict) as refused:
        return JSONResponse({"error": str(refused)}, 409)
    except LedgerGone as gone:
        return JSONResponse({"error": f"The ledger {str(gone).partition(': ')[2]}. Nothing was stored"}, 503)
    except GoldbenchError:  # also for a damaged ledger: the browser keeps what it could not send
        return JSONResponse({"error": "The ledger does not answer; nothing was stored"}, 503)
