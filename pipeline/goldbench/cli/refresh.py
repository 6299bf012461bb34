"""``goldbench refresh``: a set made again from its documents, with the queries that still stand."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from goldbench.cli.build import carried_out, order_of, show_plan
from goldbench.cli.options import Answers, Batch, ConfigFile, DryRun, Given, Replay, query_option, takes
from goldbench.cli.review_files import LedgerOption
from goldbench.errors import DONE_IN_PART
from goldbench.goldset.file_names import answers_beside

if TYPE_CHECKING:
    from goldbench.grade.build_order import BuildOrder


@takes("model", "machines")
def refresh(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a gold set that was built.")],
    given: Given,
    paths: Annotated[
        list[str] | None, typer.Argument(metavar="[PATH]...", help="Documents (default: those of the last build).")
    ] = None,
    queries: Annotated[
        int | None, query_option("--queries", min=1, metavar="N", help="Queries to have (default: as many as before).")
    ] = None,
    config: ConfigFile = None,
    ledger: LedgerOption = None,
    answers: Answers = None,
    replay: Replay = False,
    batch: Batch = False,
    dry_run: DryRun = False,
) -> None:
    """Read changed documents again.

    Queries whose evidence still stands are kept with their labels; a model is asked only about passages that are new
    or changed, or whose query is gone, up to the number of queries of the set. The settings are those of the set. From
    --config only [model] and [machines] are read; they override the set's settings.
    """
    from goldbench.generate.writers import check_replay

    check_replay(replay=replay, batch=batch, dry_run=dry_run)
    flags = {"replay": replay, "batch": batch}
    asked = {**given, "generate": {"queries": queries}} if queries is not None else given
    asks = not (replay or dry_run)
    order = _order(folder, paths or [], asked, config, answers or answers_beside(folder), ledger, asks=asks, **flags)
    if dry_run:
        show_plan(order)
    elif not carried_out(order, batch=batch):
        raise typer.Exit(DONE_IN_PART)


def _order(
    folder: Path,
    paths: list[str],
    given: Given,
    config: Path | None,
    answers: Path,
    ledger: str | None,
    *,
    asks: bool,
    **flags: bool,
) -> BuildOrder:
    from goldbench.config import config_of, read_toml
    from goldbench.goldset.file_names import CONFIG
    from goldbench.goldset.folder import GoldFolder
    from goldbench.grade.build_order import renewable_paths, renewed_settings

    home = GoldFolder(folder)
    documents = renewable_paths(home, paths)
    settings = renewed_settings(home, read_toml(config) if config else {}, given.get("model", {}), asks=asks)
    chosen = config_of(settings, given, path=home.file(CONFIG))
    return order_of(chosen, documents, folder, answers, ledger=ledger, refresh=True, **flags)
