"""Rewritten queries made elsewhere: JSON of the form {query text or id: [rewrites]}."""

from __future__ import annotations

from pathlib import Path

from pipeline.errors import InputError
from pipeline.formats.runs.json_maps import read_json
from pipeline.formats.runs.packed_files import Source
from pipeline.text.display import shown


def read_rewrites(path: Path) -> dict[str, list[str]]:
    """Return the rewrites by the text or the id of their query.

    Raises:
        InputError: the file is missing, no JSON, names a query twice, or has anything but a list of texts for one.
    """
    source = Source(path)
    found = read_json(source)
    if not isinstance(found, dict) or not found:
        raise InputError(source.name, "holds no object of the form {query: [rewrites]}")
    for query, rewrites in found.items():
        if not isinstance(rewrites, list) or not rewrites:
            raise InputError(source.name, f"has no list of rewrites for {shown(query[:80])!r}")
        if not all(isinstance(text, str) and text.strip() for text in rewrites):
            raise InputError(source.name, f"has a rewrite that is empty or no text for {shown(query[:80])!r}")
    return found
