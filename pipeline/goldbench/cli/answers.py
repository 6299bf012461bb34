"""``goldbench answers``: inspect and prune stores of model answers."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from goldbench.cli.options import input_option, subcommands
from goldbench.cli.output import screen
from goldbench.goldset.file_names import ANSWERS
from goldbench.text.display import amount, cut, dollars, printable

app = subcommands("Manage a store of model answers.")

_LONGEST_NAME = 100
"""Characters shown of a name from a server; the rest is cut."""

Store = Annotated[Path, typer.Argument(metavar="STORE", help=f"The store, as {ANSWERS} beside a gold set.")]


@app.command()
def stats(store: Store) -> None:
    """Show what a store holds and what it cost."""
    from goldbench.llm.upkeep import stats as look

    report = look(store)
    for held in report.holdings:
        usd = "price unknown" if held.usd is None else dollars(held.usd)
        names = "  ".join(map(_clean, (held.stage, held.prompt, held.model, held.outcome)))
        spent = f"{amount(held.input_tokens, 'token')} in, {held.output_tokens:,} out, {usd}"
        screen.show(f"{names}: {amount(held.answers, 'reply', 'replies')}, {spent}")
    for model, count in report.vectors.items():
        screen.show(f"embeddings  {_clean(model)}: {amount(count, 'vector')}")
    replies = amount(sum(held.answers for held in report.holdings), "reply", "replies")
    screen.add(holdings=[asdict(held) for held in report.holdings], vectors=dict(report.vectors), bytes=report.bytes)
    screen.show(f"{replies}, {amount(report.bytes, 'byte')} in {store}")


@app.command()
def prune(
    store: Store,
    stage: Annotated[str | None, input_option(metavar="NAME", help="Only answers of this stage.")] = None,
    prompt: Annotated[
        str | None, input_option(metavar="ID", help="Only answers to this prompt, as generate.v1.")
    ] = None,
    model: Annotated[str | None, input_option(metavar="M", help="Only answers of this model.")] = None,
    rejected: Annotated[bool, input_option("--rejected", help="Only replies that were rejected.")] = False,
) -> None:
    """Delete the answers that meet every condition."""
    from goldbench.llm.upkeep import prune as throw_away

    count = throw_away(store, stage=stage, prompt=prompt, model=model, rejected=rejected)
    screen.add(deleted=count)
    screen.show(f"{count:,} deleted")


def _clean(name: str) -> str:
    """Return a name from a server or an export, made printable and cut to fit a terminal."""
    return cut(printable(str(name)), _LONGEST_NAME)
