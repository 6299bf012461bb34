"""Options that the commands on runs and retrieval systems share, and what becomes of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from goldbench.cli.options import input_option, measure_option, statistics_option, system_option
from goldbench.cli.output import screen
from goldbench.errors import UsageError
from goldbench.goldset.file_names import DATASET, answers_beside

if TYPE_CHECKING:
    from goldbench.config import Engine
    from goldbench.measures.names import Measure
    from goldbench.score.runs import Gold, Run
    from goldbench.systems import Systems

GoldPath = Annotated[
    str, typer.Argument(metavar="GOLD", help=f"Folder of a gold set, {DATASET}, TREC or BEIR judgments.")
]
SearchedGold = Annotated[str, typer.Argument(metavar="GOLD", help=f"Folder of a gold set, {DATASET} or a BEIR folder.")]
BenchConfig = Annotated[
    Path | None, input_option("--config", "-c", metavar="FILE", help="A bench.toml that describes systems.")
]
RunOption = Annotated[
    list[str], input_option("--run", metavar="NAME=FILE", help="Results: TREC, JSON, CSV or Parquet; - is stdin.")
]
MatchOption = Annotated[
    Literal["id", "text"], input_option("--match", help="How retrieved passages are recognised (default: id).")
]
ConversationOption = Annotated[
    Literal["last", "standalone", "joined"],
    input_option("--conversation", help="What is searched for conversations (default: last)."),
]
SystemParameters = Annotated[
    list[str] | None, system_option("--set", metavar="KEY=VALUE", help="Parameter of a system or part: bm25.k1=0.9.")
]
MeasureOption = Annotated[
    list[str] | None, measure_option("--measure", metavar="NAMES", help="As ndcg@10 or 'recall@5,map@100'.")
]
CutoffOption = Annotated[
    str | None, measure_option("--k", metavar="LIST", help="Cutoffs of measures without one: 1,3,5,10.")
]
MissingOption = Annotated[
    Literal["zero", "skip", "error"],
    measure_option("--missing", help="How queries that a run lacks count (default: zero)."),
]
ScoresOption = Annotated[
    Literal["float64", "float32"],
    measure_option("--scores", help="float32: ties as in trec_eval 9 (default: float64)."),
]
Permutations = Annotated[
    int, statistics_option(metavar="N", min=1, help="Draws of the randomization test (default: 10000).")
]
Seed = Annotated[int, statistics_option(metavar="N", min=0, help="The same seed gives the same figures (default: 0).")]
Alpha = Annotated[float, statistics_option(metavar="P", help="Accepted chance of a false claim (default: 0.05 = 5 %).")]


def cutoffs_of(k: str | None) -> list[int]:
    """Return the cutoffs of ``--k``.

    Raises:
        UsageError: One of them is not a whole number.
    """
    cutoffs = []
    for text in (k or "").replace(",", " ").split():
        if not (text.isascii() and text.isdigit() and len(text) <= 9 and int(text)):
            raise UsageError(f"--k {k}: not a valid cutoff: {text!r}; give whole numbers from 1, as 1,3,5,10")
        cutoffs.append(int(text))
    return cutoffs


def chosen(measure: list[str] | None, k: str | None, gold: Gold) -> list[Measure]:
    """Return the measures of a command line; those without a cutoff at every ``k``.

    Args:
        measure: The values of ``--measure``, or None for the default measures.
        k: The value of ``--k``.
        gold: The gold set, which says which grades are relevant.

    Raises:
        UnknownMeasure: A name or a cutoff cannot be understood.
    """
    from goldbench.measures.names import asked_measures
    from goldbench.score.demands import naming

    cutoffs = cutoffs_of(k)
    with naming("measure" if measure else "k"):
        return asked_measures(measure, cutoffs, rel=gold.level)


def check_alpha(alpha: float) -> None:
    """Refuse a significance level outside 0 to 1.

    Raises:
        UsageError: It is.
    """
    if not 0 < alpha < 1:
        raise UsageError(f"--alpha: not a valid probability: {alpha:g}; give one between 0 and 1, as 0.05")


def warn(gold: Gold) -> None:
    """Print the gold set's warning, if it has one."""
    from goldbench.goldset.gold_path import notice_of

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
    from goldbench.score.runs import documents_of

    if match == "id":
        retrieved = ((name, documents_of(run)) for name, run in runs.items())
        screen.note(*outdated_lines(gold, retrieved), style="yellow")


def answers_of(gold: Path) -> Path:
    """Return the default store of answers: beside the gold set that the path belongs to, never in it."""
    from goldbench.goldset.gold_path import folder_of

    return answers_beside(folder_of(gold) or (gold if gold.is_dir() else gold.parent))


def opened_system(
    name: str,
    config: Path | None,
    gold: Path,
    *,
    answers: Path | None,
    replay: bool = False,
    overrides: Sequence[str] = (),
    engine: Engine | None = None,
) -> AbstractContextManager[Systems]:
    """Open a retrieval system that is a preset, or that a ``bench.toml`` describes.

    Args:
        name: The system.
        config: The ``bench.toml``, or None.
        gold: The gold set, beside which the store of answers lies by default.
        answers: The store of answers, or None.
        replay: Whether every answer comes from the store.
        overrides: Parameters as KEY=VALUE.
        engine: Where BM25 searches; None is this machine.
    """
    from goldbench.config import Engine
    from goldbench.systems import open_systems

    store = answers or answers_of(gold)
    engine = engine or Engine.LOCAL
    if config is None:
        return open_systems([name], answers=store, replay=replay, overrides=overrides, engine=engine)
    from goldbench.bench.bench_file import load_bench  # knows measures and tests, and takes a while to import

    bench = load_bench(config, level=1)
    return open_systems(
        [name],
        bench.described,
        config=bench.config,
        answers=store,
        replay=replay,
        overrides=overrides,
        where=config,
        folder=bench.folder,
        engine=engine,
    )
