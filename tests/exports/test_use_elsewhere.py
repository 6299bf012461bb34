"""docs/how_to/use_elsewhere.md is true: commands, configuration, versions. `test_tools` runs the Python in it."""

from __future__ import annotations

import re
from pathlib import Path

from tests.conftest import ROOT, Goldbench
from tests.exports.how_to_page import SECTIONS, carried_out, commands


def test_every_command_runs_in_its_order(sample: Path, goldbench_inside: Goldbench) -> None:
    assert sum(len(commands(title)) for title in SECTIONS) >= 11
    for title in SECTIONS:
        carried_out(title, sample, goldbench_inside)


def test_the_versions_are_those_of_the_environments() -> None:
    rows = re.findall(r"^\| ([\w-]+) \| (\d[\w.]*) \|", SECTIONS["Versions tried"], re.MULTILINE)
    assert len(rows) >= 8
    pinned = (*(ROOT / ".ci").glob("*.lock"), ROOT / ".ci" / "models.txt")
    locks = "".join(path.read_text(encoding="utf-8") for path in pinned)
    locked = set(re.findall(r"^([\w.-]+)==([\w.]+)", locks, re.MULTILINE)) | {
        row for row in rows if row[0] == "promptfoo"
    }
    assert set(rows) - locked == set()
