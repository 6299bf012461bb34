"""``goldset drift``: how well a log of users' queries is covered."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from pipeline.cli.score import GoldPath
from pipeline.errors import UsageError
from pipeline.goldset.file_names import answers_beside

if TYPE_CHECKING:
    from pipeline.explore.log_coverage import Settings
    from pipeline.formats.query_logs import Log
    from pipeline.score.runs import Gold


def drift(
    gold: GoldPath,
    queries: Annotated[
        str,
        typer.Option("--queries", metavar="FILE", help="The log: a query per line, CSV, JSON Lines, .gz; - is stdin."),
    ],
    column: Annotated[str | None, typer.Option(metavar="NAME", help="Column or key that holds the queries.")] = None,
    system: Annotated[
        str | None, typer.Option(metavar="NAME", help="A system of vectors, as lsi or embedding (compare words).")
    ] = None,
    config: Annotated[
        Path | None, typer.Option("--config", "-c", metavar="FILE", help="A bench.toml that describes the system.")
    ] = None,
    answers: Annotated[Path | None, typer.Option(metavar="FILE", help="The store of embeddings paid for.")] = None,
    quantile: Annotated[
        float, typer.Option(metavar="Q", help="Share of the gold set's own queries that counts as far.")
    ] = 0.05,
    most: Annotated[
        int, typer.Option(metavar="N", min=1, help="Distinct queries compared, most frequent first.")
    ] = 20_000,
    clusters: Annotated[int, typer.Option(metavar="N", min=1, help="Clusters shown.")] = 10,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Of draws and samples (0).")] = 0,
    form: Annotated[Literal["table", "json"], typer.Option("--format", help="What to print.")] = "table",
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Also write the report as JSON.")] = None,
) -> None:
    """Say how well a log of users' queries is covered by the passages and by the gold set's queries."""
    import json

    from pipeline.errors import explained
    from pipeline.explore.log_coverage import Settings, check_quantile
    from pipeline.formats.jsonl import write_texts
    from pipeline.formats.query_logs import read_log
    from pipeline.goldset.gold_path import check_apart
    from pipeline.report.drift_text import advice, lines
    from pipeline.score.runs import load_gold
    from pipeline.text.display import printable

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
    _warn(loaded)


def _compare(
    gold: Gold,
    log: Log,
    settings: Settings,
    *,
    system: str | None,
    config: Path | None,
    answers: Path | None,
) -> dict[str, Any]:
    from pipeline.explore.log_coverage import drift as compare

    if system is None:
        return compare(gold, log, settings)
    from pipeline.bench.bench_file import load_bench
    from pipeline.retrieval.system_settings import Vectors
    from pipeline.systems import open_systems

    bench = load_bench(config, level=1) if config else None
    home = gold.path if gold.path.is_dir() else gold.path.parent
    with open_systems(
        [system],
        bench.described if bench else None,
        config=bench.config if bench else None,
        answers=answers or answers_beside(home),
        where=config or "--system",
        folder=bench.folder if bench else None,
    ) as opened:
        if not isinstance(opened.settings[system], Vectors):
            problem = "its scores are no cosines; give a system of vectors, as lsi or embedding"
            raise UsageError(f"--system {system}: {problem}")
        return compare(gold, log, settings, vectors=(system, opened.retriever(system)))


def _warn(gold: Gold) -> None:
    from pipeline.goldset.gold_path import metadata_of

    if metadata_of(gold.path).get("evidence_level") == "smoke":
        typer.echo(
            "Warning: the gold set's queries are simulated from its passages and nearer to them than people's are; so "
            "are the thresholds read off them.",
            err=True,
        )
