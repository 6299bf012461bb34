"""Options that several commands share, the configuration they come to, and where a command prints."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pipeline.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from pipeline.config import Config

DONE_WITH_FAILURES = 3

ConfigFile = Annotated[Path | None, typer.Option("--config", metavar="FILE", help="A goldset.toml.")]
BaseUrl = Annotated[str | None, typer.Option(metavar="U", help="Any OpenAI-compatible server.")]
Answers = Annotated[Path | None, typer.Option(metavar="FILE", help="The store of model answers.")]
Concurrency = Annotated[int | None, typer.Option(metavar="N", help="Most calls in flight at once (64).")]
MaxRequests = Annotated[int | None, typer.Option(metavar="N", help="Send no more requests than this.")]
MaxTokens = Annotated[int | None, typer.Option(metavar="N", help="Spend no more tokens than this.")]
MaxUsd = Annotated[float | None, typer.Option(metavar="USD", help="Spend no more dollars than this.")]
Deadline = Annotated[float | None, typer.Option(metavar="MIN", help="Ask nothing after so many minutes.")]
Replay = Annotated[bool, typer.Option("--replay", help="Answer from the store alone; no network.")]
Batch = Annotated[bool, typer.Option("--batch", help="Send in batches: half the price, within a day.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what it would cost; send and write nothing.")]


def configured(path: Path | None, **tables: dict[str, Any]) -> Config:
    """Return the configuration of a file and what the command line says over it; None is not said.

    Raises:
        ConfigError: Something in it is wrong.
    """
    from pipeline.config import load_config

    given = {
        name: {
            key: {k: v for k, v in value.items() if v is not None} or None if isinstance(value, dict) else value
            for key, value in table.items()
        }
        for name, table in tables.items()
    }
    return load_config(path, given)


def model_table(
    name: str | None,
    base_url: str | None,
    concurrency: int | None,
    max_requests: int | None,
    max_tokens: int | None,
    max_usd: float | None,
    deadline: float | None,
) -> dict[str, Any]:
    """Return the table ``[model]`` of a command line."""
    return {
        "name": name,
        "base_url": base_url,
        "concurrency": concurrency,
        "max_requests": max_requests,
        "max_tokens": max_tokens,
        "max_usd": max_usd,
        "deadline_minutes": deadline,
    }


def named(text: str | None) -> list[str] | None:
    """Return the names in a list with commas; ``none`` is the empty list, None says nothing."""
    return None if text is None else [name.strip() for name in text.split(",") if name.strip() not in {"", "none"}]


def check_replay(*, replay: bool, batch: bool, dry_run: bool) -> None:
    """Refuse to ask and not to ask at once.

    Raises:
        UsageError: A replay is to send batches, or to say what it would cost.
    """
    if replay and (batch or dry_run):
        raise UsageError("--replay asks nobody: leave out --batch and --dry-run")


def console_for(*, stderr: bool = False) -> Console:
    """Return where a command prints; nothing it is given is taken for markup."""
    from rich.console import Console

    return Console(stderr=stderr, soft_wrap=True, markup=False, highlight=False)
