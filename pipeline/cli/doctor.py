"""``goldbench doctor``: what is configured and what can be reached."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from goldbench.pipeline.cli.options import console_for, takes

if TYPE_CHECKING:
    from goldbench.pipeline.config import Config


@takes("model.name", "model.base_url")
def doctor(settings: Config) -> None:
    """Check the configuration and the model server.

    Also lists the local servers that listen.
    """
    import asyncio

    from goldbench.pipeline.build.diagnosis import examine

    healthy = True
    console = console_for()
    for finding in asyncio.run(examine(settings)):
        healthy = healthy and finding.good is not False
        mark = {True: "ok  ", False: "bad ", None: "    "}[finding.good]
        console.print(f"{mark}{finding.what}: {finding.says}")
    if not healthy:
        raise typer.Exit(1)
