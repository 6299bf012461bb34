"""The lowest versions that are declared are those that ``.ci/floors`` installs, and locks fit any index."""

from __future__ import annotations

import re
import tomllib
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.conftest import ROOT

CI = ROOT / ".ci"


def declared() -> list[Requirement]:
    """What users or tests may have installed. Tools of developers stay out: only newest ones are tested."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    project, groups = settings["project"], settings["dependency-groups"]
    extras = project["optional-dependencies"].values()
    texts = {*chain(project["dependencies"], *extras, groups["build"], groups["tests"])}
    return [made for made in map(Requirement, sorted(texts)) if made.name != project["name"]]  # the extra `all`


def locked(*names: str) -> dict[str, Version]:
    text = "".join((CI / name).read_text(encoding="utf-8") for name in names)
    pins = re.findall(r"^([\w.-]+)==([\w.]+)", text, re.MULTILINE)
    return {canonicalize_name(name): Version(version) for name, version in pins}


def test_each_declared_lowest_version_is_the_one_that_is_tested() -> None:
    tested = locked("tools-evaluation.lock") | locked("floors.lock", "floors-models.txt")
    wrong = {}
    for requirement in declared():
        lowest = [Version(part.version) for part in requirement.specifier if part.operator == ">="]
        if lowest != [tested.get(canonicalize_name(requirement.name))]:
            wrong[str(requirement)] = tested.get(canonicalize_name(requirement.name))
    assert wrong == {}, "run `.ci/lock`, and declare the version that it finds"


@pytest.mark.parametrize("lock", sorted(CI.glob("*.lock")), ids=lambda lock: lock.name)
def test_a_lock_has_hashes_and_names_no_index(lock: Path) -> None:
    text = lock.read_text(encoding="utf-8")
    assert "://" not in text
    assert "--index-url" not in text
    pins = re.findall(r"^[\w.-]+==(?:.*\\\n)*.*", text, re.MULTILINE)
    assert pins
    assert [pin for pin in pins if "--hash=sha256:" not in pin] == []
