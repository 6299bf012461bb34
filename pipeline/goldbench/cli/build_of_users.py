"""``goldbench build --queries-from``: documents and a log of queries in, a set of users' queries out."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from goldbench.cli.grade import show as show_grading
from goldbench.cli.options import progress_console
from goldbench.cli.output import screen
from goldbench.cli.process import GO_ON, Interrupted
from goldbench.goldset.file_names import DATASET, UNLABELLED

if TYPE_CHECKING:
    from goldbench.grade.build_order import BuildOrder
    from goldbench.grade.users_build import UsersBuilt, UsersOrder


def users_order(
    order: BuildOrder, log: str, column: str | None, counts: str | None, names: Path | None, shares: str | None
) -> UsersOrder:
    """Return the set of users' queries that is to be built.

    Args:
        order: What is to be built, from which documents, and where.
        log: The log.
        column: Its column of queries, or None.
        counts: Its column of counts, or None.
        names: The file of names, or None.
        shares: The shares of head, torso and tail, or None.

    Raises:
        InputError: A file cannot be read, or holds nothing.
        UsageError: The log has no such column, or the shares are not valid.
    """
    from goldbench.formats.query_logs import read_log, read_names
    from goldbench.generate.users_queries import parse_band_shares
    from goldbench.grade.users_build import UsersOrder

    return UsersOrder(
        order=order,
        log=read_log(log, column=column, counts=counts),
        names=tuple(read_names(names)) if names else (),
        shares=parse_band_shares(shares) if shares else None,
    )


def built_of_users(users: UsersOrder, *, batch: bool, dry_run: bool) -> bool:
    """Build the set or show its plan, print the result, and return whether it is complete.

    Args:
        users: What is to be built.
        batch: Whether requests are sent in batches.
        dry_run: Whether only the plan is shown.

    Raises:
        Interrupted: The user ended the command.
    """
    from goldbench.cli.event_loop import run
    from goldbench.grade.users_build import build_users, plan_users
    from goldbench.report.build_text import users_queries_lines
    from goldbench.report.terminal import TerminalProgress
    from goldbench.systems.destinations import destinations, text_line

    if dry_run:
        drawn, cost = plan_users(users)
        screen.note(text_line(destinations(users.order.config)))
        screen.show(*users_queries_lines(drawn), cost)
        screen.add(plan=cost)
        return True
    try:
        built = run(build_users(users, progress=TerminalProgress(progress_console()), say=screen.note))
    except KeyboardInterrupt:
        how = "the provider finishes the batches, and the same command fetches them" if batch else GO_ON
        raise Interrupted(how) from None
    screen.show(*users_queries_lines(built.drawn))
    _show(built, users.order.out)
    return built.complete


def _show(built: UsersBuilt, out: Path) -> None:
    from goldbench.text.display import queries

    screen.add(folder=str(out), manifest=built.manifest.model_dump(mode="json"), waiting=built.waiting)
    if built.graded is not None:
        show_grading(built.graded)
        if (problem := built.graded.problem(out, built=True)) is not None:
            raise problem
    screen.show("", f"{queries(built.manifest.queries)} in {out / DATASET}, {built.waiting:,} waiting in {UNLABELLED}")
    if built.waiting:
        place = shlex.quote(str(out))
        screen.explain(f"Next: goldbench review {place} (people judge), or goldbench grade {place} (a model judges)")
    else:
        screen.explain(f"Next: goldbench validate {shlex.quote(str(out))}")
