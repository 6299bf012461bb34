"""Every benchmark can be started: nothing that it imports is gone."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.conftest import ROOT

IMPORT_ALL = """
import importlib, pathlib
for path in sorted(pathlib.Path("tests/benchmarks").glob("*.py")):
    if path.stem not in {"__init__", "__main__"}:
        importlib.import_module(f"tests.benchmarks.{path.stem}")
"""


@pytest.mark.slow
def test_every_benchmark_can_be_imported() -> None:
    done = subprocess.run([sys.executable, "-c", IMPORT_ALL], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
