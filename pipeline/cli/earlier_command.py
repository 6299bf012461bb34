"""The command ``goldset``, as the project was called: says where it went, to those who have used it."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from goldbench.pipeline.goldset.file_names import MANIFEST

_PLACES = ("", "runs", "data/runs")
"""Where run folders lie below a folder that is searched."""
_SEARCHED = 1000
"""Most entries of one folder that are looked at."""
_EARLIER_MANIFEST = re.compile(rb'\s*\{\s*"format"\s*:\s*\d+\s*,\s*"goldset"\s*:')
"""The beginning of a manifest of that name."""


def main() -> None:
    """Print the command to type instead, if a run folder of the earlier name is near; else what a shell prints."""
    arguments = sys.argv[1:]
    if any(map(_is_earlier_run, _folders(arguments))):
        sys.stderr.write(f"goldset is now called goldbench: {quoted(['goldbench', *arguments])}\n")
        sys.exit(2)
    sys.stderr.write("goldset: command not found\n")
    sys.exit(127)


def quoted(arguments: Sequence[str]) -> str:
    """Return the arguments as a shell reads them, on one line of printable characters."""
    return " ".join(shlex.quote(one) if one.isprintable() else _escaped(one) for one in arguments)


def _escaped(argument: str) -> str:
    """Return an argument in the quotes of bash and zsh that know escapes."""
    plain = (chr(byte) if 32 <= byte < 127 and byte not in b"\\'" else f"\\x{byte:02x}" for byte in _bytes(argument))
    return f"$'{''.join(plain)}'"


def _bytes(argument: str) -> bytes:
    return argument.encode("utf-8", "surrogateescape" if os.name != "nt" else "replace")


def _folders(arguments: Sequence[str]) -> Iterator[str]:
    """Yield the folders that may be run folders: this one, those in the arguments, and those a level below each."""
    values = (one.partition("=")[2] for one in arguments if one.startswith("--"))  # --out=DIR
    for base in dict.fromkeys((".", *arguments, *values)):
        yield base
        for place in _PLACES:
            with contextlib.suppress(OSError, ValueError), os.scandir(Path(base, place)) as entries:
                for entry in islice(entries, _SEARCHED):
                    yield entry.path


def _is_earlier_run(folder: str) -> bool:
    path = os.path.join(folder, MANIFEST)  # noqa: PTH118  a thousand of them
    with contextlib.suppress(OSError, ValueError):
        if os.path.isfile(path):  # noqa: PTH113  not a pipe, which would wait for a writer
            with open(path, "rb") as file:  # noqa: PTH123
                return _EARLIER_MANIFEST.match(file.read(1000)) is not None
    return False
