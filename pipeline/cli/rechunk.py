"""``goldset rechunk``: a gold set on another chunking, so that chunkings can be compared."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipeline.cli.options import chunk_option, output_option
from pipeline.goldset.file_names import DATASET, REJECTIONS

SHOWN = 10
"""How many queries that were left out are named."""


def rechunk(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a gold set.")],
    chunk_size: Annotated[int, chunk_option("--chunk-size", metavar="N", help="Characters per chunk.")],
    chunk_overlap: Annotated[
        int | None,
        chunk_option("--chunk-overlap", metavar="N", help="Characters shared by neighbours (default: size / 10)."),
    ] = None,
    out: Annotated[
        Path | None, output_option("--out", metavar="DIR2", help="Output folder (default: DIR-SIZE-OVERLAP).")
    ] = None,
    replace: Annotated[bool, output_option("--replace", help="Replace a set with other settings in DIR2.")] = False,
) -> None:
    """Move a gold set to another chunking.

    The queries and the documents stay the same, and no model is called. Retrievers on both chunkings can be compared.
    """
    from pipeline.goldset.projection import write_rechunked
    from pipeline.text.display import amount, queries

    overlap = chunk_size // 10 if chunk_overlap is None else chunk_overlap
    place = out or folder.with_name(f"{folder.name}-{chunk_size}-{overlap}")
    outcome = write_rechunked(folder, place, size=chunk_size, overlap=overlap, replace=replace)
    typer.echo(f"{queries(outcome.manifest.queries)} in {place / DATASET}")
    if outcome.passages_lost:
        typer.echo(
            f"{amount(outcome.passages_lost, 'relevant passage')} beside the source in no chunk as evidence, "
            "so without a label",
            err=True,
        )
    for query_id, reason in list(outcome.left_out.items())[:SHOWN]:
        typer.echo(f"left out {query_id}: {reason}", err=True)
    if len(outcome.left_out) > SHOWN:
        typer.echo(f"and {len(outcome.left_out) - SHOWN:,} more, all in {place / REJECTIONS}", err=True)
