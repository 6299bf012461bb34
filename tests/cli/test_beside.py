"""The default name of a new folder beside a given one."""

from __future__ import annotations

from pathlib import Path

import pytest

from goldbench.cli.options import beside


def test_a_new_folder_is_named_also_for_the_folder_of_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gold" / "in").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "gold")
    assert beside(Path(), "-parts") == tmp_path / "gold-parts"
    monkeypatch.chdir(tmp_path / "gold" / "in")
    assert beside(Path(".."), "-parts") == tmp_path / "gold-parts"
    assert beside(Path("runs/gold"), "-400-40") == Path("runs/gold-400-40")
