"""The review page of a set: the set, its ledger and its queue, opened and made into a page."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from goldbench.errors import InputError
from goldbench.goldset.folder import GoldFolder
from goldbench.measures.ranks.order import best
from goldbench.records.relevance import RELEVANT
from goldbench.report.passage_html import passage_html
from goldbench.review.answers import PageAnswers
from goldbench.review.assignment import Assigner, Team
from goldbench.review.ledger import Ledger, ledger_path, open_ledger
from goldbench.review.meanings import SetMeanings
from goldbench.review.page_server import FRAME, LocalPage, PageSettings, static_files
from goldbench.review.payload import GRADE_NAMES
from goldbench.review.queue import QueueItem, QueueSettings, Runs, make_queue
from goldbench.review.reviewable_set import ReviewableSet, load_reviewable
from goldbench.score.runs import load_run, read_results

MAX_RANK = 100
"""Results of a run that count for a pair's impact; nobody looks at lower ranks."""

SCRIPTS = ("page.js", "asked.js", "review.js", "history.js", "progress.js", "adjudicate.js", "review.css")
SHARED_WITH_REPORTS = ("passage.js", "passage.css")


@dataclass(frozen=True, slots=True)
class OpenReview:
    """An opened review."""

    material: ReviewableSet
    ledger: Ledger
    items: tuple[QueueItem, ...]
    key: Path

    def lanes(self) -> dict[str, int]:
        """Return the number of pairs in each lane."""
        return dict(sorted(Counter(item.lane.value for item in self.items).items()))


@contextlib.contextmanager
def opened(folder: Path, ledger: str | None, settings: QueueSettings) -> Iterator[OpenReview]:
    """Give the review of a folder, with its ledger open.

    Args:
        folder: The folder of a build.
        ledger: The file of the ledger, or None for the file in the folder.
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
    path = ledger_path(folder, ledger)
    with open_ledger(path, data_sha=material.data_sha, meanings=SetMeanings(material)) as book:
        yield OpenReview(material, book, items, path.with_suffix(".key"))


def review_page(review: OpenReview, page_settings: PageSettings) -> LocalPage:
    """Return the page of a review.

    Args:
        review: The opened review.
        page_settings: To whom it is served.
    """
    assigner = Assigner(
        review.ledger,
        review.items,
        team=page_settings.team or Team(page_settings.annotators),
        repeats=page_settings.repeats,
        seed=page_settings.seed,
    )
    review.ledger.hurry()
    answers = PageAnswers(assigner, review.material)
    return LocalPage(
        name="review",
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


def _rankings(folder: Path) -> Runs:
    """Return the rankings of the runs in a data set's folder, best first; the card names files that are no runs."""
    rankings: dict[str, dict[str, Sequence[str]]] = {}
    for name, path in GoldFolder(folder).named_runs().items():
        with contextlib.suppress(InputError):
            scores = read_results(load_run(path))
            rankings[name] = {query_id: list(best(docs, MAX_RANK)) for query_id, docs in scores.items()}
    return rankings
