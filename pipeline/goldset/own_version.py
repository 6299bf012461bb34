"""The version of goldbench, which every set names."""

from __future__ import annotations

import sys
from pathlib import Path

_BEGINS, _ENDS = "goldbench-", ".dist-info"


def own_version() -> str:
    """Return the version of the installed distribution, or of the checkout that is used without one."""
    for folder in sys.path:  # the name of the folder says it; reading its files takes 40 ms of imports
        for found in Path(folder).glob(f"{_BEGINS}*{_ENDS}"):
            return found.name.removeprefix(_BEGINS).removesuffix(_ENDS)
    return _version_elsewhere()


def _version_elsewhere() -> str:
    import tomllib
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("goldbench")
    except PackageNotFoundError:
        declared = Path(__file__).resolve().parents[2] / "pyproject.toml"
        if not declared.is_file():
            return "unknown"
        return str(tomllib.loads(declared.read_text(encoding="utf-8"))["project"]["version"])
