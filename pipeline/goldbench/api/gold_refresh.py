"""A gold set made again from its documents for a caller, as ``goldbench refresh`` does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goldbench.api.build_results import made, planned
from goldbench.api.given_documents import documents_of, paths_in
from goldbench.api.gold_grade import decisions_of
from goldbench.api.keywords import ConfigGiven, config_from
from goldbench.config import read_toml
from goldbench.generate.renewal import check_renewable
from goldbench.generate.writers import check_replay
from goldbench.goldset.folder import GoldFolder
from goldbench.grade.build_order import BuildOrder, renewable_paths, renewed_settings

if TYPE_CHECKING:
    from goldbench.api.cost_plan import CostPlan
    from goldbench.config import Config


def ordered(
    folder: Path,
    documents: object,
    texts: Iterable[str | None] | Mapping[str, str | None] | None,
    config: ConfigGiven | None,
    options: Mapping[str, Any],
    answers: Path,
    *,
    replay: bool,
    batch: bool,
    dry_run: bool,
) -> BuildOrder:
    """Return what is to be made again.

    Args:
        folder: The folder of the set.
        documents: As in `goldbench.build`; None for the documents of the last build.
        texts: As in `goldbench.build`.
        config: A ``goldbench.toml`` or its tables, of which ``[model]`` and ``[machines]`` are read.
        options: Settings by keyword.
        answers: The store of answers.
        replay: Whether every answer comes from the store.
        batch: Whether requests are sent in batches.
        dry_run: Whether it is only planned.
    """
    check_replay(replay=replay, batch=batch, dry_run=dry_run)
    home = GoldFolder(folder)
    check_renewable(home)
    settings = _config(home, config, options, asks=not (replay or dry_run))
    paths: list[str] = []
    if documents is None and texts is None:
        paths = renewable_paths(home, ())
    found = documents_of(paths or documents, texts, settings)
    kept = decisions_of(folder)
    return BuildOrder(
        config=settings,
        found=found,
        out=folder,
        answers=answers,
        replay=replay,
        batch=batch,
        paths=paths or [str(one) for one in paths_in(documents)],
        refresh=True,
        decisions=kept.put_on if kept else None,
    )


def made_again(order: BuildOrder, *, progress: bool) -> tuple[tuple[str, ...], bool]:
    """Make the set again and return what a reader of it must know, and whether it is complete.

    Args:
        order: What is made again.
        progress: Whether the progress is shown.
    """
    remarks, built = made(order, progress=progress)
    return tuple(remarks), built.complete


def planned_again(order: BuildOrder, *, progress: bool) -> CostPlan:
    """Return what making the set again would send.

    Args:
        order: What would be made again.
        progress: Whether the progress is shown.
    """
    return planned(order, progress=progress)


def _config(home: GoldFolder, config: ConfigGiven | None, options: Mapping[str, Any], *, asks: bool) -> Config:
    given = config if isinstance(config, Mapping) else read_toml(Path(config)) if config is not None else {}
    stated = {"name": options.get("model"), "base_url": options.get("base_url")}
    return config_from(
        renewed_settings(home, given, stated, asks=asks), options, "generate.queries", "model", "machines"
    )
