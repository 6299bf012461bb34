"""What comes of a build for a caller: its remarks, or the plan of a dry run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from goldbench.api.keywords import in_python

if TYPE_CHECKING:
    from goldbench.api.cost_plan import CostPlan
    from goldbench.grade.build_order import BuildOrder, Built


def made(order: BuildOrder, *, progress: bool) -> tuple[list[str], Built]:
    """Build a set, and return what a reader of it must know and the result.

    Args:
        order: What is built.
        progress: Whether the progress is shown.
    """
    from goldbench.api.loop_thread import run_apart
    from goldbench.api.shown_progress import progress_for
    from goldbench.grade.build_order import carry_out

    shown = progress_for(shown=progress)
    built = run_apart(lambda watched: carry_out(order, progress=watched, say=watched.note), shown)
    remarks = list(_remarks(built, order.out))
    for line in remarks:
        shown.note(line)
    return remarks, built


def _remarks(built: Built, out: Path) -> Iterator[str]:
    from goldbench.api.gold_grade import remarks_of
    from goldbench.report.build_text import shortfall, unreached

    result = built.result
    if result.renewal is not None and not result.renewal.stays and result.manifest.renewed is not None:
        from goldbench.report.renewal_text import renewal_lines, renewal_warnings

        yield from renewal_lines(result.manifest.renewed, result.renewal.retired)
        kept = len(result.renewal.standing.unanswerable)
        for line in renewal_warnings(result.manifest.renewed, result.renewal.graded, kept, out):
            yield in_python(line)
    for line in shortfall(result.manifest, result.manifest.failures, limit=result.limit, target_met=result.target_met):
        yield in_python(line)
    yield from unreached(result.unreached, result.manifest.queries)
    if built.graded is not None:
        yield from remarks_of(built.graded)
        if (problem := built.graded.problem(out, built=True)) is not None:
            yield in_python(problem.message)


def planned(order: BuildOrder, *, progress: bool) -> CostPlan:
    """Return what a build would send and keep.

    Args:
        order: What would be built.
        progress: Whether the progress is shown.
    """
    from goldbench.api.cost_plan import CostPlan
    from goldbench.api.loop_thread import run_apart
    from goldbench.api.shown_progress import progress_for
    from goldbench.grade.build_order import plan
    from goldbench.report.build_text import plan_notes

    planned = run_apart(lambda watched: plan(order, progress=watched), progress_for(shown=progress))
    notes: list[str] = [] if planned.grading is None else [planned.grading]
    if planned.renewal is not None and planned.drawn is not None:
        from goldbench.report.renewal_text import planned_lines

        notes += planned_lines(planned.renewal.record(planned.renewal.new(planned.drawn)), planned.renewal.retired)
    if planned.drawn is None or not planned.stages:
        return CostPlan((), [*notes, f"{planned.announcement} 0 requests, no cost."])
    return CostPlan(planned.stages, [*notes, *plan_notes(planned.stages, planned.drawn, planned.config)])
