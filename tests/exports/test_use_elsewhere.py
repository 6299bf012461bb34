"""docs/how_to/use_elsewhere.md is true: commands, configuration, versions. `test_tools` runs the Python in it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import ROOT, Goldbench
from tests.exports.how_to_page import SECTIONS, blocks, carried_out, commands
from tests.exports.sample_exports import QUESTIONS, UNANSWERED


def test_every_command_runs_in_its_order(sample: Path, goldbench_inside: Goldbench) -> None:
    assert sum(len(commands(title)) for title in SECTIONS) >= 11
    for title in SECTIONS:
        carried_out(title, sample, goldbench_inside)


@pytest.mark.slow
def test_the_configuration_for_promptfoo_runs(sample: Path, goldbench_inside: Goldbench) -> None:
    program = shutil.which("promptfoo")
    if program is None:
        pytest.skip("promptfoo is not on the path: npm install --global promptfoo, with a Node.js that it supports")
    carried_out("promptfoo", sample, goldbench_inside)
    (config,) = blocks("yaml", SECTIONS["promptfoo"])
    home = sample.parent
    (home / "promptfooconfig.yaml").write_text(config, encoding="utf-8")
    quiet = {"PROMPTFOO_DISABLE_TELEMETRY": "1", "PROMPTFOO_DISABLE_UPDATE": "1", "PROMPTFOO_CONFIG_DIR": str(home)}
    done = subprocess.run(
        [program, "eval", "--no-cache", "--no-table"], cwd=home, env={**os.environ, **quiet}, capture_output=True,
        text=True, timeout=100, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(QUESTIONS) + len(UNANSWERED)} passed (100%)" in done.stdout + done.stderr


def test_the_versions_are_those_of_the_environments() -> None:
    rows = re.findall(r"^\| ([\w-]+) \| (\d[\w.]*) \|", SECTIONS["Versions tried"], re.MULTILINE)
    assert len(rows) >= 8
    pinned = (*(ROOT / ".ci").glob("*.lock"), ROOT / ".ci" / "models.txt")
    locks = "".join(path.read_text(encoding="utf-8") for path in pinned)
    locked = set(re.findall(r"^([\w.-]+)==([\w.]+)", locks, re.MULTILINE)) | {
        row for row in rows if row[0] == "promptfoo"
    }
    assert set(rows) - locked == set()
