"""The digest of a set's content: what it depends on, and who names it."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from goldbench.goldset.content_digest import read_content
from goldbench.goldset.folder import GoldFolder
from tests.conftest import ROOT, Goldbench


@pytest.fixture
def goldbench(goldbench_inside: Goldbench) -> Goldbench:
    return goldbench_inside


EXAMPLE = ROOT / "data" / "example" / "documents" / "manual"


@pytest.fixture
def built(goldbench: Goldbench, tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    for page in EXAMPLE.glob("[i-p]*.md"):
        shutil.copyfile(page, tmp_path / "docs" / page.name)
    done = goldbench("build", "docs", "--out", "run", "--queries", 6)
    assert done.returncode == 0, done.stderr
    return tmp_path / "run"


def gold(folder: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((folder / "dataset.json").read_text(encoding="utf-8"))
    return loaded


def plainly_computed(dataset: dict[str, Any]) -> str:
    """Return the content digest as another program would compute it from the documented definition."""

    def entries() -> Iterator[list[Any]]:
        for member, items in dataset.items():
            if member in {"mode", "metadata", "relevant_docs"}:
                continue
            for key, value in items.items():
                if member == "relevance_scores":
                    yield from ([member, key, passage, grade] for passage, grade in value.items())
                elif isinstance(value, list) and all(isinstance(one, str) for one in value):
                    yield [member, key, sorted(value)]
                else:
                    yield [member, key, value]

    lines = [json.dumps(entry, ensure_ascii=False, sort_keys=True, separators=(",", ":")) for entry in entries()]
    digests = sorted(hashlib.sha256(line.encode()).hexdigest() for line in lines)
    return hashlib.sha256("".join(digest + "\n" for digest in digests).encode()).hexdigest()


def test_the_digest_is_what_another_program_computes_and_does_not_depend_on_order(built: Path, tmp_path: Path) -> None:
    found = gold(built)
    digest = found["metadata"]["content_sha256"]
    assert digest == plainly_computed(found)
    assert GoldFolder(built).manifest().content_sha256 == digest
    backwards = {
        name: dict(reversed(value.items())) if isinstance(value, dict) else value
        for name, value in reversed(found.items())
    }
    backwards["metadata"] = {"goldbench": "another", "created": "later"}
    other = tmp_path / "other.json"
    other.write_text(json.dumps(backwards), encoding="utf-8")
    read = read_content(other)
    assert read.sha256 == digest
    assert read.queries == read_content(built / "dataset.json").queries
    for member in ("queries", "corpus"):
        key = next(iter(found[member]))
        other.write_text(json.dumps({**found, member: {**found[member], key: "else"}}), encoding="utf-8")
        assert read_content(other).sha256 != digest
