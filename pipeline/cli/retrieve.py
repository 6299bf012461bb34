"""``goldset retrieve``: a retrieval system over the corpus of a gold set, its results as a TREC run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.errors import InputError, UsageError
from pipeline.goldset.file_names import DATASET, RUNS, answers_beside
from pipeline.retrieval.analyzer_names import Analyzer
from pipeline.text.display import one_line

if TYPE_CHECKING:
    from pipeline.bench.bench_file import Bench
    from pipeline.score.runs import Gold

SYSTEM = (
    "bm25, ngrams, lsi, embedding, hybrid, one that --config describes, elasticsearch://HOST:9200, opensearch://…, "
    "python:MODULE:FUNCTION, http://… or run:FILE."
)


def retrieve(
    gold: Annotated[str, typer.Argument(metavar="GOLD", help=f"The folder of a build, {DATASET} or a BEIR folder.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="Where the run goes, as TREC; - is stdout.")
    ],
    system: Annotated[str, typer.Option("--system", metavar="NAME", help=SYSTEM)] = "bm25",
    config: Annotated[Path | None, typer.Option("--config", "-c", metavar="FILE", help="A bench.toml.")] = None,
    change: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A parameter, also of a part: bm25.k1=0.9. Repeatable."),
    ] = None,
    k: Annotated[int, typer.Option("--k", metavar="N", min=1, help="Passages per query.")] = 100,
    analyzer: Annotated[Analyzer | None, typer.Option(help="As --set analyzer=: how texts are cut (unicode).")] = None,
    language: Annotated[
        str | None, typer.Option(metavar="L", help="As --set language=: stem, drop function words; as en.")
    ] = None,
    k1: Annotated[float | None, typer.Option("--k1", min=0, help="As --set k1=: saturation of BM25 (1.2).")] = None,
    b: Annotated[float | None, typer.Option("--b", min=0, max=1, help="As --set b=: weight of length (0.75).")] = None,
    answers: Annotated[Path | None, typer.Option(metavar="FILE", help="The store of model answers.")] = None,
    replay: Annotated[bool, typer.Option("--replay", help="Answer from the store alone; no network.")] = False,
) -> None:
    """Retrieve for every query of a gold set, and write a run."""
    from pipeline.errors import explained
    from pipeline.formats.runs.trec import write_run
    from pipeline.goldset.gold_path import check_apart
    from pipeline.score.runs import load_gold
    from pipeline.systems import open_systems

    home = Path(gold) if Path(gold).is_dir() else Path(gold).parent
    target = None if str(output) == "-" else output
    if target and target.resolve().is_relative_to(Path(gold).resolve()) and target.parent.name != RUNS:
        raise UsageError(f"{output}: inside a build, runs go into its folder {RUNS}/")
    check_apart({"--output": target}, [config] if config else [])
    shorthands = {"analyzer": analyzer, "language": language, "k1": k1, "b": b}
    changes = [f"{key}={value}" for key, value in shorthands.items() if value is not None] + (change or [])
    bench = _described(config) if config else None
    with open_systems(
        [system],
        bench.described if bench else None,
        config=bench.config if bench else None,
        answers=answers or answers_beside(home),
        replay=replay,
        overrides=changes,
        where=config or "command line",
        folder=bench.folder if bench else None,
    ) as systems:
        queries, corpus = _texts(load_gold(gold))
        retriever = systems.retriever(system)
        retriever.index(corpus)
        run = retriever.search(queries, k=k)
    with explained(output):
        if target:
            target.parent.mkdir(parents=True, exist_ok=True)
        lines = write_run(target, run, tag=_tag(system))
    where = f"in {target}" if target else "on standard output"
    typer.echo(f"{lines:,} results for {len(queries):,} queries {where}", err=target is None)


def _described(config: Path) -> Bench:
    """Return what a ``bench.toml`` describes; imported only where there is one, because it knows measures and tests."""
    from pipeline.bench.bench_file import load_bench

    return load_bench(config, level=1)


def _texts(gold: Gold) -> tuple[dict[str, str], dict[str, str]]:
    """Return the texts of queries and passages.

    Raises:
        InputError: There are none, or an id cannot stand in a run.
    """
    queries, corpus = gold.queries(), gold.corpus()
    if not queries and not gold.qrels:
        raise InputError(gold.path, "holds 0 queries: there is nothing to retrieve for")
    if not queries and not corpus:
        raise InputError(
            gold.path, "holds no texts of queries and passages to retrieve from; name the folder of a build"
        )
    if not queries:
        raise InputError(gold.path, "holds no texts of queries; name the folder of a build")
    if not corpus:
        raise InputError(gold.path, "holds no texts of passages to retrieve from; name the folder of a build")
    for one in (*queries, *corpus):
        if one.split() != [one]:
            raise InputError(gold.path, f"the id {one[:80]!a} has white space, which no run can hold")
    return queries, corpus


def _tag(system: str) -> str:
    """Return the name of a system as it stands in a run: without white space."""
    return "_".join(one_line(system).split()) or "system"
