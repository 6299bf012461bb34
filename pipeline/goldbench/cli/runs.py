"""What commands on runs and retrieval systems share."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goldbench.cli.output import screen
from goldbench.goldset.file_names import answers_beside
from goldbench.goldset.gold_path import folder_of, notice_of
from goldbench.measures.names import Measure, asked_measures
from goldbench.score.runs import Gold, Run, documents_of

if TYPE_CHECKING:
    from goldbench.systems import Systems


def chosen(measure: list[str] | None, k: str | None, gold: Gold) -> list[Measure]:
    """Return the measures of a command line; those without a cutoff at every ``k``.

    Args:
        measure: The values of ``--measure``, or None for the default measures.
        k: The value of ``--k``.
        gold: The gold set, which says which grades are relevant.

    Raises:
        UnknownMeasure: A name or a cutoff cannot be understood.
    """
    from goldbench.score.demands import naming

    with naming("measure" if measure else "k"):
        return asked_measures(measure, cutoffs_of(k), rel=gold.level)


def cutoffs_of(k: str | None) -> list[int]:
    """Return the cutoffs of ``--k``, which its option has checked."""
    return [int(text) for text in (k or "").replace(",", " ").split()]


def warn(gold: Gold) -> None:
    """Print the gold set's warning, if it has one."""
    notice = notice_of(gold.path)
    if notice:
        screen.warn(notice)


def note_old_runs(gold: Gold, runs: Mapping[str, Run], match: str) -> None:
    """Print a line on each run with passages that the set no longer holds, before its scores.

    Args:
        gold: The set.
        runs: The runs by name.
        match: How retrieved passages are recognised; by their texts, nothing is printed.
    """
    from goldbench.score.common_queries import outdated_lines

    if match == "id":
        retrieved = ((name, documents_of(run)) for name, run in runs.items())
        screen.note(*outdated_lines(gold, retrieved), style="yellow")


def answers_of(gold: Path) -> Path:
    """Return the default store of answers: beside the gold set that the path belongs to, never in it."""
    return answers_beside(folder_of(gold) or (gold if gold.is_dir() else gold.parent))


def opened_system(name: str, config: Path | None, **options: Any) -> AbstractContextManager[Systems]:  # noqa: ANN401
    """Open a retrieval system that is a preset, or that a ``bench.toml`` describes.

    Args:
        name: The system.
        config: The ``bench.toml``, or None.
        options: The other parameters of `open_systems`.
    """
    from goldbench.systems import open_systems

    if config is None:
        return open_systems([name], **options)
    from goldbench.bench.bench_file import load_bench  # knows measures and tests, and takes a while to import

    bench = load_bench(config, level=1)
    return open_systems([name], bench.described, config=bench.config, where=config, folder=bench.folder, **options)
