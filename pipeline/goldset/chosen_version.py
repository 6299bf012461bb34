"""A version that a person gives a set."""

from __future__ import annotations

import shutil
from pathlib import Path

from goldbench.pipeline.goldset.file_names import DATASET, PARQUET_COPIES
from goldbench.pipeline.goldset.folder import GoldFolder
from goldbench.pipeline.goldset.set_versions import Making, parsed
from goldbench.schemas.manifest import SetVersion


def set_version(folder: Path, version: str) -> SetVersion:
    """Give the set in a folder a version, and return it as it stands in the manifest; the content stays as it is.

    Args:
        folder: The run folder.
        version: Three numbers, later than those of the set, as ``2.0.0``.

    Raises:
        InputError: The folder holds no finished set, or a damaged one.
        UsageError: The version is not valid, or not later.
        OutputError: The folder cannot be written, or is being written.
    """
    parsed(version)
    home = GoldFolder(folder)
    home.manifest()
    with home.rewriting() as place:
        manifest = home.manifest()
        for name in (DATASET, *PARQUET_COPIES):
            if home.file(name).is_file():
                place.file(name).parent.mkdir(exist_ok=True)
                shutil.copyfile(home.file(name), place.file(name))
        place.finish(manifest, Making("version", version=version))
    return home.manifest().versions[0]
