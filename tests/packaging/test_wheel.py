"""Sdist and wheel hold one import package with everything in it, and work where nothing else of the project is."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.conftest import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def build(target: str, source: Path, out: Path) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(out)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    return next(out.iterdir())


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("sdist", ROOT, tmp_path_factory.mktemp("sdist"))


@pytest.fixture(scope="module")
def unpacked(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sdist, unpacked far from the checkout."""
    folder = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    return next(folder.iterdir())


@pytest.fixture(scope="module")
def wheel(unpacked: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel that pip would build from the sdist."""
    return build("wheel", unpacked, tmp_path_factory.mktemp("wheel"))


def package_files() -> dict[str, str]:
    """The name in the checkout of every file of the package that git knows, by its name inside the wheel."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "pipeline", "prompts"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, encoding="utf-8").stdout.split("\n")
    return {
        name.removeprefix("pipeline/") if name.startswith("pipeline/") else f"goldbench/{name}": name
        for name in listed
        if (ROOT / name).is_file()
    }


def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist() if ".dist-info/" not in name}


def test_the_wheel_holds_every_file_of_the_package_and_nothing_else(wheel: Path) -> None:
    assert contents(wheel) == {
        name: (ROOT / package_file).read_bytes() for name, package_file in package_files().items()
    }


def test_the_sdist_holds_each_file_once_and_no_links(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        assert [member.name for member in archive if not (member.isfile() or member.isdir())] == []
        names = {member.name.partition("/")[2] for member in archive}
    assert set(package_files().values()) <= names
    texts = {"CHANGELOG.md", "CONTRIBUTING.md", "README.md", "LICENSE"}
    tops = {"pipeline", "prompts", "schemas", "docs", "data", *texts, "pyproject.toml", "PKG-INFO"}
    assert {name.split("/")[0] for name in names} - {".gitignore"} == tops
