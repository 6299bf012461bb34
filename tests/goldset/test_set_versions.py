"""The version of a set and the digest of its content: what they depend on, and what the changelog tells."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from goldbench.pipeline.goldset.content_digest import read_content
from goldbench.pipeline.goldset.folder import GoldFolder
from goldbench.pipeline.goldset.integrity import validate
from goldbench.pipeline.goldset.set_versions import Making
from tests.conftest import ROOT, Goldbench
from tests.grade.graded_sets import write_set


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
    assert GoldFolder(built).manifest().versions[0].content_sha256 == digest
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


def test_the_same_content_keeps_its_version_and_changed_documents_raise_the_major_number(
    goldbench: Goldbench, built: Path, tmp_path: Path
) -> None:
    files = {one.name: one.read_bytes() for one in built.iterdir() if one.suffix in {".md", ".jsonl"}}
    again = goldbench("build", "docs", "--out", "run", "--queries", 6)
    assert again.returncode == 0, again.stderr
    assert files == {one.name: one.read_bytes() for one in built.iterdir() if one.name in files}
    assert [one.version for one in GoldFolder(built).manifest().versions] == ["1.0.0"]
    (tmp_path / "docs" / "gate.md").write_text("# Gate\n\nThe gate of the yard opens at six and closes at nine.\n")
    changed = goldbench("build", "docs", "--out", "run", "--queries", 6, "--replace")
    assert changed.returncode == 0, changed.stderr
    manifest = GoldFolder(built).manifest()
    assert [one.version for one in manifest.versions] == ["2.0.0", "1.0.0"]
    assert (manifest.versions[0].made_by, manifest.versions[0].changes["documents"].added) == ("build", 1)
    assert gold(built)["metadata"]["version"] == "2.0.0"
    assert "documents: 1 added" in (built / "changelog.md").read_text(encoding="utf-8")
    checked = goldbench("validate", "run")
    assert f"version 2.0.0, content {manifest.versions[0].content_sha256[:12]}" in checked.stdout, checked.stdout
    assert validate(built).problems == ()


def rewritten(folder: Path, old: str, new: str) -> None:
    """Put the set in place again with one text of its data set changed, as a command does."""
    home = GoldFolder(folder)
    with home.rewriting() as place:
        text = home.file("dataset.json").read_text(encoding="utf-8")
        assert old in text
        place.file("dataset.json").write_text(text.replace(old, new), encoding="utf-8")
        place.finish(home.manifest(), Making("test"))


def test_changed_labels_raise_the_patch_number_and_changed_queries_the_minor_number(tmp_path: Path) -> None:
    known = write_set(tmp_path / "run")
    folder = known.folder
    found = gold(folder)
    (query_id, *_), (passage, *_) = found["queries"], found["corpus"]
    rewritten(folder, '"mode"', '"mode"')
    assert [one.version for one in GoldFolder(folder).manifest().versions] == ["1.0.0"]
    grades = json.dumps(found["relevance_scores"][query_id])
    fewer = json.dumps({**found["relevance_scores"][query_id], passage: 1})
    rewritten(folder, f'"{query_id}": {grades}', f'"{query_id}": {fewer}')
    text = json.dumps(found["queries"][query_id], ensure_ascii=False)
    rewritten(folder, f'"{query_id}": {text}', f'"{query_id}": "What else?"')
    versions = GoldFolder(folder).manifest().versions
    assert [one.version for one in versions] == ["1.1.0", "1.0.1", "1.0.0"]
    assert [one.same_queries for one in versions] == [7, 7, len(found["queries"])]
    assert versions[0].changes["queries"].changed == 1
    assert versions[1].changes.keys() == {"labels"}
    since = [json.loads(line) for line in (folder / "3-versions.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [one["since"] for one in since if one["query_id"] == query_id] == ["1.1.0"]
    assert {one["since"] for one in since if one["query_id"] != query_id} == {"1.0.0"}


def test_a_set_without_a_version_begins_at_the_first_and_says_so(tmp_path: Path) -> None:
    known = write_set(tmp_path / "run")
    assert GoldFolder(known.folder).manifest().versions == []
    assert validate(known.folder).version is None
    text = next(iter(gold(known.folder)["queries"].values()))
    rewritten(known.folder, json.dumps(text, ensure_ascii=False), '"What else?"')
    (version,) = GoldFolder(known.folder).manifest().versions
    assert (version.version, version.note) == ("1.0.0", "The set before had no version.")
    assert version.changes["queries"].changed == 1


def test_a_part_begins_at_the_first_version_and_names_the_set_it_came_from(
    goldbench: Goldbench, built: Path, tmp_path: Path
) -> None:
    done = goldbench("split", "run", "--shares", "dev=0.5,test=0.5", "--out", "parts")
    assert done.returncode == 0, done.stderr
    whole = GoldFolder(built).manifest().versions[0]
    (version,) = GoldFolder(tmp_path / "parts" / "dev").manifest().versions
    (origin,) = version.origins
    assert (origin.name, origin.version, origin.content_sha256) == ("run", "1.0.0", whole.content_sha256)
    assert version.version == "1.0.0"
    assert "Made from `run`, version 1.0.0" in (tmp_path / "parts/dev/changelog.md").read_text(encoding="utf-8")


def test_a_version_may_be_set_and_the_next_change_counts_on_from_it(
    goldbench: Goldbench, built: Path, tmp_path: Path
) -> None:
    before = {one: one.read_bytes() for one in (built / "beir").rglob("*") if one.is_file()}
    done = goldbench("version", "run", "--set", "3.0.0")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("# Versions of this gold set\n\n## 3.0.0\n\nMade by `goldbench version`. Content `")
    assert before == {one: one.read_bytes() for one in before}
    assert validate(built).problems == ()
    assert gold(built)["metadata"]["version"] == "3.0.0"
    for wrong, problem in (("2.9.9", "is not later than 3.0.0"), ("3", "not a valid version"), ("3.1.0rc1", "not a")):
        refused = goldbench("version", "run", "--set", wrong)
        assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
        assert problem in refused.stderr
    found = gold(built)
    query_id, text = next(iter(found["queries"].items()))
    rewritten(built, f'"{query_id}": {json.dumps(text)}', f'"{query_id}": "What else?"')
    assert [one.version for one in GoldFolder(built).manifest().versions] == ["3.1.0", "3.0.0", "1.0.0"]
    shutil.copytree(write_set(tmp_path / "old").folder, tmp_path / "older")
    assert "has no version" in goldbench("version", "older").stdout
    assert "## 1.2.0" in goldbench("version", "older", "--set", "1.2.0").stdout
