"""The bundled model as a judge: it is too small to judge, and its own test says so."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import IMPORT_PATH, Goldbench
from tests.generate.test_build import corpus
from tests.grade.graded_sets import artifacts
from tests.llm.local.installed import needs_local_model


@pytest.mark.slow
@pytest.mark.timeout(900)  # a busy machine takes its time
def test_the_bundled_model_fails_the_judge_checks_and_the_set_stays_as_it_was(
    goldbench: Goldbench, tmp_path: Path
) -> None:
    needs_local_model()
    corpus(tmp_path / "docs")  # short passages: the model reads a judge check in a third of the time
    goldbench("build", "docs", "--out", "set", "--queries", 2, "--generator", "simulated")
    before = artifacts(tmp_path / "set")
    grade = [sys.executable, "-m", "goldbench", "grade", "set", "--model", "local"]
    environment = {**os.environ, "PYTHONPATH": IMPORT_PATH}
    done = subprocess.run(
        grade, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=800, check=False
    )
    assert done.returncode == 3, done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith("goldbench: set: stays as it was, because the judge SmolLM2"), last
    assert "failed the judge checks" in last
    assert artifacts(tmp_path / "set") == before
    assert goldbench("validate", "set").returncode == 0
