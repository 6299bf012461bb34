"""``goldbench export``: a gold set in the files of another tool."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from goldbench.cli.options import beside, output_option
from goldbench.cli.output import screen
from goldbench.exports.tools import Tool


def export(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a gold set, or a BEIR folder.")],
    to: Annotated[Tool, output_option("--to", help="The tool.")],
    out: Annotated[
        Path | None, output_option("--out", "-o", metavar="OUT", help="New file or folder (default: DIR-TOOL).")
    ] = None,
    force: Annotated[bool, output_option("--force", help="Replace a file, or an earlier export in a folder.")] = False,
    push: Annotated[
        str | None, output_option("--push", metavar="USER/NAME", help="With hf: also upload it, as a private data set.")
    ] = None,
) -> None:
    """Write a gold set for another tool.

    The export holds queries, relevant passages with ids and grades, reference answers and their evidence, as far as
    the tool has a place for them. The set is not changed.
    """
    from goldbench.exports.exported_set import read_set
    from goldbench.exports.hub_upload import check_push
    from goldbench.exports.hub_upload import push as upload
    from goldbench.exports.placement import counts, export_set
    from goldbench.exports.targets import TARGETS
    from goldbench.goldset.gold_path import check_apart

    if push is not None:
        check_push(to.value, push)
    target = TARGETS[to]
    place = out or beside(folder, f"-{to.value}{next(iter(target.endings), '')}")
    check_apart({"--out": place}, [folder])
    done = export_set(read_set(folder), to.value, place, force=force)
    screen.note(*done.remarks)
    screen.add(
        to=to.value,
        written=str(done.place),
        queries=len(done.written.queries),
        contexts=done.written.contexts,
        references=done.written.references,
    )
    screen.show(f"{counts(done.written)} in {done.place}")
    if push is not None:
        address = upload(done.place, push)
        screen.add(pushed=address)
        screen.show(f"Uploaded to {address}")
