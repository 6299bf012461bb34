"""``goldset doctor``: what is configured and what can be reached."""

from __future__ import annotations

from typing import Annotated

import typer

from pipeline.cli.options import ConfigFile, configured, console_for


def doctor(
    config: ConfigFile = None,
    model: Annotated[str | None, typer.Option(metavar="M", help="The model's name at its server.")] = None,
    base_url: Annotated[str | None, typer.Option(metavar="U", help="Any OpenAI-compatible server.")] = None,
) -> None:
    """Say what is configured, whether the model can be reached, and which local servers listen."""
    import asyncio

    from pipeline.build.diagnosis import examine

    healthy = True
    console = console_for()
    for finding in asyncio.run(examine(configured(config, model={"name": model, "base_url": base_url}))):
        healthy = healthy and finding.good is not False
        mark = {True: "ok  ", False: "bad ", None: "    "}[finding.good]
        console.print(f"{mark}{finding.what}: {finding.says}")
    if not healthy:
        raise typer.Exit(1)
