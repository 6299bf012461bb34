"""The configuration as it was used, written back as TOML."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomli_w


def write_toml(path: Path, data: Mapping[str, Any]) -> None:
    """Write nested tables.

    Raises:
        OSError: The file cannot be written.
    """
    path.write_text(tomli_w.dumps(data), encoding="utf-8", newline="\n")
