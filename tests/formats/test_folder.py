"""The run folder: whole or not at all, never mixed."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.errors import InputError, OutputError
from pipeline.formats.folder import changed_files, check_usable, publish, read_manifest, staging
from schemas.manifest import Manifest


def manifest(config: str = "c1") -> Manifest:
    return Manifest(
        goldset="0",
        created="2026-01-01T00:00:00+00:00",
        seconds=0.0,
        generator="test",
        evidence_level="smoke",
        config_sha256=config,
        documents=1,
        queries=1,
        stages=[],
    )


def finished(folder: Path, config: str = "c1") -> None:
    with staging(folder) as place:
        (place / "a.txt").write_text("one")
        (place / "sub").mkdir()
        (place / "sub" / "b.txt").write_text("two")
        publish(place, folder, manifest(config))


def test_a_finished_run_holds_its_files_and_nothing_unfinished(tmp_path: Path) -> None:
    finished(tmp_path / "run")
    names = sorted(path.relative_to(tmp_path / "run").as_posix() for path in (tmp_path / "run").rglob("*"))
    assert names == ["a.txt", "manifest.json", "sub", "sub/b.txt"]
    assert list(changed_files(tmp_path / "run", read_manifest(tmp_path / "run"))) == []


def test_a_run_that_fails_leaves_no_folder_behind(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), staging(tmp_path / "run") as place:
        (place / "a.txt").write_text("half")
        raise ZeroDivisionError
    assert not (tmp_path / "run").exists()


def test_a_run_that_fails_leaves_an_earlier_run_as_it_was(tmp_path: Path) -> None:
    finished(tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(ZeroDivisionError), staging(tmp_path) as place:
        (place / "a.txt").write_text("half")
        raise ZeroDivisionError
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_another_configuration_is_not_mixed_in(tmp_path: Path) -> None:
    finished(tmp_path, "c1")
    check_usable(tmp_path, config_sha256="c1")
    with pytest.raises(OutputError, match="other settings"):
        check_usable(tmp_path, config_sha256="c2")


def test_a_folder_with_other_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(OutputError, match="not a goldset run"):
        check_usable(tmp_path, config_sha256="c1")


def test_what_a_killed_build_left_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / ".unfinished").mkdir()
    (tmp_path / ".unfinished" / "half").write_text("x")
    (tmp_path / "moved-before-the-kill.txt").write_text("x")
    check_usable(tmp_path, config_sha256="c1")
    finished(tmp_path)
    assert not (tmp_path / ".unfinished").exists()


def test_two_builds_cannot_write_to_one_folder(tmp_path: Path) -> None:
    with staging(tmp_path), pytest.raises(OutputError, match="another build"), staging(tmp_path):
        pass


def test_files_of_the_earlier_run_that_are_no_longer_written_go(tmp_path: Path) -> None:
    finished(tmp_path)
    with staging(tmp_path) as place:
        (place / "a.txt").write_text("new")
        publish(place, tmp_path, manifest(), stale=iter(["a.txt", "sub/b.txt"]))
    assert not (tmp_path / "sub" / "b.txt").exists()
    assert (tmp_path / "a.txt").read_text() == "new"


def test_a_change_after_the_run_is_seen(tmp_path: Path) -> None:
    finished(tmp_path)
    (tmp_path / "a.txt").write_text("tampered")
    (tmp_path / "sub" / "b.txt").unlink()
    found = sorted(changed_files(tmp_path, read_manifest(tmp_path)))
    assert found == ["a.txt: has changed since it was written", "sub/b.txt: is missing"]


@pytest.mark.parametrize("content", [None, b"", b"{", b'{"format": 1}'])
def test_a_folder_without_a_whole_manifest_is_no_run(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "manifest.json").write_bytes(content)
    with pytest.raises(InputError, match=r"manifest\.json"):
        read_manifest(tmp_path)
