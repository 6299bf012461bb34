"""The versions of Python and of the packages that decide on texts, passages and scores; every node must have them."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, distribution

_REQUIREMENT = re.compile(r"\s*([\w.-]+)\s*(?:\[([^\]]*)\])?")
_EXTRA = re.compile(r"""extra\s*==\s*["']([\w.-]+)["']""")
_EXTRAS = ("cjk", "documents")
"""The extras of goldbench whose packages decide on texts or terms."""
PYTHON = "Python"


def deciding_versions() -> dict[str, str]:
    """Return the versions that all nodes must share: of Python, Ray and goldbench, and of what decides on its results.

    These are the packages that goldbench needs without extras and for the extras ``cjk`` and ``documents``, and the
    packages that those need in turn, if they are installed.
    """
    return versions_here(("ray",)) | installed_versions("goldbench", _EXTRAS)


def installed_versions(root: str, extras: Iterable[str] = ()) -> dict[str, str]:
    """Return the versions of Python, a package and all that it needs, as far as they are installed.

    Args:
        root: The package.
        extras: Its extras whose packages are included.
    """
    versions = {PYTHON: platform.python_version()}
    seen: set[tuple[str, frozenset[str]]] = set()
    waiting = [(root, frozenset(extras))]
    while waiting:
        name, wanted = waiting.pop()
        if (name, wanted) in seen:
            continue
        seen.add((name, wanted))
        try:
            package = distribution(name)
        except PackageNotFoundError:
            continue
        versions[name] = package.version
        for line in package.requires or ():
            of_extras = set(_EXTRA.findall(line))
            if (match := _REQUIREMENT.match(line)) and (not of_extras or of_extras & wanted):
                more = frozenset(extra.strip() for extra in (match[2] or "").split(",") if extra.strip())
                waiting.append((re.sub(r"[-_.]+", "-", match[1]).lower(), more))
    return versions


def versions_here(names: Iterable[str]) -> dict[str, str]:
    """Return the versions of these packages on this machine; ``none`` for one that is missing."""
    return {name: platform.python_version() if name == PYTHON else _version(name) for name in names}


def _version(name: str) -> str:
    try:
        return distribution(name).version
    except PackageNotFoundError:
        return "none"
