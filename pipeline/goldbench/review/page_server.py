"""A page on this machine: its templates and files, its questions and decisions, and the server that answers them.

The port is bound before any link is printed.
"""

from __future__ import annotations

import contextlib
import errno
import json
import socket
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import uvicorn
from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from goldbench.errors import GoldbenchError, Message, OutputError, UsageError
from goldbench.review.assignment import NotAssigned, Team
from goldbench.review.ledger import LedgerConflict, LedgerGone
from goldbench.review.security import SESSION_S, Door, Guard, Links, Sessions, key_note, name_for_links, session_key
from goldbench.text.display import shown

FRAME = "goldbench.review"
"""The package whose templates hold the frame of every page."""

NEXT_PORTS = 20
"""Ports after the default one that are tried while they are taken."""

MAX_BODY = 256 * 1024
"""Bytes of a request's body; larger requests are refused."""

_ENTERED = "entered"
"""What the entrance adds to the address that it leads to."""

_MEDIA_TYPES = {"js": "text/javascript", "css": "text/css"}

Question = Callable[[str, Mapping[str, str]], dict[str, Any]]
"""Answers a person's question; the arguments come from the address."""

Decision = Callable[[str, dict[str, Any]], dict[str, Any]]
"""Stores a person's decision, a JSON object, and answers it."""


class InvalidRequest(GoldbenchError):
    """The request is not valid."""


class UnknownItem(InvalidRequest):
    """The request is about a passage or a query that the set does not hold."""


@dataclass(frozen=True, slots=True)
class PageSettings:
    """How the page is served: to whom, where, and with which settings.

    ``port`` is 0 for a free one; with ``elsewhere``, the next free port is taken if it is taken.
    """

    annotators: tuple[str, ...]
    port: int
    host: str = "127.0.0.1"
    network: bool = False
    repeats: int = 10
    seed: int = 0
    team: Team | None = None
    elsewhere: bool = False


@dataclass(frozen=True, slots=True)
class LocalPage:
    """What a page consists of.

    ``name`` is that of the command, in the cookie and in messages to strangers. ``pages`` are the templates of
    ``package`` by path, and ``values`` what they show; ``static`` are scripts and styles
    by name; ``questions`` and ``decisions`` are answered at their paths. ``entrance`` is the template for people who
    come from a link of another page, None if none leads here.
    """

    name: str
    package: str
    pages: Mapping[str, str]
    static: Mapping[str, Traversable]
    questions: Mapping[str, Question]
    decisions: Mapping[str, Decision]
    values: Mapping[str, Any] = field(default_factory=dict)
    entrance: str | None = None


def serve_page(
    page: LocalPage,
    page_settings: PageSettings,
    key: Path,
    *,
    at: str = "",
    tell: Callable[[str, str], None],
    complain: Callable[[str], None],
) -> None:
    """Serve a page until it is interrupted.

    Args:
        page: The page.
        page_settings: To whom and where it is served.
        key: The file of the key that signs cookies; a missing one is created.
        at: What follows a link, as ``#query=q1``.
        tell: Called with each person's name and link.
        complain: Called with one line about each internal error, without content, and about a key that others can read.

    Raises:
        OutputError: The port is taken.
    """
    with listening(page_settings, complain=complain) as sock:
        server = page_server(
            page, page_settings, sock, key, tell=lambda name, link: tell(name, link + at), complain=complain
        )
        with contextlib.suppress(KeyboardInterrupt):  # uvicorn raises it again after an orderly end
            server.run(sockets=[sock])


def page_server(
    page: LocalPage,
    page_settings: PageSettings,
    sock: socket.socket,
    key: Path,
    *,
    tell: Callable[[str, str], None],
    complain: Callable[[str], None],
) -> uvicorn.Server:
    """Return the server of a page at a bound socket, after the link of each person was passed to ``tell``.

    It writes no log of its own: internal errors are told without content. See `serve_page`.
    """
    port = int(sock.getsockname()[1])
    host = name_for_links(page_settings.host)
    sessions = Sessions(session_key(key), page_settings.annotators)
    if note := key_note(key):
        complain(note)
    links = Links(page_settings.annotators, lambda name, token: tell(name, f"http://{host}:{port}/?token={token}"))
    door = Door(port, links, sessions, host=host, network=page_settings.network, page=page.name)
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
def listening(page_settings: PageSettings, *, complain: Callable[[str], None]) -> Iterator[socket.socket]:
    """Give the socket of a page.

    Args:
        page_settings: How the page is served.
        complain: Called with one line if another port than the one asked for is taken.

    Raises:
        OutputError: The port cannot be used.
        UsageError: The address is not one of this machine.
    """
    family = socket.AF_INET6 if ":" in page_settings.host else socket.AF_INET
    # asyncio sets TCP_NODELAY only on a socket created as TCP; without it every answer waits 40 ms.
    with socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP) as sock:
        # On Windows, SO_REUSEADDR would let two servers share a port.
        sock.setsockopt(socket.SOL_SOCKET, getattr(socket, "SO_EXCLUSIVEADDRUSE", socket.SO_REUSEADDR), 1)
        try:
            _bind(sock, page_settings.host, page_settings.port, NEXT_PORTS if page_settings.elsewhere else 0)
            sock.listen()
        except socket.gaierror:
            raise UsageError(Message("{host} {}: not an address of this machine", shown(page_settings.host))) from None
        except (OSError, OverflowError) as error:
            reason = (getattr(error, "strerror", None) or "not a valid port").lower()
            problem = (
                f"port {page_settings.port} of {shown(page_settings.host)} cannot be used ({reason}); give another port"
            )
            raise OutputError(problem) from None
        port = int(sock.getsockname()[1])
        if page_settings.port not in {0, port}:
            complain(f"port {page_settings.port} is taken by another program; the page is at port {port}")
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


def create_app(page: LocalPage, door: Door, complain: Callable[[str], None]) -> ASGIApp:
    """Return the application of a page; every request is checked before a route sees it.

    Args:
        page: The page.
        door: The address, and who may open the page.
        complain: Called with one line about each internal error, without content.
    """

    def fail(_: Request, error: Exception) -> Response:  # its message may hold people's text: only its type is reported
        last = traceback.extract_tb(error.__traceback__)[-1]
        complain(f"internal error, {type(error).__name__} at {Path(last.filename).name}:{last.lineno}")
        return JSONResponse({"error": "internal error; nothing was stored"}, 500)

    def explain(_: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return JSONResponse({"error": error.detail}, error.status_code)

    routes = [
        *(Route(path, _page(page, template, door), methods=["GET"]) for path, template in page.pages.items()),
        Route("/static/{name}", _static(page), methods=["GET"]),
        *(Route(path, _question(answer), methods=["GET"]) for path, answer in page.questions.items()),
        *(Route(path, _decision(answer), methods=["POST"]) for path, answer in page.decisions.items()),
    ]
    return Guard(Starlette(routes=routes, exception_handlers={HTTPException: explain, Exception: fail}), door)


def fill_template(package: str, name: str, **values: Any) -> str:  # noqa: ANN401  whatever the template shows
    """Return a filled template of a package, which may use the frame of every page."""
    return _environment(package).get_template(name).render(**values)


def static_files(package: str, *names: str, folder: str = "static") -> dict[str, Traversable]:
    """Return files of a package by name."""
    return {name: files(package).joinpath(folder, name) for name in names}


@cache
def _environment(package: str) -> Environment:
    loader = ChoiceLoader([PackageLoader(name, "templates") for name in dict.fromkeys((package, FRAME))])
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined)


def _page(served: LocalPage, name: str, door: Door) -> Callable[[Request], Response]:
    html = fill_template(served.package, name, **served.values)

    def page(request: Request) -> Response:
        token = request.query_params.get("token")
        if token is not None:
            return let_in(request, token)
        if request.scope["annotator"] is None:
            return refuse(request)
        return RedirectResponse(request.url.path, 303) if _ENTERED in request.query_params else HTMLResponse(html)

    def closed(*, used: bool, status: int) -> Response:
        return HTMLResponse(fill_template(FRAME, "closed.html", used=used, command=f"goldbench {door.page}"), status)

    def refuse(request: Request) -> Response:
        # A browser keeps the cookie back if another page's link was followed: the entrance asks for the page once
        # more, as a page of this server, and the browser then sends the cookie.
        is_linked = served.entrance is not None and request.headers.get("sec-fetch-site") == "cross-site"
        if is_linked and _ENTERED not in request.query_params:
            return HTMLResponse(fill_template(served.package, served.entrance or "", address=f"?{_ENTERED}"))
        return closed(used=False, status=401)

    def let_in(request: Request, token: str) -> Response:
        annotator = door.links.spend(token)
        if annotator is None and request.scope["annotator"] is None:
            return closed(used=True, status=403)
        response = RedirectResponse(request.url.path, 303)
        if annotator is not None:  # else the same browser reloads its link
            cookie = door.sessions.issue(annotator)
            response.set_cookie(door.cookie, cookie, max_age=SESSION_S, httponly=True, samesite="strict", path="/")
        return response

    return page


def _static(page: LocalPage) -> Callable[[Request], Response]:
    def static(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in page.static:
            return JSONResponse({"error": "unknown file"}, 404)
        return Response(page.static[name].read_bytes(), media_type=_MEDIA_TYPES[name.rpartition(".")[2]])

    return static


def _question(answer: Question) -> Callable[[Request], Response]:
    """Return the route of a question, which takes its arguments from the address."""

    def route(request: Request) -> Response:
        return _respond(lambda: answer(request.scope["annotator"], request.query_params))

    return route


def _decision(answer: Decision) -> Callable[[Request], Any]:
    """Return the route of a decision, which takes a JSON object."""

    async def route(request: Request) -> Response:
        content = b""
        try:
            async for part in request.stream():
                content += part
                if len(content) > MAX_BODY:
                    return JSONResponse({"error": f"the request is too large: at most {MAX_BODY:,} bytes"}, 413)
        except ClientDisconnect:  # nobody waits for an answer, and half a request stores nothing
            return Response(status_code=400)
        try:
            body = json.loads(content)
        except (ValueError, RecursionError):
            body = None
        if not isinstance(body, dict):
            return JSONResponse({"error": "the body is not a JSON object"}, 400)
        return await run_in_threadpool(_respond, lambda: answer(request.scope["annotator"], body))

    return route


def _respond(answer: Callable[[], dict[str, Any]]) -> Response:
    try:
        return JSONResponse(answer())
    except UnknownItem as unknown:
        return JSONResponse({"error": str(unknown)}, 410)
    except InvalidRequest as invalid:
        return JSONResponse({"error": str(invalid)}, 400)
    except (NotAssigned, LedgerConflict) as refused:
        return JSONResponse({"error": str(refused)}, 409)
    except LedgerGone as gone:
        return JSONResponse({"error": f"The ledger {str(gone).partition(': ')[2]}. Nothing was stored"}, 503)
    except GoldbenchError:  # also for a damaged ledger: the browser keeps what it could not send
        return JSONResponse({"error": "The ledger does not answer; nothing was stored"}, 503)
