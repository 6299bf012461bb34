"""Finding files: what is read, what is passed over, what a person must hear of."""

from __future__ import annotations

import os
import socket
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldbench.errors import InputError, UsageError
from goldbench.formats.documents.globs import Glob
from goldbench.formats.documents.sources import SourceFiles, find_files
from tests.conftest import posix


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    put(tmp_path / "docs", "b.txt", "sub/a.md", "sub/deep/c.html", "picture.png", "Makefile", ".git/x.txt", ".DS_Store")
    return tmp_path / "docs"


def put(top: Path, *names: str) -> None:
    for name in names:
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(f"text of {name}")


def sources(found: SourceFiles) -> list[str]:
    return [file.source for file in found.files]


def problems(found: SourceFiles) -> list[str]:
    return [str(failure) for failure in found.failures]


def test_a_folder_is_read_recursively_in_order_of_path(folder: Path) -> None:
    assert sources(find_files([str(folder)])) == ["b.txt", "sub/a.md", "sub/deep/c.html"]


def test_what_is_not_read_is_counted_by_suffix(folder: Path) -> None:
    assert dict(find_files([str(folder)]).ignored) == {".png": 1, "hidden": 2, "without suffix": 1}


def test_a_hidden_folder_given_by_name_is_read(folder: Path) -> None:
    assert sources(find_files([str(folder / ".git")])) == ["x.txt"]


def test_the_order_of_the_arguments_changes_nothing(folder: Path, tmp_path: Path) -> None:
    put(tmp_path / "more", "a.txt", "sub/z.txt")
    arguments = [str(folder), str(tmp_path / "more"), str(folder / "b.txt")]
    assert find_files(arguments) == find_files(arguments[::-1])


def test_a_file_reached_twice_is_read_once(folder: Path) -> None:
    found = find_files([str(folder), str(folder / "b.txt"), str(folder / "sub")])
    assert len(found.files) == 3
    assert len(found.repeated) == 3


def test_two_files_with_one_source_are_both_read_unless_they_are_the_same_bytes(tmp_path: Path) -> None:
    for version in ("v1", "v2", "v3"):
        put(tmp_path / version, "same.txt")
    (tmp_path / "v3/same.txt").write_text("another text")
    files = find_files([str(tmp_path / version) for version in ("v1", "v2", "v3")])
    assert sources(files) == ["same.txt", "same.txt"]
    assert files.repeated == ("same.txt",)


def test_sources_are_composed_characters_whatever_the_file_system_holds(tmp_path: Path) -> None:
    put(tmp_path, unicodedata.normalize("NFD", "é.txt"))
    assert sources(find_files([str(tmp_path)])) == [unicodedata.normalize("NFC", "é.txt")]


def test_a_name_that_is_no_utf_8_gives_a_source_that_can_be_written(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"caf\xe9.txt")).write_text("text")
    assert sources(find_files([str(tmp_path)])) == ["caf\\xe9.txt"]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*.txt", ["b.txt"]),
        ("**/*.md", ["sub/a.md"]),
        ("**/*.txt", ["b.txt"]),
        ("**", ["b.txt", "sub/a.md", "sub/deep/c.html"]),
        ("sub/*", ["a.md", "deep/c.html"]),
        ("*/deep/*.htm?", ["sub/deep/c.html"]),
        ("[ab].txt", ["b.txt"]),
        ("[!a].txt", ["b.txt"]),
        ("s*", ["sub/a.md", "sub/deep/c.html"]),
    ],
)
def test_a_glob_finds_what_the_shell_would(folder: Path, pattern: str, expected: list[str]) -> None:
    assert sources(find_files([str(folder / pattern)])) == expected


@given(st.text(alphabet="ab.[]!-^\\*?/", min_size=1, max_size=12))
def test_a_pattern_of_any_characters_matches_no_name_of_others(text: str) -> None:
    assert not Glob(f"top/x?{text}").matches("unlike")


def test_a_file_whose_name_looks_like_a_glob_is_that_file(tmp_path: Path) -> None:
    put(tmp_path, "notes[1].txt", "notes1.txt")
    assert sources(find_files([str(tmp_path / "notes[1].txt")])) == ["notes[1].txt"]


@pytest.mark.parametrize("name", ["missing", "missing/*.txt", "*.docx", ""])
def test_a_path_that_is_not_there_is_one_clear_line(folder: Path, name: str) -> None:
    with pytest.raises(UsageError) as caught:
        find_files([f"{folder}/{name}" if name else ""])
    assert "\n" not in str(caught.value)


def test_a_folder_without_documents_says_what_it_holds(tmp_path: Path) -> None:
    put(tmp_path, "a.png", "b.png", ".hidden")
    with pytest.raises(
        InputError, match=r"holds no document that can be read \(found: 2 \.png, 1 hidden\); give \.adoc "
    ):
        find_files([str(tmp_path)])


def test_a_file_of_another_type_given_by_name_is_refused_with_the_types_that_are_read(folder: Path) -> None:
    with pytest.raises(InputError, match=r"picture\.png: not a type of document; give one of .*\.md.*\.pdf"):
        find_files([str(folder / "picture.png")])


@posix
def test_a_link_to_a_folder_above_is_not_walked_again(folder: Path) -> None:
    (folder / "sub/deep/up").symlink_to("../..")
    (folder / "sub/loop").symlink_to(".")
    found = find_files([str(folder)])
    assert len(found.files) == 3
    assert found.repeated == ("sub/deep/up/", "sub/loop/")


@posix
def test_links_in_a_circle_are_named(folder: Path) -> None:
    (folder / "a.txt").symlink_to("z.txt")
    (folder / "z.txt").symlink_to("a.txt")
    found = find_files([str(folder)])
    assert len(found.files) == 3
    assert len([line for line in problems(found) if "leads nowhere or to itself" in line]) == 2


@posix
def test_a_thousand_links_to_one_another_end_at_once(tmp_path: Path) -> None:
    for number in range(30):
        put(tmp_path, f"{number}/a.txt")
        for other in range(30):
            (tmp_path / str(number) / f"to{other}").symlink_to(f"../{other}")
    assert len(find_files([str(tmp_path)]).files) == 30


@posix
def test_a_link_out_of_the_folder_is_named_and_not_followed(folder: Path, tmp_path: Path) -> None:
    put(tmp_path / "private", "secret.txt")
    (folder / "out.txt").symlink_to(tmp_path / "private/secret.txt")
    (folder / "outside").symlink_to(tmp_path / "private")
    found = find_files([str(folder)])
    assert len(found.files) == 3
    assert [line.split(": ", 1)[1] for line in problems(found)] == [
        "is a link out of the folder given: not followed"
    ] * 2
    assert sources(find_files([f"{folder}/**/*.txt"])) == ["b.txt"]


@posix
def test_a_link_to_a_file_of_the_folder_is_read_by_its_own_name_only(folder: Path) -> None:
    (folder / "again.txt").symlink_to("b.txt")
    files = find_files([str(folder)])
    assert "again.txt" not in sources(files)
    assert files.repeated == ("again.txt",)


@posix
def test_links_to_hidden_files_are_read_once(tmp_path: Path) -> None:
    put(tmp_path, "..2024/a.txt")
    (tmp_path / "..data").symlink_to("..2024")
    (tmp_path / "a.txt").symlink_to("..data/a.txt")
    (tmp_path / "b.txt").symlink_to("..data/a.txt")
    files = find_files([str(tmp_path)])
    assert sources(files) == ["a.txt"]
    assert files.repeated == ("b.txt",)


@posix
def test_a_folder_given_as_a_link_is_read(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(folder)
    assert len(find_files([str(tmp_path / "link")]).files) == 3


@posix
@pytest.mark.timeout(100)
def test_pipes_and_sockets_block_nothing_and_are_named(folder: Path) -> None:
    os.mkfifo(folder / "pipe.txt")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "s.txt"))
        found = find_files([str(folder)])
    assert len(found.files) == 3
    assert len([line for line in problems(found) if "not a regular file" in line]) == 2


@posix
@pytest.mark.timeout(100)
def test_a_pipe_given_by_name_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.txt")
    with pytest.raises(InputError, match="neither a file nor a folder"):
        find_files([str(tmp_path / "pipe.txt")])


@posix
def test_a_name_with_a_line_break_stays_one_line_in_messages(tmp_path: Path) -> None:
    put(tmp_path, "a.txt")
    (tmp_path / "two\nlines.txt").symlink_to("nowhere")
    (message,) = problems(find_files([str(tmp_path)]))
    assert "\n" not in message


def test_a_very_deep_folder_is_no_problem(tmp_path: Path) -> None:
    here = Path.cwd()
    os.chdir(tmp_path)
    try:
        for _ in range(400):
            Path("d").mkdir()
            os.chdir("d")
        Path("a.txt").write_text("text", encoding="utf-8")
    finally:
        os.chdir(here)
    put(tmp_path, "top.txt")
    assert "top.txt" in sources(find_files([str(tmp_path)]))


def test_the_folder_of_a_run_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "a.txt").write_text("text")
    with pytest.raises(InputError, match="run: is the folder of a goldbench run; give the documents") as caught:
        find_files([str(tmp_path / "run")], is_run=lambda folder: folder.name == "run")
    assert "\n" not in str(caught.value)
