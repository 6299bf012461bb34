"""The versions of Python and of the packages that decide on texts, passages and scores; every node must have them."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, requires, version

_REQUIREMENT = re.compile(r"[\w.-]+")
_OTHER_EXTRA = re.compile(r"""extra\s*==\s*["'](?!cjk|documents)""")
"""The marker of a package for an extra whose packages decide on neither texts nor terms."""
PYTHON = "Python"


def deciding_versions() -> dict[str, str]:
    """Return the versions that all nodes must share: of Python, Ray and goldbench, and of what it needs.

    These are the packages that goldbench names without extras and for the extras ``cjk`` and ``documents``.
    """
    lines = [line for line in requires("goldbench") or () if not _OTHER_EXTRA.search(line)]
    names = [match[0] for line in lines if (match := _REQUIREMENT.match(line))]
    return versions_here((PYTHON, "ray", "goldbench", *names))


def versions_here(names: Iterable[str]) -> dict[str, str]:
    """Return the versions of these packages on this machine; ``none`` for one that is missing."""
    return {name: platform.python_version() if name == PYTHON else _version(name) for name in names}


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "none"
