"""Knowledge of text in any language: scripts, words, sentences, stems, languages."""

from __future__ import annotations

from functools import cache
from typing import Any


@cache
def table(name: str) -> dict[str, Any]:
    """Return a table of this package by the name of its file, ``stopwords`` for ``stopwords.toml``."""
    import tomllib  # slow to import, and not every process that touches a document needs a table
    from importlib.resources import files

    return tomllib.loads(files(__name__).joinpath(f"{name}.toml").read_text(encoding="utf-8"))
