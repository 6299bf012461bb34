"""The sample documents as a gold set of simulated queries."""

from __future__ import annotations

from pathlib import Path

import pytest

from goldbench import build
from tests.conftest import ROOT


@pytest.fixture(scope="session")
def sample_set(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the set, built once; tests only read it."""
    folder = tmp_path_factory.mktemp("sample") / "run"
    build(ROOT / "data/example/documents", out=folder, generator="simulated", queries=60, progress=False)
    return folder
