"""Globs over relative paths with ``/``. Those of the standard library follow links in circles and cannot be pruned."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from pathlib import Path

_WILD = re.compile(r"[*?\[]")


def is_glob(argument: str) -> bool:
    """Whether a path holds a wildcard."""
    return _WILD.search(argument) is not None


class Glob:
    """A pattern: ``*``, ``?`` and ``[…]`` within a name, ``**`` for any folders. ``top`` is its part without wildcards.

    If a folder matches, everything below it matches, as if the shell had expanded the pattern.
    """

    def __init__(self, pattern: str) -> None:
        parts = Path(pattern).parts
        fixed = next(index for index, part in enumerate(parts) if is_glob(part))
        self.top = Path(*parts[:fixed])
        wild = parts[fixed:]
        # «**/**» means «**», and every further «**» would double the number of ways to try.
        self._parts = tuple(
            part for index, part in enumerate(wild) if part != "**" or wild[index - 1 : index] != ("**",)
        )

    def matches(self, relative: str) -> bool:
        """Whether the path below ``top``, or a folder above it, matches."""
        names = tuple(relative.split("/"))
        return any(_fits(self._parts, names[:depth]) for depth in range(1, len(names) + 1))

    def may_hold_matches(self, relative: str) -> bool:
        """Whether something below a folder could match, so that it must be walked."""
        names = tuple(relative.split("/"))
        start = self._parts[: len(names)]
        return "**" in start or _fits(start, names) or self.matches(relative)


def is_matched(pattern: str, path: str) -> bool:
    """Whether a path with ``/``, or a folder above it, matches a pattern, which may be one without wildcards."""
    parts = Path(pattern).parts
    names = tuple(path.split("/"))
    wild = tuple(part for index, part in enumerate(parts) if part != "**" or parts[index - 1 : index] != ("**",))
    return any(_fits(wild, names[:depth]) for depth in range(1, len(names) + 1))


def _fits(parts: tuple[str, ...], names: tuple[str, ...]) -> bool:
    if not parts or not names:
        return not parts and not names
    if parts[0] != "**":
        return fnmatchcase(names[0], parts[0]) and _fits(parts[1:], names[1:])
    if len(parts) == 1:
        return True
    return any(_fits(parts[1:], names[skipped:]) for skipped in range(len(names)))
