"""The files of an experiment: runs, what shaped each of them, times and tables."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path

from pydantic import ValidationError

from goldbench.errors import explained
from goldbench.formats.runs.scorecard_files import write_record, write_whole
from goldbench.formats.runs.trec import write_run
from goldbench.goldset.publication import sha256_of
from goldbench.records.experiment import SystemMeasurement
from goldbench.records.record import Record

RUNS, TIMES = "runs", "timings"

_UNSAFE = re.compile(r"[^\w.=,\[\]+-]", re.ASCII)
_LONGEST_NAME = 120
"""Characters of a system's name in its file's name; a longer name is cut and gets a digest."""


def file_name(system: str) -> str:
    """Return the name of a system's files, without suffix: its own if it can be one, else with a digest of its own."""
    safe = _UNSAFE.sub("_", system)
    if safe == system and len(safe) <= _LONGEST_NAME and safe[:1] not in ".-":
        return safe
    return f"{safe[:_LONGEST_NAME].lstrip('.-') or 'system'}-{hashlib.sha256(system.encode()).hexdigest()[:8]}"


def run_path(folder: Path, system: str) -> Path:
    """Return the path of a system's run."""
    return folder / RUNS / f"{file_name(system)}.trec"


def timing_path(folder: Path, system: str) -> Path:
    """Return the path of a system's times."""
    return folder / TIMES / f"{file_name(system)}.json"


def earlier(folder: Path, system: str, fingerprint: str) -> SystemMeasurement | None:
    """Return the record of a finished run that can be used again, or None.

    Args:
        folder: The folder of the experiment.
        system: The system.
        fingerprint: What the run must have been made from; its file must be as it was written.
    """
    try:
        known = SystemMeasurement.model_validate_json(timing_path(folder, system).read_bytes())
        if known.fingerprint == fingerprint and known.run_sha256 == sha256_of(run_path(folder, system)):
            return known
    except (OSError, ValidationError):
        pass  # a file that is missing or damaged is made again
    return None


def write_measured(folder: Path, run: Mapping[str, Mapping[str, float]], known: SystemMeasurement) -> SystemMeasurement:
    """Write a run and then, beside it, the record that it is finished; return the record with the run's digest.

    Args:
        folder: The folder of the experiment.
        run: Scores by query and document.
        known: The record, still without the digest.

    Raises:
        OutputError: A file cannot be written.
    """
    path = run_path(folder, known.system)
    make_folders(folder)
    with explained(path):
        write_run(path, run, tag=known.system)
        finished = known.model_copy(update={"run_sha256": sha256_of(path)})
    write_record(timing_path(folder, known.system), finished)
    return finished


def make_folders(folder: Path) -> None:
    """Make the folders of an experiment, so that one that cannot be written to is refused before the first search.

    Raises:
        OutputError: They cannot be made.
    """
    for one in (folder / RUNS, folder / TIMES):
        with explained(one):
            one.mkdir(parents=True, exist_ok=True)


def write_tables(folder: Path, records: Mapping[str, Record], texts: Mapping[str, str]) -> None:
    """Write files by name.

    Args:
        folder: The folder of the experiment.
        records: Records to write as JSON.
        texts: Texts to write as they are.

    Raises:
        OutputError: A file cannot be written.
    """
    for name, record in records.items():
        write_record(folder / name, record)
    for name, text in texts.items():
        write_whole(folder / name, text.encode("utf-8", "replace"))
