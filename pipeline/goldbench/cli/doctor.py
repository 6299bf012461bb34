"""``goldbench doctor``: what is configured and what can be reached."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from goldbench.cli.options import model_option, progress_console, takes
from goldbench.cli.output import screen
from goldbench.errors import NEGATIVE
from goldbench.goldset.file_names import ANSWERS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from goldbench.config import Config
    from goldbench.generate.diagnosis import Finding
    from goldbench.llm.preflight import Trait

Answers = Annotated[Path, model_option(metavar="FILE", help=f"Store of what --try finds (default: {ANSWERS}).")]


@takes("model", "generate.prompt_style")
def doctor(
    settings: Config,
    tries: Annotated[bool, model_option("--try", help="Ask the server what it takes.")] = False,
    answers: Answers = Path(ANSWERS),
) -> None:
    """Check the configuration and the model server.

    Also lists the local servers that listen. With --try, one small request finds out what the server takes, shown as a
    table; it is repeated without what the server refuses.
    """
    from goldbench.cli.event_loop import run
    from goldbench.generate.diagnosis import examine
    from goldbench.systems.destinations import destinations, text_line

    screen.note(text_line(destinations(settings, chat=tries)))
    found = run(examine(settings))
    healthy = _show(found)
    screen.add(findings=[asdict(one) for one in found])
    if tries:
        healthy = _try(settings, answers) and healthy
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


def _try(settings: Config, answers: Path) -> bool:
    from goldbench.cli.event_loop import run
    from goldbench.grade.tryout import check_server
    from goldbench.report.build_text import spending
    from goldbench.report.terminal import TerminalProgress

    check = run(check_server(settings, answers, progress=TerminalProgress(progress_console())))
    healthy = _table(check.traits)
    screen.add(traits=[asdict(trait) for trait in check.traits])
    screen.show(*(f"    {line}" for line in spending(check.usage)), indent="    ")
    return healthy
