"""Everything that shapes a run, as one digest: a run with the same fingerprint need not be made again."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from goldbench import __version__
from goldbench.bench.bench_file import Bench, Point
from goldbench.errors import InputError, ModelUnavailable
from goldbench.generate.writers import with_local_models
from goldbench.goldset.publication import sha256_of
from goldbench.retrieval.system_settings import SystemSettings
from goldbench.systems.resolution import reached


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
        "files": [_contents(one, bench.folder) for one in own.values()],
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
        one: {key: _below(value, folder) for key, value in settings[one].model_dump(mode="json", by_alias=True).items()}
        for one in reached([name], settings)
    }


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
    """Return the digests of the files that settings name, and of a Python module if it can be found."""
    digests = []
    for value in table.values():
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, str) and "\n" not in one and len(one) < 1000:
                is_function = table.get("kind") == "python" and ":" in one
                # A path of the command line begins here, a path of a file beside that file.
                paths = _modules(one, folder) if is_function else dict.fromkeys((folder / one, Path.cwd() / one))
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
