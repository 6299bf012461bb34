"""The routes of the review page."""

from __future__ import annotations

from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from goldbench.errors import GoldbenchError
from goldbench.report.passage_html import passage_html
from goldbench.review.local_page import SHARED, Door, LocalPage, guarded, static_files
from goldbench.review.payload import NAMES
from goldbench.review.responses import Answers
from goldbench.review.state import fold

STATIC = ("keys.js", "asked.js", "review.js", "history.js", "progress.js", "adjudicate.js", "review.css")
OF_ALL_PAGES = ("passage.js", "passage.css")
"""Static files that reports have, too."""


def create_app(answers: Answers, door: Door, *, complain: Callable[[str], None]) -> ASGIApp:
    """Return the application.

    Args:
        answers: What the routes return.
        door: The address, and who may open the page.
        complain: Called with one line about each internal error, without content.
    """
    page = LocalPage(
        package=SHARED,
        pages={
            "/": "review.html",
            "/history": "history.html",
            "/progress": "progress.html",
            "/adjudicate": "adjudicate.html",
        },
        static=static_files(SHARED, *STATIC) | static_files("goldbench.report", *OF_ALL_PAGES, folder="templates"),
        values={"grades": NAMES, "rubric": passage_html(answers.material.rubric.text)},
        asked={
            "/api/session": answers.session,
            "/api/next": answers.upcoming,
            "/api/item": answers.item,
            "/api/context": answers.context,
            "/api/query": answers.overview,
            "/api/history": answers.history.page,
            "/api/progress": answers.standing.progress,
            "/api/cell": answers.standing.cell,
            "/api/adjudicate": answers.standing.disputes,
        },
        told={"/api/event": answers.event, "/api/undo": answers.undo, "/api/redo": answers.redo},
        others=[Route("/export/{name}", _export(answers), methods=["GET"])],
    )
    return guarded(page, door, complain=complain)


def _export(answers: Answers) -> Callable[[Request], Response]:
    def export(request: Request) -> Response:
        from goldbench.review.exports import DOWNLOADS
        from goldbench.review.exports import download as made

        name = request.path_params["name"]
        if name not in DOWNLOADS:
            return JSONResponse({"error": "unknown format; give one of " + ", ".join(DOWNLOADS)}, 404)
        try:
            ledger = answers.desk.ledger
            state = fold(ledger.translated(ledger.events()).events)  # a copy: others change the state of the desk
            annotator = request.scope["annotator"]
            hidden = answers.standing.undecided(annotator, state)
        except GoldbenchError:
            return JSONResponse({"error": "the ledger does not answer"}, 503)
        finished = answers.standing.finished(annotator, state)
        download = made(name, answers.material, state, hidden=hidden, drawn=finished)
        disposition = f'attachment; filename="{download.filename}"'
        return Response(download.body, media_type=download.media_type, headers={"Content-Disposition": disposition})

    return export
