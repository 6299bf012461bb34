"""What is logged of one system: figures with intervals, what was measured with what, and the values per query.

No text of a document is among it, and that of queries only if it is asked for.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from math import isnan
from pathlib import PurePath
from typing import TYPE_CHECKING, Protocol

from goldbench.pipeline.errors import InputError, Message, OutputError
from goldbench.pipeline.text.display import one_line, without_credentials

if TYPE_CHECKING:
    from goldbench.pipeline.measures.result import Result
    from goldbench.pipeline.score.runs import Gold, Run

TABLE = "per_query.csv"
"""The name of the table of values per query."""

LOW, HIGH = ".low", ".high"
"""What follows the name of a measure for the ends of its interval."""

_SECRETS = re.compile(r"(?:MLFLOW|WANDB|LANGFUSE)_\w*(?:KEY|PASSWORD|TOKEN|USERNAME)")
"""Names of settings of the clients whose values are never printed."""
_SHORTEST = 6
"""Characters of a secret; what is shorter may stand in any text."""
_REASON = 300
"""Most characters of what a client says when it fails."""


@dataclass(frozen=True, slots=True)
class Logged:
    """What is logged of one system.

    ``figures`` are means by measure, with the ends of their 95 % intervals where there are some. ``facts`` say what was
    measured. ``table`` is CSV with a row per query.
    """

    system: str
    figures: Mapping[str, float]
    facts: Mapping[str, str]
    table: str


class Tracker(Protocol):
    """A place where scores are kept."""

    def log(self, one: Logged) -> str:
        """Keep the scores of a system as a run of its own, and return in words where.

        Raises:
            OutputError: They cannot be kept.
        """


@contextmanager
def logging_to(to: str, system: str) -> Iterator[None]:
    """Tell in one line why a client failed: what it raises where a server gives nonsense is not declared anywhere.

    Args:
        to: The tracker, as ``--to`` names it.
        system: The system whose scores are logged.

    Raises:
        OutputError: The client raised something.
    """
    try:
        yield
    except Exception as error:
        raise refusal(to, system, str(error) or type(error).__name__) from error


def refusal(to: str, system: str, reason: str) -> OutputError:
    """Return the error for scores that a tracker does not take, without keys and passwords.

    Args:
        to: The tracker, as ``--to`` names it.
        system: The system.
        reason: What the tracker's client says.
    """
    return OutputError(
        Message("{to} {}: {} cannot be logged ({})", to, system, one_line(without_keys(reason))[:_REASON])
    )


def without_keys(said: str) -> str:
    """Return a text without user names and passwords of addresses, and without the keys that the environment holds."""
    for name, value in os.environ.items():
        if _SECRETS.fullmatch(name) and len(value) >= _SHORTEST:
            said = said.replace(value, "***")
    return without_credentials(said)


def logged(gold: Gold, name: str, run: Run, result: Result, *, texts: bool) -> Logged:
    """Return what is logged of a system.

    Args:
        gold: The judgments.
        name: The system.
        run: Its run.
        result: Its scores.
        texts: Whether the queries' texts are a column of the table.

    Raises:
        InputError: A text cannot be written as UTF-8.
    """
    from goldbench.pipeline.score.scorecards import means_of

    figures: dict[str, float] = {}
    for measure, score in means_of(result, list(result.values)).items():
        figures[measure] = score.mean
        ends = ((LOW, score.low), (HIGH, score.high))
        figures |= {f"{measure}{end}": value for end, value in ends if value is not None}
    table = _table(result, gold.queries() if texts else None)
    try:
        table.encode()
    except UnicodeEncodeError:
        raise InputError(str(gold.path), "a query cannot be written as UTF-8, so it cannot be logged") from None
    return Logged(name, figures, _facts(gold, run, result), table)


def _facts(gold: Gold, run: Run, result: Result) -> dict[str, str]:
    from goldbench.pipeline.goldset.own_version import own_version
    from goldbench.pipeline.measures.names import parse_measure
    from goldbench.pipeline.score.scorecards import reference

    about = reference(gold)
    cutoffs = [k for k in (parse_measure(name).k for name in result.values) if k]
    found = {
        "goldbench": own_version(),
        "set": about.name,
        "set_version": about.version,
        "set_sha256": about.content_sha256 or about.sha256,
        "evidence_level": about.evidence_level,
        "run_file": PurePath(run.path).name,
        "k": max(cutoffs, default=None),
        "weight": result.weighted_by,
        **asdict(result.counts),
    }
    return {name: str(value) for name, value in found.items() if value is not None}


def _table(result: Result, texts: Mapping[str, str] | None) -> str:
    from goldbench.pipeline.report.score_text import by_query
    from goldbench.pipeline.report.text_tables import csv_text

    rows: list[list[object]] = [["query_id", *([] if texts is None else ["text"]), *result.values]]
    for query_id, values in by_query(result):
        text = [] if texts is None else [texts.get(query_id, "")]
        rows.append([query_id, *text, *("" if isnan(value) else repr(float(value)) for value in values.values())])
    return csv_text(rows)
