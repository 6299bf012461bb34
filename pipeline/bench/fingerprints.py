"""What shapes a run, as one digest: a run with the same one need not be made again."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.bench.experiment_files import digest_of
from schemas.record import Record

if TYPE_CHECKING:
    from pipeline.bench.bench_file import Bench
    from pipeline.bench.sweeps import Point


def fingerprint_of(bench: Bench, settings: Mapping[str, Any], point: Point, *, queries: str, corpus: str) -> str:
    """Return the SHA-256 of everything that shapes a run.

    Args:
        bench: the experiment.
        settings: of every system by name.
        point: the system.
        queries: the digest of the queries.
        corpus: the digest of the passages.
    """
    own = parts_with_settings(settings, point.system, bench.folder)
    model = bench.config.model.model_dump(mode="json")
    shaping = {
        "goldset": version("goldset"),
        "settings": own,
        "files": [_contents(one, bench.folder) for one in own.values()],
        "model": {key: model[key] for key in ("name", "base_url", "embedding", "dimensions")},
        "depth": bench.depth,
        "queries": queries,
        "corpus": corpus,
    }
    return hashlib.sha256(json.dumps(shaping, sort_keys=True).encode()).hexdigest()


def parts_with_settings(settings: Mapping[str, Any], name: str, folder: Path) -> dict[str, dict[str, Any]]:
    """Return the settings of a system and of every system it is made of, by name, as JSON holds them.

    Args:
        settings: of every system by name.
        name: the system.
        folder: paths below it are given from there, so that they are the same on another machine.
    """
    found: dict[str, dict[str, Any]] = {}
    waiting = [name]
    while waiting:
        one = waiting.pop(0)
        record = settings.get(one)
        if one in found or record is None:
            continue
        table = (
            record.model_dump(mode="json", by_alias=True)
            if isinstance(record, Record)
            else {"object": str(type(record))}
        )
        found[one] = {key: _below(value, folder) for key, value in table.items()}
        for key in ("of", "by"):
            other = table.get(key) or ()
            waiting += [other] if isinstance(other, str) else list(other)
    return found


def _below(value: object, folder: Path) -> object:
    if isinstance(value, list):
        return [_below(one, folder) for one in value]
    return value.removeprefix(f"{folder}{os.sep}") if isinstance(value, str) else value


def digest(texts: Mapping[str, str]) -> str:
    """Return the SHA-256 of texts by id, whatever their order."""
    found = hashlib.sha256()
    for key in sorted(texts):
        for part in (key, texts[key]):
            data = part.encode("utf-8", "surrogatepass")
            found.update(b"%d:" % len(data) + data)
    return found.hexdigest()


def _contents(table: Mapping[str, Any], folder: Path) -> list[str]:
    """Return the digests of the files that settings name, and of a Python module where it can be found."""
    digests = []
    for value in table.values():
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, str) and "\n" not in one and len(one) < 1000:
                is_function = table.get("kind") == "python" and ":" in one
                # A path that was written out begins here, one that is described beside its description.
                paths = _modules(one, folder) if is_function else dict.fromkeys((folder / one, Path.cwd() / one))
                try:
                    digests += [digest_of(path) for path in paths if path.is_file()]
                except (OSError, ValueError):
                    continue  # what cannot be read here is said when the system is built
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
