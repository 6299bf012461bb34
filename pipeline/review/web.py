"""The routes of the review page."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from goldbench.pipeline.errors import GoldbenchError
from goldbench.pipeline.review.desk import NotYours
from goldbench.pipeline.review.guidelines import Guidelines
from goldbench.pipeline.review.ledger import LedgerConflict, LedgerGone
from goldbench.pipeline.review.overview import Refused
from goldbench.pipeline.review.payload import rubric
from goldbench.pipeline.review.responses import Answers
from goldbench.pipeline.review.security import SESSION_S, Guard, Links, Rates, Sessions
from goldbench.pipeline.review.state import fold

STATIC = {
    "asked.js": "text/javascript",
    "review.js": "text/javascript",
    "history.js": "text/javascript",
    "progress.js": "text/javascript",
    "adjudicate.js": "text/javascript",
    "review.css": "text/css",
}
OF_ALL_PAGES = {"passage.js": "text/javascript", "passage.css": "text/css"}
"""Static files that reports have, too."""


@dataclass(frozen=True, slots=True)
class Door:
    """The address of the page, and who may open it."""

    port: int
    links: Links
    sessions: Sessions
    host: str = "127.0.0.1"
    network: bool = False
    rates: Rates | None = None

    @property
    def cookie(self) -> str:
        """The cookie's name, which has the port because pages on other ports share this host's cookies."""
        return f"goldbench_review_{self.port}"

    @property
    def hosts(self) -> frozenset[str]:
        """The valid Host headers."""
        return frozenset(f"{name}:{self.port}" for name in ("127.0.0.1", "localhost", "[::1]", self.host.lower()))


def create_app(
    answers: Answers, door: Door, *, guidelines: Guidelines | None = None, complain: Callable[[str], None]
) -> ASGIApp:
    """Return the application.

    Args:
        answers: What the routes return.
        door: The address, and who may open the page.
        guidelines: The project's own guidelines, if it has any.
        complain: Called with one line about each internal error, without content.
    """
    routes = [
        Route("/", _page("review.html", door, guidelines), methods=["GET"]),
        Route("/history", _page("history.html", door), methods=["GET"]),
        Route("/progress", _page("progress.html", door), methods=["GET"]),
        Route("/adjudicate", _page("adjudicate.html", door, guidelines), methods=["GET"]),
        Route("/static/{name}", _static, methods=["GET"]),
        Route("/export/{name}", _export(answers), methods=["GET"]),
        Route("/api/session", _asked(answers.session), methods=["GET"]),
        Route("/api/next", _asked(answers.upcoming), methods=["GET"]),
        Route("/api/item", _asked(answers.item), methods=["GET"]),
        Route("/api/context", _asked(answers.context), methods=["GET"]),
        Route("/api/query", _asked(answers.overview), methods=["GET"]),
        Route("/api/history", _asked(answers.history.page), methods=["GET"]),
        Route("/api/progress", _asked(answers.standing.progress), methods=["GET"]),
        Route("/api/cell", _asked(answers.standing.cell), methods=["GET"]),
        Route("/api/adjudicate", _asked(answers.standing.disputes), methods=["GET"]),
        Route("/api/event", _told(answers.event), methods=["POST"]),
        Route("/api/undo", _told(answers.undo), methods=["POST"]),
        Route("/api/redo", _told(answers.redo), methods=["POST"]),
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


def _said(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": error.detail}, error.status_code)


def _failed(_: Request, __: Exception) -> Response:
    """Answer an unexpected error; the guard reports it to the terminal."""
    return JSONResponse({"error": "internal error; nothing was stored"}, 500)


def _page(template: str, door: Door, guidelines: Guidelines | None = None) -> Callable[[Request], Response]:
    environment = Environment(
        loader=PackageLoader("goldbench.pipeline.review", "templates"), autoescape=True, undefined=StrictUndefined
    )
    shown = Markup(guidelines.html()) if guidelines else None  # noqa: S704  the sanitiser's
    html = environment.get_template(template).render(rubric=rubric(), guidelines=shown)

    def page(request: Request) -> Response:
        token = request.query_params.get("token")
        known = request.scope["annotator"]
        if token is not None:
            return _let_in(request, token, door)
        if known is None:
            return HTMLResponse(environment.get_template("closed.html").render(used=False), 401)
        return HTMLResponse(html)

    def _let_in(request: Request, token: str, door: Door) -> Response:
        annotator = door.links.spend(token)
        if annotator is None:
            if request.scope["annotator"] is not None:  # the same browser, reloading its link
                return RedirectResponse(request.url.path, 303)
            return HTMLResponse(environment.get_template("closed.html").render(used=True), 403)
        response = RedirectResponse(request.url.path, 303)
        response.set_cookie(
            door.cookie, door.sessions.issue(annotator), max_age=SESSION_S, httponly=True, samesite="strict", path="/"
        )
        return response

    return page


def _static(request: Request) -> Response:
    name = request.path_params["name"]
    if name in OF_ALL_PAGES:
        body = files("goldbench.pipeline.report").joinpath("templates", name).read_bytes()
        return Response(body, media_type=OF_ALL_PAGES[name])
    if name not in STATIC:
        return JSONResponse({"error": "unknown file"}, 404)
    body = files("goldbench.pipeline.review").joinpath("static", name).read_bytes()
    return Response(body, media_type=STATIC[name])


def _export(answers: Answers) -> Callable[[Request], Response]:
    def export(request: Request) -> Response:
        from goldbench.pipeline.review.exports import DOWNLOADS
        from goldbench.pipeline.review.exports import download as made

        name = request.path_params["name"]
        if name not in DOWNLOADS:
            return JSONResponse({"error": "unknown format; give one of " + ", ".join(DOWNLOADS)}, 404)
        try:
            ledger = answers.desk.ledger
            events = ledger.translated(ledger.events()).events
        except GoldbenchError:
            return JSONResponse({"error": "the ledger does not answer"}, 503)
        state = fold(events)  # a copy: other requests change the state of the desk
        annotator = request.scope["annotator"]
        finished = answers.standing.finished(annotator, state)
        hidden = answers.standing.undecided(annotator, state)
        download = made(name, answers.material, state, hidden=hidden, drawn=finished)
        disposition = f'attachment; filename="{download.filename}"'
        return Response(download.body, media_type=download.media_type, headers={"Content-Disposition": disposition})

    return export


def _asked(answer: Callable[[str, Mapping[str, str]], dict[str, Any]]) -> Callable[[Request], Response]:
    """Return the route of a question, which takes its arguments from the address."""

    def route(request: Request) -> Response:
        return _answered(lambda: answer(request.scope["annotator"], request.query_params))

    return route


def _told(answer: Callable[[str, dict[str, Any]], dict[str, Any]]) -> Callable[[Request], Any]:
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
    except Refused as refused:
        return JSONResponse({"error": str(refused)}, 400)
    except (NotYours, LedgerConflict) as refused:
        return JSONResponse({"error": str(refused)}, 409)
    except LedgerGone as gone:
        return JSONResponse({"error": f"The ledger {str(gone).partition(': ')[2]}. Nothing was stored"}, 503)
    except GoldbenchError:  # also for a damaged ledger: the browser keeps what it could not send
        return JSONResponse({"error": "The ledger does not answer; nothing was stored"}, 503)
