"""``goldset answers``: looking after the store of model answers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipeline.goldset.file_names import ANSWERS
from pipeline.text.display import printable

app = typer.Typer(help="Look after a store of model answers.", no_args_is_help=True, rich_markup_mode=None)

_LONGEST_NAME = 100

Store = Annotated[Path, typer.Argument(metavar="STORE", help=f"The store, {ANSWERS} beside a run.")]


@app.command()
def stats(store: Store) -> None:
    """Say what a store holds and what it cost."""
    from pipeline.llm.upkeep import stats as look
    from pipeline.text.display import dollars

    report = look(store)
    for held in report.holdings:
        usd = "price unknown" if held.usd is None else dollars(held.usd)
        names = "  ".join(map(_clean, (held.stage, held.prompt, held.model, held.outcome)))
        spent = f"{held.input_tokens:,} tokens in, {held.output_tokens:,} out, {usd}"
        typer.echo(f"{names}: {held.answers:,} replies, {spent}")
    for model, count in report.vectors.items():
        typer.echo(f"embeddings  {_clean(model)}: {count:,} vectors")
    typer.echo(f"{sum(held.answers for held in report.holdings):,} replies, {report.bytes:,} bytes in {store}")


@app.command()
def prune(
    store: Store,
    stage: Annotated[str | None, typer.Option(help="Only answers of this stage.")] = None,
    prompt: Annotated[str | None, typer.Option(help="Only answers to this prompt, as generate.v1.")] = None,
    model: Annotated[str | None, typer.Option(help="Only answers of this model.")] = None,
    rejected: Annotated[bool, typer.Option("--rejected", help="Only replies that could not be used.")] = False,
) -> None:
    """Throw away the answers that fit every condition."""
    from pipeline.llm.upkeep import prune as throw_away

    count = throw_away(store, stage=stage, prompt=prompt, model=model, rejected=rejected)
    typer.echo(f"{count:,} thrown away")


@app.command("export")
def export_answers(store: Store, out: Annotated[Path, typer.Argument(metavar="FILE")]) -> None:
    """Write every answer as a line of JSON."""
    from pipeline.llm.transfer import write_export

    typer.echo(f"{write_export(store, out):,} written to {out}")


@app.command("import")
def import_answers(store: Store, source: Annotated[Path, typer.Argument(metavar="FILE")]) -> None:
    """Add exported answers; what is there already stays as it is."""
    from pipeline.llm.transfer import import_answers as imported

    typer.echo(f"{imported(store, source):,} new in {store}")


def _clean(name: str) -> str:
    """Return a name that a server or another machine's export gave, fit for a terminal: printable and not too long."""
    shown = printable(str(name))
    return shown if len(shown) <= _LONGEST_NAME else shown[: _LONGEST_NAME - 1] + "…"
