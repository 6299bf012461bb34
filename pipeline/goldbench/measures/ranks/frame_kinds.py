"""Tells frames of pandas and polars from everything else without importing either."""

from __future__ import annotations

from typing import Literal

Library = Literal["pandas", "polars"]


def library_of(thing: object, kind: str = "DataFrame") -> Library | None:
    """Return the library that a frame, or another class of that name, belongs to; None for anything else."""
    roots = (one.__module__.partition(".")[0] for one in type(thing).__mro__ if one.__name__ == kind)
    found = next((root for root in roots if root in {"pandas", "polars"}), None)
    return "pandas" if found == "pandas" else "polars" if found else None
