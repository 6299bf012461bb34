"""Globs over ``/``-separated relative paths; the standard library's follow links in circles and cannot be pruned."""

from __future__ import annotations

import re
from pathlib import Path

_WILD = re.compile(r"[*?\[]")


def is_glob(given: str) -> bool:
    """Whether a path holds a wildcard."""
    return _WILD.search(given) is not None


class Glob:
    """A pattern: ``*``, ``?`` and ``[…]`` within a name, ``**`` for any folders. ``top`` is its part without wildcards.

    A folder that matches stands for everything below it, as it would if the shell had expanded the pattern.
    """

    def __init__(self, pattern: str) -> None:
        parts = Path(pattern).parts
        fixed = next(index for index, part in enumerate(parts) if is_glob(part))
        self.top = Path(*parts[:fixed])
        self._parts = parts[fixed:]
        self._whole = _regex(self._parts)

    def matches(self, relative: str) -> bool:
        """Whether the path below ``top``, or a folder above it, matches."""
        names = relative.split("/")
        return any(self._whole.fullmatch("/".join(names[:depth])) for depth in range(1, len(names) + 1))

    def may_hold_matches(self, relative: str) -> bool:
        """Whether a folder is worth walking: something below it could match."""
        depth = relative.count("/") + 1
        start = self._parts[:depth]
        return "**" in start or _regex(start).fullmatch(relative) is not None or self.matches(relative)


def _regex(parts: tuple[str, ...]) -> re.Pattern[str]:
    pieces = []
    for part in parts[:-1]:
        pieces.append(r"(?:[^/]+/)*" if part == "**" else _name(part) + "/")
    pieces.append(r".+" if parts[-1] == "**" else _name(parts[-1]))
    return re.compile("".join(pieces), re.DOTALL)


def _name(part: str) -> str:
    return "".join(_piece(piece) for piece in re.findall(r"\[!?\]?[^\]]*\]|[*?]|[^*?\[]+|\[", part))


def _piece(piece: str) -> str:
    if piece[0] != "[" or len(piece) < 3:
        return {"*": "[^/]*", "?": "[^/]"}.get(piece, re.escape(piece))
    body = re.sub(r"([\\^\[\]&~|])", r"\\\1", piece[1:-1].removeprefix("!"))
    return f"[^{body}/]" if piece[1] == "!" else f"[{body}]"
