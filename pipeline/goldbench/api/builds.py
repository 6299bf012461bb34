"""Builds of a caller: run, planned, or ordered again from changed documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from goldbench.api.cost_plan import CostPlan
from goldbench.api.given_documents import documents_of, paths_in
from goldbench.api.gold_grade import decisions_of, remarks_of
from goldbench.api.keywords import ConfigGiven, config_from, in_python
from goldbench.api.loop_thread import run_apart
from goldbench.config import read_toml
from goldbench.generate.renewal import check_renewable
from goldbench.goldset.folder import GoldFolder
from goldbench.grade.build_order import BuildOrder, BuildResult, carry_out, plan, renewable_paths, renewed_settings
from goldbench.report.build_text import plan_notes, planned_lines, renewal_lines, renewal_warnings, shortfall, unreached
from goldbench.report.terminal import on_standard_error


def run_build(order: BuildOrder, *, progress: bool) -> tuple[tuple[str, ...], bool]:
    """Build a set, and return what a reader of it must know, and whether it is complete.

    Args:
        order: What is built.
        progress: Whether the progress is shown.
    """
    terminal = on_standard_error(quiet=not progress)
    built = run_apart(lambda watched: carry_out(order, progress=watched, say=watched.note), terminal)
    remarks = tuple(map(in_python, _remarks(built, order.out)))
    for line in remarks:
        terminal.note(line)
    return remarks, built.complete


def _remarks(built: BuildResult, out: Path) -> Iterator[str]:
    result = built.result
    manifest = result.manifest
    renewal = result.renewal
    if renewal is not None and not renewal.stays and manifest.renewed is not None:
        yield from renewal_lines(manifest.renewed, renewal.retired)
        yield from renewal_warnings(manifest.renewed, renewal.graded, len(renewal.standing.unanswerable), out)
    yield from shortfall(manifest, manifest.failures, limit=result.limit, target_met=result.target_met)
    yield from unreached(result.unreached, manifest.queries)
    if built.graded is not None:
        yield from remarks_of(built.graded)
        if (problem := built.graded.problem(out, built=True)) is not None:
            yield problem.message


def plan_build(order: BuildOrder, *, progress: bool) -> CostPlan:
    """Return what a build would send and keep.

    Args:
        order: What would be built.
        progress: Whether the progress is shown.
    """
    planned = run_apart(lambda watched: plan(order, progress=watched), on_standard_error(quiet=not progress))
    notes: list[str] = [] if planned.grading is None else [planned.grading]
    if planned.renewal is not None and planned.drawn is not None:
        notes += planned_lines(planned.renewal.record(planned.renewal.new(planned.drawn)), planned.renewal.retired)
    if planned.drawn is None or not planned.stages:
        return CostPlan((), [*notes, f"{planned.announcement} 0 requests, no cost."])
    return CostPlan(planned.stages, [*notes, *plan_notes(planned.stages, planned.drawn, planned.config)])


def refresh_order(
    folder: Path,
    documents: object,
    texts: object,
    config: ConfigGiven | None,
    options: Mapping[str, Any],
    *,
    dry_run: bool,
    **order: Any,  # noqa: ANN401
) -> BuildOrder:
    """Return the order to make a set again from its documents.

    Args:
        folder: The folder of the set.
        documents: As in `goldbench.build`; None for the documents of the last build.
        config: A ``goldbench.toml`` or its tables, of which ``[model]`` and ``[machines]`` are read.
        options: Settings by keyword.
        dry_run: Whether it is only planned.
        order: The other fields of the order: ``answers``, ``replay``, ``batch``.
    """
    home = GoldFolder(folder)
    check_renewable(home)
    tables = config if isinstance(config, Mapping) else read_toml(Path(config)) if config is not None else {}
    stated = {"name": options.get("model"), "base_url": options.get("base_url")}
    settings = config_from(
        renewed_settings(home, tables, stated, asks=not (order["replay"] or dry_run)),
        options,
        "generate.queries",
        "model",
        "machines",
    )
    decisions = decisions_of(folder)
    paths = renewable_paths(home, ()) if documents is None and texts is None else []
    return BuildOrder(
        config=settings,
        sources=documents_of(paths or documents, texts, settings),
        out=folder,
        paths=paths or [str(path) for path in paths_in(documents)],
        refresh=True,
        decisions=decisions.put_on if decisions else None,
        **order,
    )
