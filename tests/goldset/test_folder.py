"""The run folder: whole or not at all, never mixed."""

from __future__ import annotations

from pathlib import Path

import pytest

from goldbench.errors import InputError, OutputError
from goldbench.goldset.folder import GoldFolder, ReplacePolicy
from goldbench.goldset.publication import changed_files, publish, read_manifest, staging
from goldbench.records.corpus import Document
from goldbench.records.manifest import Manifest


def manifest(config: str = "c1") -> Manifest:
    return Manifest(
        goldbench="0",
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


def usable(folder: Path, config: str, *, replace: bool = False) -> None:
    GoldFolder(folder).check_usable(ReplacePolicy({}, config, replace=replace))


def test_a_manifest_that_names_files_elsewhere_deletes_nothing_there(tmp_path: Path) -> None:
    (tmp_path / "victim.txt").write_text("precious")
    run = tmp_path / "run"
    finished(run)
    for name in ("../victim.txt", str(tmp_path / "victim.txt")):
        with staging(run) as place:
            (place / "a.txt").write_text("new")
            publish(place, run, manifest(), stale=[name])
        assert (tmp_path / "victim.txt").read_text() == "precious"
    tampered = read_manifest(run).model_copy(update={"files": {"../victim.txt": "0"}})
    assert list(changed_files(run, tampered)) == ["'../victim.txt': not a file of this folder"]


def test_a_damaged_manifest_is_replaced_only_when_told_to(tmp_path: Path) -> None:
    finished(tmp_path)
    (tmp_path / "manifest.json").write_text("{")
    (tmp_path / "1-chunks.jsonl").touch()
    with pytest.raises(OutputError, match="damaged"):
        usable(tmp_path, "c1")
    usable(tmp_path, "c1", replace=True)


GUIDE = "The pump is started by hand. The valve is opened first, then the tap.\n\nThe filter is washed once a month."
OTHER = "Guests are asked to leave the rooms before noon. Breakfast is served from seven to ten in the morning."


def document(text: str, source: str = "index.md") -> Document:
    return Document(doc_id=f"id-{source}", title="", text=text, source=source)


@pytest.mark.parametrize(
    ("after", "same"),
    [
        ([document(GUIDE.replace(" ", "\r\n"))], True),
        ([document(GUIDE + " A line more."), document(OTHER, "new.md")], True),
        ([document(OTHER)], False),
        ([document("The pump is started by hand. " + OTHER)], False),
    ],
)
def test_a_run_of_other_documents_is_not_written_over_whatever_they_are_called(
    tmp_path: Path, after: list[Document], same: bool
) -> None:
    finished(tmp_path)
    GoldFolder(tmp_path).documents.write([document(GUIDE), document("Opening hours: nine to five.", "hours.md")])
    if same:
        GoldFolder(tmp_path).check_same_corpus(after)
    else:
        with pytest.raises(OutputError, match="other documents"):
            GoldFolder(tmp_path).check_same_corpus(after)


def test_the_settings_that_differ_are_named(tmp_path: Path) -> None:
    finished(tmp_path, "c1")
    (tmp_path / "0-config.toml").write_text("[chunk]\nsize = 1000\n[generate]\nqueries = 5\n")
    settings = {"chunk": {"size": 1000}, "generate": {"queries": 6, "seed": 1}}
    with pytest.raises(OutputError, match=r"\(generate\.queries, generate\.seed\)"):
        GoldFolder(tmp_path).check_usable(ReplacePolicy(settings, "c2"))


def test_a_change_after_the_run_is_seen(tmp_path: Path) -> None:
    finished(tmp_path)
    (tmp_path / "a.txt").write_text("tampered")
    (tmp_path / "sub" / "b.txt").unlink()
    found = sorted(changed_files(tmp_path, read_manifest(tmp_path)))
    assert found == ["a.txt: has changed since it was written", "sub/b.txt: is missing"]


@pytest.mark.parametrize("content", [None, b"{"])
def test_a_folder_without_a_whole_manifest_is_no_run(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "manifest.json").write_bytes(content)
    with pytest.raises(InputError, match=r"manifest\.json"):
        read_manifest(tmp_path)
