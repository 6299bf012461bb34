"""The options of ``goldbench score`` that log scores to an experiment tracker, and what they do."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from io import StringIO
from typing import TYPE_CHECKING, Annotated

from goldbench.pipeline.cli.options import output_option
from goldbench.pipeline.cli.output import screen
from goldbench.pipeline.errors import UsageError
from goldbench.pipeline.score.trackers.tracker_choice import Name, tracker_of
from goldbench.pipeline.text.display import printable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from goldbench.pipeline.measures.result import Result
    from goldbench.pipeline.score.runs import Gold, Run
    from goldbench.pipeline.score.trackers.logged_scores import Tracker

TrackerOption = Annotated[Name | None, output_option("--to", help="Also log the scores to an experiment tracker.")]
LogTextsOption = Annotated[bool, output_option("--log-texts", help="With --to: log the queries' texts, too.")]


def tracker(name: Name | None, *, texts: bool) -> Tracker | None:
    """Return the tracker; None without ``--to``.

    Raises:
        UsageError: Texts are to be logged without a tracker, or the tracker's environment lacks what its client needs.
        MissingExtra: The tracker's client is not installed.
    """
    if name is None:
        if texts:
            raise UsageError("--log-texts: needs --to, which says where scores are logged")
        return None
    with redirect_stdout(sys.stderr):
        return tracker_of(name)


def log(tracker: Tracker, gold: Gold, runs: Mapping[str, Run], results: Mapping[str, Result], *, texts: bool) -> None:
    """Log the scores of every system; what the tracker prints becomes notes, without user and password of an address.

    Args:
        tracker: The tracker.
        gold: The judgments.
        runs: The runs by system.
        results: Their scores by system.
        texts: Whether the queries' texts are logged.

    Raises:
        OutputError: The tracker cannot log them.
    """
    from goldbench.pipeline.score.trackers.logged_scores import logged, without_keys

    for name, result in results.items():
        one = logged(gold, name, runs[name], result, texts=texts)
        printed = StringIO()
        try:
            with redirect_stdout(printed):
                place = tracker.log(one)
        finally:
            screen.note(*map(printable, without_keys(printed.getvalue()).splitlines()))
        screen.note(f"Logged: {name} as {place}")
