"""The folder of an experiment: runs, what made each of them, times, tables; and published tables from files."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from pipeline.errors import InputError, OutputError, explained
from pipeline.formats.runs.json_maps import read_json
from pipeline.formats.runs.packed_files import Source
from pipeline.formats.runs.run_files import write_run
from pipeline.formats.runs.scorecard_files import write_record, write_whole
from pipeline.text.display import shown
from schemas.experiment import Measured
from schemas.record import Record

RUNS, TIMES = "runs", "timings"

_UNSAFE = re.compile(r"[^\w.=,\[\]+-]", re.ASCII)
_LONGEST_NAME = 120
_IDS = ("chunk_id", "_id", "id", "doc_id")
_TEXTS = ("text", "contents", "content")


def file_name(system: str) -> str:
    """Return a file's name, without suffix, for a system: its own where that is one, else with a mark of its own."""
    safe = _UNSAFE.sub("_", system)
    if safe == system and len(safe) <= _LONGEST_NAME and safe[:1] not in ".-":
        return safe
    return f"{safe[:_LONGEST_NAME].lstrip('.-') or 'system'}-{hashlib.sha256(system.encode()).hexdigest()[:8]}"


def run_path(folder: Path, system: str) -> Path:
    """Return where the run of a system lies."""
    return folder / RUNS / f"{file_name(system)}.trec"


def timing_path(folder: Path, system: str) -> Path:
    """Return where it is written how long a system took."""
    return folder / TIMES / f"{file_name(system)}.json"


def earlier(folder: Path, system: str, fingerprint: str) -> Measured | None:
    """Return what is known of a finished run that still is what it was made as; None where it has to be made."""
    try:
        known = Measured.model_validate_json(timing_path(folder, system).read_bytes())
        if known.fingerprint == fingerprint and known.run_sha256 == digest_of(run_path(folder, system)):
            return known
    except (OSError, ValidationError):
        pass  # nothing that could be used again is as good as nothing
    return None


def write_measured(folder: Path, run: Mapping[str, Mapping[str, float]], known: Measured) -> Measured:
    """Write a run and then, beside, that it is finished; return the latter with the digest of the run.

    Raises:
        OutputError: A file cannot be written.
    """
    path, beside = run_path(folder, known.system), timing_path(folder, known.system)
    make_folders(folder)
    with explained(path):
        write_run(path, run, tag=known.system)
        finished = known.model_copy(update={"run_sha256": digest_of(path)})
    write_record(beside, finished)
    return finished


def make_folders(folder: Path) -> None:
    """Make the folders of an experiment, so that one that cannot be written to is refused before the first search.

    Raises:
        OutputError: They cannot be made.
    """
    for one in (folder / RUNS, folder / TIMES):
        with explained(one):
            one.mkdir(parents=True, exist_ok=True)


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file's bytes.

    Raises:
        OSError: It cannot be read.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_tables(folder: Path, records: Mapping[str, Record], texts: Mapping[str, str]) -> list[Path]:
    """Write records as JSON and texts as they are, by file name; return the paths.

    Raises:
        OutputError: A file cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{shown(folder)}: cannot be made ({(error.strerror or 'unknown reason').lower()})") from None
    for name, record in records.items():
        write_record(folder / name, record)
    for name, text in texts.items():
        write_whole(folder / name, text.encode("utf-8", "replace"))
    return [folder / name for name in (*records, *texts)]


def read_published(path: Path) -> dict[str, Any]:
    """Return a published table: TOML or JSON by system and measure, CSV with columns system, measure, value.

    Raises:
        InputError: It cannot be read as one.
    """
    source = Source(path)
    if source.suffix == ".csv":
        return _published_rows(source)
    if source.suffix == ".json":
        found = read_json(source)
    else:
        try:
            found = tomllib.loads(source.read().decode())
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise InputError(source.name, f"is not TOML: {error}") from None
        found = found.get("published", found)
    if not isinstance(found, dict):
        raise InputError(source.name, "is no table of systems with their figures")
    return found


def _published_rows(source: Source) -> dict[str, Any]:
    table: dict[str, dict[str, float]] = {}
    try:
        rows = list(csv.DictReader(io.StringIO(source.read().decode("utf-8-sig"))))
    except UnicodeDecodeError:
        raise InputError(source.name, "is not UTF-8") from None
    except csv.Error as error:
        raise InputError(source.name, f"is malformed: {error}") from None
    for number, row in enumerate(rows, 2):
        try:
            table.setdefault(str(row["system"]), {})[str(row["measure"])] = float(row["value"])
        except (KeyError, TypeError, ValueError):
            raise InputError(source.name, "give columns system, measure and value, a number", line=number) from None
    return table


def read_passages(path: Path) -> dict[str, str]:
    """Return passages by id: JSON Lines as ``goldset chunk`` and BEIR write them, or a ``dataset.json``.

    Raises:
        InputError: It cannot be read, a line has no id or text, or an id comes twice.
    """
    if path.suffix == ".json":
        found = read_json(Source(path))
        corpus = found.get("corpus") if isinstance(found, dict) else None
        if not isinstance(corpus, dict) or not all(isinstance(text, str) for text in corpus.values()):
            raise InputError(shown(path), "holds no corpus of texts by id")
        return corpus
    passages: dict[str, str] = {}
    for number, record in _lines(path):
        identity = next((record[key] for key in _IDS if key in record), None)
        text = next((record[key] for key in _TEXTS if key in record), None)
        if not isinstance(identity, str) or not isinstance(text, str):
            raise InputError(shown(path), "has no chunk_id or no text that is a string", line=number)
        if identity in passages:
            raise InputError(shown(path), f"the id {identity[:80]!r} comes twice", line=number)
        passages[identity] = text
    if not passages:
        raise InputError(shown(path), "holds no passage")
    return passages


def _lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    with Source(path).open() as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                record = json.loads(line)
            except (ValueError, RecursionError):
                raise InputError(shown(path), "is no JSON", line=number) from None
            if not isinstance(record, dict):
                raise InputError(shown(path), "is no JSON object", line=number)
            yield number, record
