"""``goldbench doctor``: what is configured and what can be reached."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from goldbench.cli.options import model_option, progress_console, takes
from goldbench.cli.output import screen
from goldbench.errors import NEGATIVE, UsageError
from goldbench.goldset.file_names import ANSWERS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from goldbench.config import Config
    from goldbench.generate.diagnosis import Finding
    from goldbench.llm.preflight import Trait

Paths = Annotated[
    list[str] | None, typer.Argument(metavar="PATH...", help="Documents for --try (default: a built-in sample).")
]
Answers = Annotated[Path, model_option(metavar="FILE", help=f"Store of the replies to --try (default: {ANSWERS}).")]


@takes("model", "generate.prompt_style")
def doctor(
    settings: Config,
    paths: Paths = None,
    tries: Annotated[bool, model_option("--try", help="Try the model on a few passages.")] = False,
    answers: Answers = Path(ANSWERS),
) -> None:
    """Check the configuration and the model server.

    Also lists the local servers that listen. With --try, one small request finds out what the server takes, shown as a
    table, and the model writes and judges a few queries: at most 26 calls.
    """
    from goldbench.cli.event_loop import run
    from goldbench.generate.diagnosis import examine
    from goldbench.systems.destinations import destinations, text_line

    if paths and not tries:
        raise UsageError(f"{paths[0]}: documents are for --try alone; add --try, or leave the documents out")
    screen.note(text_line(destinations(settings, chat=tries)))
    found = run(examine(settings))
    healthy = _show(found)
    screen.add(findings=[asdict(one) for one in found])
    if tries:
        healthy = _try(settings, paths, answers) and healthy
    screen.add(healthy=healthy)
    if not healthy:
        raise typer.Exit(NEGATIVE)


def _show(findings: Iterable[Finding]) -> bool:
    """Print the findings, and return whether none of them is bad."""
    healthy = True
    for finding in findings:
        healthy = healthy and finding.good is not False
        mark = {True: "ok  ", False: "bad ", None: "    "}[finding.good]
        screen.show(f"{mark}{finding.what}: {finding.says}", indent="    ")
    return healthy


def _table(traits: Iterable[Trait]) -> bool:
    """Print what was found of the server as a table, and return whether nothing of it is bad."""
    rows = list(traits)
    marks = {True: "ok", False: "bad", None: ""}
    screen.described(
        [
            ("", "server", "found (setting)"),
            *((marks[row.good], row.what, row.says + (f" ({row.setting})" if row.setting else "")) for row in rows),
        ]
    )
    return all(row.good is not False for row in rows)


def _try(settings: Config, paths: list[str] | None, answers: Path) -> bool:
    from goldbench.cli.event_loop import run
    from goldbench.generate.inputs import find_documents
    from goldbench.grade.tryout import try_out
    from goldbench.report.build_text import spending
    from goldbench.report.terminal import TerminalProgress

    found = find_documents(paths) if paths else None
    progress = TerminalProgress(progress_console())
    tried = run(try_out(settings, found, answers, progress=progress))
    healthy = _table(tried.traits)
    healthy = _show(tried.findings) and healthy
    screen.add(traits=[asdict(one) for one in tried.traits], tried=[asdict(one) for one in tried.findings])
    screen.show(*(f"    {line}" for line in spending(tried.usage)), indent="    ")
    return healthy
