"""``goldbench drift``: how well a log of users' queries is covered."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from goldbench.pipeline.cli.options import Answers, input_option, output_option, statistics_option, system_option
from goldbench.pipeline.cli.run_options import BenchConfig, GoldPath, Seed, opened_system
from goldbench.pipeline.errors import UsageError

if TYPE_CHECKING:
    from goldbench.pipeline.explore.log_coverage import Settings
    from goldbench.pipeline.formats.query_logs import Log
    from goldbench.pipeline.score.runs import Gold


def drift(
    gold: GoldPath,
    queries: Annotated[
        str, input_option("--queries", metavar="FILE", help="Log: a query per line, CSV or JSON Lines; - is stdin.")
    ],
    column: Annotated[str | None, input_option(metavar="NAME", help="Column or key that holds the queries.")] = None,
    system: Annotated[
        str | None, system_option(metavar="NAME", help="System of vectors, as lsi (default: compare words).")
    ] = None,
    config: BenchConfig = None,
    answers: Answers = None,
    quantile: Annotated[
        float, statistics_option(metavar="Q", help="Share of own queries that is far (default: 0.05 = 5 %).")
    ] = 0.05,
    most: Annotated[
        int, input_option(metavar="N", min=1, help="Most frequent distinct queries used (default: 20000).")
    ] = 20_000,
    clusters: Annotated[int, output_option(metavar="N", min=1, help="Clusters shown (default: 10).")] = 10,
    seed: Seed = 0,
    form: Annotated[
        Literal["table", "json"], output_option("--format", help="What to print (default: table).")
    ] = "table",
    out: Annotated[Path | None, output_option("--out", metavar="FILE", help="Also write the report as JSON.")] = None,
) -> None:
    """Show how well a log of queries is covered.

    Says of each query whether the passages answer it, and which queries to add to the set.
    """
    import json

    from goldbench.pipeline.errors import explained
    from goldbench.pipeline.explore.log_coverage import Settings, check_quantile
    from goldbench.pipeline.formats.jsonl import write_texts
    from goldbench.pipeline.formats.query_logs import read_log
    from goldbench.pipeline.goldset.gold_path import check_apart
    from goldbench.pipeline.report.drift_text import advice, lines
    from goldbench.pipeline.score.runs import load_gold
    from goldbench.pipeline.text.display import printable

    check_quantile(quantile)
    check_apart({"--out": out}, [gold, queries, *([config] if config else [])])
    loaded, log = load_gold(gold), read_log(queries, column=column)
    settings = Settings(quantile=quantile, most=most, clusters=clusters, seed=seed)
    found = _compare(loaded, log, settings, system=system, config=config, answers=answers)
    report = {**found, "advice": advice(found)}
    text = json.dumps(report, ensure_ascii=False, indent=1)
    if out is not None:
        with explained(out):
            write_texts(out, [text])
    if form == "json":
        typer.echo(text)
    else:
        for line in lines(report):
            typer.echo(printable(line))


def _compare(
    gold: Gold, log: Log, settings: Settings, *, system: str | None, config: Path | None, answers: Path | None
) -> dict[str, Any]:
    from goldbench.pipeline.explore.log_coverage import drift as compare

    if system is None:
        return compare(gold, log, settings)
    from goldbench.pipeline.retrieval.system_settings import Vectors

    with opened_system(system, config, gold.path, answers=answers) as opened:
        if not isinstance(opened.settings[system], Vectors):
            problem = "its scores are not cosines; give a system of vectors, as lsi or embedding"
            raise UsageError(f"--system {system}: {problem}")
        return compare(gold, log, settings, vectors=(system, opened.retriever(system)))
