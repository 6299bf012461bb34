"""What every export does: it writes whole or not at all, replaces nothing unasked, and says what it leaves out."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from goldbench import GoldSet, InputError, MissingPackage, OutputError, UsageError
from goldbench.exports import placement
from goldbench.exports.exported_set import ExportedSet, read_set
from goldbench.exports.placement import export_set
from goldbench.exports.targets import TARGETS
from goldbench.goldset.gold_path import holds_no_query
from tests.conftest import Goldbench
from tests.exports.sample_exports import QUESTIONS


def place_for(to: str, folder: Path) -> Path:
    return folder / f"out{TARGETS[to].ending}"


def content(place: Path) -> dict[str, bytes]:
    if place.is_file():
        return {"": place.read_bytes()}
    return {path.relative_to(place).as_posix(): path.read_bytes() for path in place.rglob("*") if path.is_file()}


class TestTheSet:
    def test_judgments_without_texts_are_refused(self, sample: Path, tmp_path: Path) -> None:
        shutil.copy(sample / "trec" / "qrels.txt", tmp_path / "only.txt")
        with pytest.raises(InputError, match="has no texts of queries"):
            read_set(tmp_path / "only.txt")
        data = json.loads((sample / "dataset.json").read_text(encoding="utf-8"))
        del data["corpus"]["pump"]
        (tmp_path / "gold.json").write_text(json.dumps(data), encoding="utf-8")
        with pytest.raises(InputError, match="the text of passage pump is missing"):
            read_set(tmp_path / "gold.json")

    def test_a_set_whose_queries_wait_for_labels_is_no_file_of_judgments(
        self, goldbench_inside: Goldbench, tmp_path: Path
    ) -> None:
        (tmp_path / "manual.md").write_text("The pump starts by itself when the valve opens. " * 9, encoding="utf-8")
        (tmp_path / "log.txt").write_text("when does the pump start\n", encoding="utf-8")
        assert goldbench_inside("build", "manual.md", "--queries-from", "log.txt", "--out", "set").returncode == 0
        refused = goldbench_inside("export", "set", "--to", "ragas", "-o", "out.jsonl")
        problem = holds_no_query(tmp_path / "set").partition(";")[0]
        assert (refused.returncode, problem in refused.stderr) == (2, True), refused.stderr


@pytest.mark.parametrize("to", TARGETS)
class TestEveryTarget:
    def test_the_command_writes_what_python_writes_and_says_what_is_left_out(
        self, to: str, sample: Path, tmp_path: Path, goldbench_inside: Goldbench
    ) -> None:
        before = content(sample)
        done = goldbench_inside("export", sample, "--to", to, "-o", place_for(to, tmp_path))
        assert done.returncode == 0, done.stderr
        assert "have no reference answer." in done.stderr
        assert "Left out because they wait for a label: 1 query." in done.stderr
        left_out = "Left out because nothing in the corpus answers them: 1 query." in done.stderr
        assert left_out != TARGETS[to].contextless
        number = len(QUESTIONS) + (0 if left_out else 1)
        assert f"{number} queries, 5 contexts, 3 reference answers in " in done.stdout
        GoldSet.load(sample).export(to, place_for(to, tmp_path / "again"))
        assert content(place_for(to, tmp_path / "again")) == content(place_for(to, tmp_path))
        assert content(sample) == before
        shown = goldbench_inside("export", sample, "--to", to, "-o", place_for(to, tmp_path / "json"), "--json")
        assert json.loads(shown.stdout)["queries"] == number
        assert goldbench_inside("export", sample, "--to", to).returncode == 0
        assert place_for(to, sample.parent).with_stem(f"run-{to}").exists(), "beside the set"


@pytest.mark.parametrize("to", ["ragas", "mteb"])  # a file, a folder
class TestThePlace:
    def test_what_is_there_is_replaced_only_with_force(self, to: str, sample: Path, tmp_path: Path) -> None:
        found, place = read_set(sample), place_for(to, tmp_path)
        export_set(found, to, place)
        first = content(place)
        with pytest.raises(OutputError, match="exists already; give another --out, or --force to replace it"):
            export_set(found, to, place)
        for name in first:
            file = place / name if name else place
            file.write_bytes(file.read_bytes() + b"old")
        export_set(found, to, place, force=True)
        assert content(place) == first
        assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []

    def test_a_failure_leaves_everything_as_it_was(
        self, to: str, sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        place = place_for(to, tmp_path)
        export_set(read_set(sample), to, place)
        before, target = content(tmp_path), TARGETS[to]

        def fail(exported: ExportedSet, draft: Path) -> None:
            target.write(exported, draft)
            raise OSError(28, "No space left on device")

        monkeypatch.setitem(placement.TARGETS, to, replace(target, write=fail))
        for options in ({"force": True}, {}):
            with pytest.raises(OutputError, match="the disk is full" if options else "exists already"):
                export_set(read_set(sample), to, place, **options)
        with pytest.raises(OutputError, match="the disk is full"):
            export_set(read_set(sample), to, place_for(to, tmp_path / "new"))
        (tmp_path / "new").rmdir()
        assert content(tmp_path) == before

    def test_something_else_is_never_replaced(self, to: str, sample: Path, tmp_path: Path) -> None:
        place = place_for(to, tmp_path)
        place.mkdir()
        (place / "notes.txt").write_text("mine", encoding="utf-8")
        before = content(tmp_path)
        with pytest.raises(OutputError, match="not an earlier export"):
            export_set(read_set(sample), to, place, force=True)
        assert content(tmp_path) == before


def test_a_wrong_target_and_a_file_of_the_set_are_refused(
    sample: Path, tmp_path: Path, goldbench_inside: Goldbench
) -> None:
    done = goldbench_inside("export", sample, "--to", "ragaz")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    gold = GoldSet.load(sample)
    with pytest.raises(UsageError, match=r"no such tool: .ragaz.; give ragas"):
        gold.export("ragaz", tmp_path / "x")
    with pytest.raises(OutputError, match="is one of the inputs"):
        gold.export("ragas", sample / "beir" / "corpus.jsonl", force=True)


def test_a_set_of_which_no_query_has_a_relevant_passage_is_refused(sample: Path, tmp_path: Path) -> None:
    found = read_set(sample, {query_id: {"pump": 1} for query_id in QUESTIONS}, 2)
    with pytest.raises(InputError, match="no query has a relevant passage"):
        export_set(found, "ragas", tmp_path / "x.jsonl")
    some = read_set(sample, {"q1": {"pump": 3}, "q2": {"pump": 1}}, 2)
    done = export_set(some, "ragas", tmp_path / "x.jsonl")
    assert "Left out because no passage judged for them is relevant: 3 queries." in done.remarks


def test_a_missing_package_is_one_line_with_advice(
    sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ir_datasets", None)
    monkeypatch.delitem(sys.modules, "goldbench.exports.standalone.ir_dataset", raising=False)
    with pytest.raises(MissingPackage, match=r"ir-datasets .*or write a file"):
        GoldSet.load(sample).to_ir_datasets(tmp_path / "x")
