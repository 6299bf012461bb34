"""``goldbench models``: models that this machine can run itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from goldbench.cli.options import BareGroup, subcommands
from goldbench.cli.output import screen
from goldbench.errors import ModelUnavailable, UsageError

if TYPE_CHECKING:
    from goldbench.llm.catalogue import Offered

_USUAL_MEGABYTES = 4000
"""The free memory of a machine that does not tell it."""

app = subcommands("List or download models for this machine.\n\n`goldbench models` is short for list.", cls=BareGroup)


@app.command("list")
def list_models() -> None:
    """List models that this machine can download.

    Each runs without a server and without a network. Any other GGUF file does, too: --model path/to/model.gguf.
    The one with a * suits this machine, by the memory that is free and its processor cores.
    """
    from goldbench.llm.catalogue import CATALOGUE, LICENCE, recommended
    from goldbench.llm.local.machine import Machine
    from goldbench.processes.own_process import usable_processors

    best = recommended(megabytes=Machine.now().memory or _USUAL_MEGABYTES, cores=usable_processors())
    head = ("name", "MB", "memory", "languages", "licence", "state", "SHA-256", "file")
    rows, records = [head], []
    for one in CATALOGUE:
        memory, file = f"{one.memory_megabytes / 1000:.1f} GB", f"{one.repository}/{one.file}".lstrip("/")
        cells = (f"{one.megabytes:,}", memory, _languages(one), LICENCE, _state(one))
        rows.append((f"{one.name} *" if one is best else one.name, *cells, one.sha256[:12], file))
        records.append(dict(zip(head, (one.name, *cells, one.sha256, file), strict=True)))
    screen.add(models=records, recommended=best.name)
    screen.table(rows)


@app.command()
def pull(name: Annotated[str, typer.Argument(metavar="NAME", help="A model of goldbench models.")]) -> None:
    """Download a model into the Hub's cache.

    A download that was cut goes on where it ended, and is checked by its SHA-256.
    """
    from goldbench.llm.catalogue import CATALOGUE, offered
    from goldbench.llm.local.download import pull as download
    from goldbench.llm.local.model_file import bundled_file

    chosen = offered(name)
    if chosen is None:
        names = ", ".join(one.name for one in CATALOGUE)
        raise UsageError(f"not a model of the catalogue: {name}; give one of {names}")
    path = download(chosen) if chosen.repository else bundled_file()
    screen.add(path=str(path), model=chosen.name)
    screen.show(str(path), f"Use it with --model {chosen.name}")


def _languages(model: Offered) -> str:
    first = ", ".join(model.languages[:4])
    return f"{first} + {len(model.languages) - 4}" if len(model.languages) > 4 else first or "over 100"


def _state(model: Offered) -> str:
    from goldbench.errors import MissingExtra
    from goldbench.llm.local.download import cached
    from goldbench.llm.local.model_file import bundled_file

    try:
        if model.repository:
            return "downloaded" if cached(model) else "-"
        bundled_file()
    except (MissingExtra, ModelUnavailable):
        return "-"
    return "installed"
