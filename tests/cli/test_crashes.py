"""An unforeseen error is one line, and that line promises nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from goldbench.cli import build
from goldbench.errors import NOT_DONE
from goldbench.goldset.folder import GoldFolder
from tests.conftest import Goldbench
from tests.generate.test_build import corpus


def test_a_crash_after_a_set_was_replaced_does_not_deny_it(
    goldbench_inside: Goldbench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus(tmp_path / "docs")
    command = ("build", "docs", "--out", "gold", "--queries")
    assert goldbench_inside(*command, 6).returncode == 0
    monkeypatch.setattr(build, "_report", lambda *_: 1 / 0)
    crashed = goldbench_inside(*command, 8, "--replace")
    assert len(GoldFolder(tmp_path / "gold").dataset().queries) == 8
    assert crashed.returncode == NOT_DONE
    last = crashed.stderr.splitlines()[-1]
    assert "ZeroDivisionError" in last
    assert "replaced" not in last
