"""What an answer store holds, and the deletion of answers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from goldbench.errors import Message, UsageError
from goldbench.llm.store import forget_answered, opened_store


@dataclass(frozen=True, slots=True)
class StoredKind:
    """The answers of one kind. ``outcome`` is ``answer`` or the kind of rejection; ``usd`` is None where unknown."""

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
    """What a store holds: answers by kind, vectors by model, and its size in bytes."""

    holdings: tuple[StoredKind, ...]
    vectors: dict[str, int]
    bytes: int


def stats(path: Path) -> StoreReport:
    """Return what the store holds.

    Raises:
        InputError: There is no store, or it is damaged.
        OutputError: It cannot be read now.
    """
    # ``total``, because a server may have given counts whose ``sum`` overflows.
    select = (
        "SELECT stage, prompt, model, outcome, count(*), total(input_tokens), total(output_tokens), "
        "CASE WHEN count(usd) = count(*) THEN sum(usd) END "
        "FROM answers GROUP BY stage, prompt, model, outcome ORDER BY stage, prompt, model, outcome"
    )
    with opened_store(path) as connection:
        rows = connection.execute(select).fetchall()
        vectors = connection.execute("SELECT model, count(*) FROM vectors GROUP BY model ORDER BY model").fetchall()
        holdings = tuple(
            StoredKind(stage, prompt, model, outcome, count, int(read), int(written), usd)
            for stage, prompt, model, outcome, count, read, written, usd in rows
        )
    return StoreReport(holdings, dict(vectors), path.stat().st_size)


def prune(
    path: Path, *, stage: str | None = None, prompt: str | None = None, model: str | None = None, rejected: bool = False
) -> int:
    """Delete the answers that fit every condition and return how many there were.

    Vectors have a model only; a condition on anything else leaves them alone.

    Args:
        path: The store.
        stage: Only answers of this stage.
        prompt: Only answers to this prompt file and version.
        model: Only answers of this model.
        rejected: Only replies that could not be used, so that they are asked for again.

    Raises:
        UsageError: No condition is given.
        InputError: There is no store, or it is damaged.
        OutputError: It cannot be written now.
    """
    equal = {name: value for name, value in (("stage", stage), ("prompt", prompt), ("model", model)) if value}
    conditions = [f"{name} = :{name}" for name in equal] + (["outcome <> 'answer'"] if rejected else [])
    if not conditions:
        options = Message("{stage=}, {prompt=}, {model=} or {rejected=True}")
        raise UsageError(Message("prune needs a condition: give {}, or delete the file", options))
    with opened_store(path) as connection:
        forget_answered(connection)  # or a batch would give a pruned answer once more
        count = connection.execute(f"DELETE FROM answers WHERE {' AND '.join(conditions)}", equal).rowcount  # noqa: S608 - the conditions are the constants above
        if not (stage or prompt or rejected):
            count += connection.execute("DELETE FROM vectors WHERE model = :model", equal).rowcount
        connection.execute("VACUUM")
    return count
