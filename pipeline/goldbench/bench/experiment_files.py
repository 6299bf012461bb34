"""The files of an experiment: runs, times and tables; and everything that shapes a run, as one digest.

A run with the same fingerprint need not be made again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from goldbench import __version__
from goldbench.bench.bench_file import Bench, Point
from goldbench.errors import InputError, ModelUnavailable, explained
from goldbench.formats.runs.scorecard_files import write_record, write_whole
from goldbench.formats.runs.trec import write_run
from goldbench.generate.writers import with_local_models
from goldbench.goldset.publication import sha256_of
from goldbench.records.experiment import SystemMeasurement
from goldbench.records.record import Record
from goldbench.retrieval.system_settings import SystemSettings
from goldbench.systems.resolution import reached

RUNS = "runs"
TIMES = "timings"

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
    for subfolder in (folder / RUNS, folder / TIMES):
        with explained(subfolder):
            subfolder.mkdir(parents=True, exist_ok=True)


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


def fingerprint_of(
    bench: Bench, settings: Mapping[str, SystemSettings], point: Point, *, queries: str, corpus: str
) -> str:
    """Return the SHA-256 of everything that shapes a run.

    Args:
        bench: The experiment.
        settings: The settings of every system by name.
        point: The system.
        queries: The digest of the queries.
        corpus: The digest of the passages.
    """
    own = parts_with_settings(settings, point.system, bench.folder)
    config = bench.config
    with contextlib.suppress(InputError, ModelUnavailable):  # a system that asks the model will say so
        config = with_local_models(config, runs=False)
    model = config.model.model_dump(mode="json")
    shaping = {
        "goldbench": __version__,
        "settings": own,
        "files": [_contents(system_settings, bench.folder) for system_settings in own.values()],
        "model": {key: model[key] for key in ("name", "base_url", "embedding", "dimensions")},
        "depth": bench.depth,
        "queries": queries,
        "corpus": corpus,
    }
    return hashlib.sha256(json.dumps(shaping, sort_keys=True).encode()).hexdigest()


def parts_with_settings(settings: Mapping[str, SystemSettings], name: str, folder: Path) -> dict[str, dict[str, Any]]:
    """Return the settings of a system and of every system it is made of, by name, as JSON holds them.

    Args:
        settings: The settings of every system by name.
        name: The system.
        folder: Paths in it are given relative to it, so that they are the same on another machine.
    """
    return {
        part: {
            key: _below(value, folder) for key, value in settings[part].model_dump(mode="json", by_alias=True).items()
        }
        for part in reached([name], settings)
    }


def _below(value: object, folder: Path) -> object:
    if isinstance(value, list):
        return [_below(item, folder) for item in value]
    return value.removeprefix(f"{folder}{os.sep}") if isinstance(value, str) else value


def digest(texts: Mapping[str, str]) -> str:
    """Return the SHA-256 of texts by id, whatever their order."""
    hashed = hashlib.sha256()
    for key in sorted(texts):
        for part in (key, texts[key]):
            data = part.encode("utf-8", "surrogatepass")
            hashed.update(b"%d:" % len(data) + data)
    return hashed.hexdigest()


def _contents(table: Mapping[str, Any], folder: Path) -> list[str]:
    """Return the digests of the files that settings name, and of a Python module if it can be found."""
    digests = []
    for value in table.values():
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, str) and "\n" not in item and len(item) < 1000:
                is_function = table.get("kind") == "python" and ":" in item
                # A path of the command line begins here, a path of a file beside that file.
                paths = _modules(item, folder) if is_function else dict.fromkeys((folder / item, Path.cwd() / item))
                try:
                    digests += [sha256_of(path) for path in paths if path.is_file()]
                except (OSError, ValueError):
                    continue  # building the system reports a file that cannot be read
    return digests


def _modules(function: str, folder: Path) -> Iterator[Path]:
    """Yield the file of ``package.module:function``, and those of its package, without running any of them."""
    package, *below = function.partition(":")[0].split(".")
    roots = (root / package for root in (folder, Path.cwd(), *map(Path, sys.path)))
    for root in roots:
        if root.is_dir() and (below or (root / "__init__.py").is_file()):
            yield from sorted(root.rglob("*.py"))
            return
        if root.with_suffix(".py").is_file():
            yield root.with_suffix(".py")
            return
