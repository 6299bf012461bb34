"""The versions of Python and of the packages that decide on texts, passages and scores; every node must have them."""

from __future__ import annotations

import platform
import re
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, distribution

_NAME = re.compile(r"[\w.-]+")
PYTHON = "Python"


def installed_versions(*roots: str) -> dict[str, str]:
    """Return the version of Python, of these packages and of all that they need, as far as it is installed.

    Args:
        roots: Packages; those of their extras are among what they need, the extras of other packages are not.
    """
    found = {PYTHON: platform.python_version()}
    waiting = [*roots]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        try:
            package = distribution(name)
        except PackageNotFoundError:
            continue
        found[name] = package.version
        waiting += [
            match[0].lower().replace("_", "-")
            for line in package.requires or ()
            if (match := _NAME.match(line)) and (name in roots or "extra ==" not in line)
        ]
    return found


def versions_here(names: Mapping[str, str]) -> dict[str, str]:
    """Return the versions of the same packages on this machine; ``none`` for one that is missing."""
    return {name: platform.python_version() if name == PYTHON else _version(name) for name in names}


def _version(name: str) -> str:
    try:
        return distribution(name).version
    except PackageNotFoundError:
        return "none"
