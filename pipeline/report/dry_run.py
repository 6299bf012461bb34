"""What a dry run found, as a table and the lines that say what it rests on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.table import Table

from pipeline.text.display import dollars

if TYPE_CHECKING:
    from pipeline.build.waves import Drawn
    from pipeline.config import Config
    from pipeline.llm.rehearsal import PlannedStage


def plan_table(stages: Sequence[PlannedStage]) -> Table:
    """Return a row for every stage, and their sum."""
    table = Table(title=None, box=None, pad_edge=False)
    table.add_column("stage")
    for name in ("requests", "stored", "input tokens", "output tokens", "cost"):
        table.add_column(name, justify="right")
    for row in stages:
        _add(table, row.stage, [row])
        if row.stage == "generate" and not any(stage.stage == "rewrite" for stage in stages):
            table.add_row("rewrite", "0", "0", "0", "0", "-")
    _add(table, "in all", stages)
    return table


def _add(table: Table, name: str, rows: Sequence[PlannedStage]) -> None:
    counts = (
        sum(row.requests for row in rows),
        sum(row.replayed for row in rows),
        sum(row.input_tokens for row in rows),
        sum(row.output_tokens for row in rows),
    )
    table.add_row(name, *(f"{count:,}" for count in counts), _cost(rows))


def _cost(rows: Sequence[PlannedStage]) -> str:
    known = [row.usd for row in rows if row.usd is not None]
    return dollars(sum(known)) if len(known) == len(rows) else "unknown"


def notes(stages: Sequence[PlannedStage], drawn: Drawn, config: Config) -> Iterator[str]:
    """Yield what the numbers rest on, one line each."""
    yield "Nothing was sent or written. Requests are exact if every new reply is good and its query is accepted; one"
    yield "that is turned down costs a rewrite, or another chunk. Tokens are estimates, corrected by stored answers."
    if any(row.usd is None for row in stages):
        yield (
            f"The price of {config.model.name} is not known: set usd_per_million_input and usd_per_million_output "
            "under [model]."
        )
    if config.critics.use:
        yield "The critics' requests are those about a query of average length; a share of them is drawn by wording."
    target = config.generate.queries
    if target is not None and drawn.accepted < target:
        yield f"{drawn.accepted:,} of {target:,} queries can come of these documents and answers."
    requests, cap = sum(row.requests for row in stages), config.model.max_requests
    if cap is not None and requests > cap:
        yield f"max_requests = {cap:,} stops the run before it is done."
