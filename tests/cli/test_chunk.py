"""``goldbench chunk``: what it writes, and what it says of files that it cannot read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.conftest import Goldbench

CYRILLIC = "слово ".encode("cp1251")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one good file among others."""
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "good.md").write_text("A good file with a few words.\n", encoding="utf-8")
    (folder / "old.doc").write_bytes(b"x")
    (tmp_path / "outside.md").write_text("Not in the folder.\n", encoding="utf-8")
    (folder / "gone.md").symlink_to(tmp_path / "nowhere.md")
    (folder / "out.md").symlink_to(tmp_path / "outside.md")
    os.mkfifo(folder / "pipe.md")
    return folder


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes on this system")
def test_files_that_are_not_read_are_named(goldbench: Goldbench, folder: Path) -> None:
    done = goldbench("chunk", folder)
    assert done.returncode == 3
    assert done.stdout.count("\n") == 1
    for name, why in (("gone", "leads nowhere"), ("out", "out of the folder"), ("pipe", "not a regular file")):
        assert f"{name}.md: is" in done.stderr
        assert why in done.stderr
    assert "Not read: 1 .doc." in done.stderr
    assert goldbench("chunk", folder, "--strict").returncode == 2


def test_every_file_of_a_guessed_encoding_is_named_where_nothing_else_lists_them(
    goldbench: Goldbench, tmp_path: Path
) -> None:
    for number in range(25):
        (tmp_path / f"{number}.txt").write_bytes(CYRILLIC)
    done = goldbench("chunk", tmp_path)
    assert done.returncode == 0
    assert (
        "25 files not in UTF-8, whose encoding was guessed (cp1251 25); to correct one, name it with --encoding"
        in done.stderr
    )
    assert done.stderr.count("confidence") == 25
    assert "manifest" not in done.stderr


@pytest.mark.parametrize("name", ["idna", "punycode", "unicode_escape", "hex", "nothing"])
def test_a_codec_that_is_no_encoding_of_documents_is_refused(goldbench: Goldbench, folder: Path, name: str) -> None:
    done = goldbench("chunk", folder, "--encoding", name)
    assert done.returncode == 2
    assert "not a known text encoding" in done.stderr
