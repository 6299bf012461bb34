"""The version of goldbench, which every set names."""

from __future__ import annotations

import tomllib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


def own_version() -> str:
    """Return the version of the installed distribution, or of the checkout that is used without one."""
    try:
        return version("goldbench")
    except PackageNotFoundError:
        declared = Path(__file__).resolve().parents[2] / "pyproject.toml"
        if not declared.is_file():
            return "unknown"
        return str(tomllib.loads(declared.read_text(encoding="utf-8"))["project"]["version"])
