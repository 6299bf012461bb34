"""``goldset retrieve``: a retrieval system over the corpus of a gold set, its results as a TREC run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipeline.errors import InputError, UsageError
from pipeline.retrieval.names import Analyzer, System


def retrieve(
    gold: Annotated[str, typer.Argument(metavar="GOLD", help="The folder of a build, dataset.json or a BEIR folder.")],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Where the run goes, as TREC.")],
    system: Annotated[System, typer.Option("--system", help="What retrieves.")] = System.BM25,
    k: Annotated[int, typer.Option("--k", metavar="N", min=1, help="Passages per query.")] = 100,
    analyzer: Annotated[Analyzer, typer.Option(help="How texts are cut into terms.")] = Analyzer.UNICODE,
    language: Annotated[
        str | None, typer.Option(metavar="L", help="Stem and drop function words of this language, as en.")
    ] = None,
    k1: Annotated[float, typer.Option("--k1", min=0, help="Saturation of BM25.")] = 1.2,
    b: Annotated[float, typer.Option("--b", min=0, max=1, help="Weight of length in BM25.")] = 0.75,
) -> None:
    """Retrieve for every query of a gold set, and write a run."""
    from pipeline.formats.folder import explained
    from pipeline.formats.run_files import write_run
    from pipeline.retrieval.bm25 import BM25
    from pipeline.retrieval.tokens import tokenizer
    from pipeline.scoring import load_gold

    loaded = load_gold(gold)
    queries, corpus = loaded.queries(), loaded.corpus()
    if not queries or not corpus:
        raise InputError(gold, "holds no texts of queries and passages to retrieve from; name the folder of a build")
    if output.resolve().is_relative_to(Path(gold).resolve()) and output.parent.name != "runs":
        raise UsageError(f"{output}: inside a build, runs go into its folder runs/")
    retriever = BM25(tokens=tokenizer(analyzer, language=language), k1=k1, b=b)
    retriever.index(corpus)
    with explained(output):
        output.parent.mkdir(parents=True, exist_ok=True)
        lines = write_run(output, retriever.search(queries, k=k), tag=system.value)
    typer.echo(f"{lines:,} results for {len(queries):,} queries in {output}")
