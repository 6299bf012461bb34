"""``goldbench version``: the version of a gold set."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from goldbench.pipeline.cli.options import output_option
from goldbench.pipeline.cli.output import screen


def version(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a gold set.")],
    new: Annotated[str | None, output_option("--set", metavar="X.Y.Z", help="Give the set this later version.")] = None,
) -> None:
    """Show or set the version of a gold set.

    Prints the changelog: what each version changed, the newest first. A set has the version 1.0.0 at first; when it is
    replaced in its folder, changed passages raise the first number, changed queries the second, changed labels the
    third. With --set it gets a version of its own.
    """
    from goldbench.pipeline.goldset.chosen_version import set_version
    from goldbench.pipeline.goldset.folder import GoldFolder
    from goldbench.pipeline.goldset.set_versions import changelog

    if new is not None:
        set_version(folder, new)
    versions = GoldFolder(folder).manifest().versions
    if not versions:
        screen.show(f"{folder}: has no version; its next change makes it 1.0.0, or give one with --set")
    screen.add(versions=[one.model_dump(mode="json") for one in versions])
    screen.show(*(changelog(versions) if versions else ()), indent="  ")
