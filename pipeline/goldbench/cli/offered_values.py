"""What the shell is offered for a value: systems, measures, and folders of gold sets."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from goldbench.goldset.file_names import DATASET

_FOLDERS = frozenset({"GOLD", "DIR", "A", "B"})
"""Names of arguments that are folders of gold sets."""


def completion_of(option: str, metavar: str | None) -> Callable[[str], list[str]] | None:
    """Return what completes the value of an option or an argument; None leaves it to the shell, which knows files.

    Args:
        option: The option, as ``--system``, or an empty text for an argument.
        metavar: What the help calls the value.
    """
    if not option:
        return sets if metavar in _FOLDERS else None
    return {"--system": systems, "--measure": measures, "--retriever": systems}.get(option)


def systems(incomplete: str) -> list[str]:
    """Return the retrieval systems that need no description and begin so."""
    from goldbench.retrieval.system_settings import PRESETS

    return [name for name in PRESETS if name.startswith(incomplete)]


def measures(incomplete: str) -> list[str]:
    """Return the measures that begin so; behind a comma, the next one of a list."""
    from goldbench.measures.names import DEFAULT, FAMILIES

    before, comma, last = incomplete.rpartition(",")
    every = dict.fromkeys([*DEFAULT, *(f"{name}@10" for name, one in FAMILIES.items() if one.cutoff != "none")])
    every |= dict.fromkeys(name for name, one in FAMILIES.items() if one.cutoff != "required")
    return [f"{before}{comma}{name}" for name in every if name.startswith(last)]


def sets(incomplete: str) -> list[str]:
    """Return the folders that begin so: those of gold sets, and with a slash those that may hold some."""
    return list(_folders(incomplete))


def _folders(incomplete: str) -> Iterator[str]:
    place, beginning = os.path.split(incomplete)
    try:
        with os.scandir(place or ".") as entries:
            names = sorted(entry.name for entry in entries if entry.is_dir())
    except OSError:
        return
    for name in names:
        if name.startswith(beginning) and (beginning or not name.startswith(".")):
            path = os.path.join(place, name)  # noqa: PTH118  as typed
            holds = os.path.isfile(os.path.join(path, DATASET))  # noqa: PTH113, PTH118
            yield path if holds else f"{path}/"
