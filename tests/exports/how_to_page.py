"""The page docs/how_to/use_elsewhere.md, section by section: its commands and its code."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

from tests.conftest import ROOT, Goldbench

PAGE = (ROOT / "docs" / "how_to" / "use_elsewhere.md").read_text(encoding="utf-8")
SECTIONS = {part.split("\n")[0]: part for part in PAGE.split("\n## ")[1:]}


def blocks(kind: str, text: str) -> list[str]:
    """Return the fenced blocks of a kind."""
    return re.findall(rf"^```{kind}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def commands(title: str) -> list[list[str]]:
    """Return the commands of a section, each without the name of the program."""
    lines = [line for block in blocks("sh", SECTIONS[title]) for line in block.splitlines()]
    assert all(line.startswith("goldbench ") for line in lines)
    return [shlex.split(line)[1:] for line in lines]


def carried_out(title: str, sample: Path, goldbench_inside: Goldbench) -> list[str]:
    """Run the commands of a section beside ``runs/mine``, a copy of a set, and return the section's Python."""
    if not (sample.parent / "runs").exists():
        shutil.copytree(sample, sample.parent / "runs" / "mine")
    for arguments in commands(title):
        done = goldbench_inside(*arguments)
        assert done.returncode == 0, (arguments, done.stderr)
    return blocks("python", SECTIONS[title])
