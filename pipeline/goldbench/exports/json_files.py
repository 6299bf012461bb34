"""JSON for readers that open files in the encoding of their system: ASCII, every other character as its escape."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

JSON_LINES = ".jsonl"


def write_json_lines(place: Path, rows: Iterable[Any]) -> None:
    """Write a line for each value."""
    with place.open("w", encoding="ascii", newline="\n") as file:
        for row in rows:
            file.write(f"{json.dumps(row)}\n")


def write_json(place: Path, value: Any) -> None:  # noqa: ANN401  whatever JSON takes
    """Write a value, readable by people."""
    with place.open("w", encoding="ascii", newline="\n") as file:
        json.dump(value, file, indent=1)
        file.write("\n")
