"""Looking after an answer store: what it holds, and throwing answers away."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.errors import UsageError
from pipeline.llm.batch_book import forget_answered
from pipeline.llm.store_tables import blaming, connect


@dataclass(frozen=True, slots=True)
class Holding:
    """Answers of one kind. ``outcome`` is ``answer``, or why the replies were rejected; ``usd`` None where unknown."""

    stage: str
    prompt: str
    model: str
    outcome: str
    answers: int
    input_tokens: int
    output_tokens: int
    usd: float | None


@dataclass(frozen=True, slots=True)
class StoreReport:
    """What a store holds: answers by kind, vectors by model, its size on disk."""

    holdings: tuple[Holding, ...]
    vectors: dict[str, int]
    bytes: int


def stats(path: Path) -> StoreReport:
    """Return what the store holds.

    Raises:
        InputError: there is no store, or it is damaged.
        OutputError: it cannot be read now.
    """
    # ``total`` and not ``sum``: a server may have claimed counts whose sum overflows.
    select = (
        "SELECT stage, prompt, model, outcome, count(*), total(input_tokens), total(output_tokens), sum(usd) "
        "FROM answers GROUP BY stage, prompt, model, outcome ORDER BY stage, prompt, model, outcome"
    )
    with closing(connect(path, create=False)) as connection, blaming(path):
        rows = connection.execute(select).fetchall()
        vectors = connection.execute("SELECT model, count(*) FROM vectors GROUP BY model ORDER BY model").fetchall()
        holdings = tuple(_holding(row) for row in rows)
    return StoreReport(holdings, dict(vectors), path.stat().st_size)


def _holding(row: tuple[Any, ...]) -> Holding:
    stage, prompt, model, outcome, answers, input_tokens, output_tokens, usd = row
    return Holding(stage, prompt, model, outcome, answers, int(input_tokens), int(output_tokens), usd)


def prune(
    path: Path,
    *,
    stage: str | None = None,
    prompt: str | None = None,
    model: str | None = None,
    rejected: bool = False,
    before: float | None = None,
) -> int:
    """Throw away the answers that fit every condition and return how many there were.

    Vectors have a model and a time only, so conditions on anything else leave them alone.

    Args:
        path: the store.
        stage: only answers of this stage.
        prompt: only answers to this prompt file and version.
        model: only answers of this model.
        rejected: only replies that could not be used, so that they are asked for again.
        before: only answers kept before this time (seconds since 1970).

    Raises:
        UsageError: no condition is given.
        InputError: there is no store, or it is damaged.
        OutputError: it cannot be written now.
    """
    given = {"stage = ?": stage, "prompt = ?": prompt, "model = ?": model, "created < ?": before}
    conditions = [condition for condition, value in given.items() if value is not None]
    values = [value for value in given.values() if value is not None]
    if rejected:
        conditions.append("outcome <> 'answer'")
    if not conditions:
        raise UsageError("prune needs a condition; to throw everything away, delete the file")
    with closing(connect(path, create=False)) as connection, blaming(path):
        forget_answered(connection)  # or a batch would give the same answer once more
        count = connection.execute(f"DELETE FROM answers WHERE {' AND '.join(conditions)}", values).rowcount  # noqa: S608 - the conditions are the constants above
        if not (stage or prompt or rejected):
            count += connection.execute(f"DELETE FROM vectors WHERE {' AND '.join(conditions)}", values).rowcount  # noqa: S608 - as above
        connection.execute("VACUUM")
    return count
