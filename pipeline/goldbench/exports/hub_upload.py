"""An exported folder on the Hugging Face Hub, through its own client."""

from __future__ import annotations

import re
from pathlib import Path

from goldbench.errors import Message, OutputError, UsageError, require
from goldbench.text.display import shown, without_credentials

PUSHED = ("hf", "parquet")
"""The targets that are data sets of the hub."""
_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}", re.ASCII)
_REASON = 200
"""Most characters of what the client says when it fails."""


def check_push(to: str, name: str) -> None:
    """Refuse what cannot be pushed before anything is written.

    Args:
        to: The target of the export.
        name: The data set, as ``user/name``.

    Raises:
        UsageError: The target is not a data set of the hub, or the name is not valid.
        MissingExtra: The client of the hub is not installed.
    """
    if to not in PUSHED:
        raise UsageError(
            Message("{to=} {} is not a data set of the hub; give {to=} {}", to, PUSHED[0]), parameter="push"
        )
    require("benchmarks", "huggingface_hub")
    if not _NAME.fullmatch(name):
        raise UsageError(f"not a valid name of a data set: {shown(name)!r}; give USER/NAME", parameter="push")


def push(folder: Path, name: str) -> str:
    """Upload a folder and return the address of the data set, which is private unless it exists and is public.

    Files of an earlier export that this one lacks are deleted there.

    Args:
        folder: The exported folder.
        name: The data set, as ``user/name``.

    Raises:
        OutputError: The hub refuses it or cannot be reached; the folder stays.
    """
    from huggingface_hub import HfApi

    hub = HfApi()
    try:
        repo = hub.create_repo(name, repo_type="dataset", private=True, exist_ok=True)
        hub.upload_folder(
            repo_id=name,
            repo_type="dataset",
            folder_path=folder,
            delete_patterns="*.parquet",
            commit_message="Gold set exported by goldbench",
        )
    except Exception as error:
        said = shown(without_credentials(str(error)).strip().split("\n")[0])[:_REASON]
        told = f"cannot be uploaded ({type(error).__name__}: {said}); it stays in {shown(folder)}"
        raise OutputError(Message("{push} {}: {}", name, told)) from error
    return without_credentials(str(repo))
