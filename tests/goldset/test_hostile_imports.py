"""Sets of other tools with rows that no tool writes: named by their line, and nothing of a row is lost silently."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from goldbench.errors import InputError
from goldbench.formats.benchmarks.collection import Chosen
from goldbench.formats.benchmarks.kinds import open_collection
from goldbench.goldset.importer import ImportResult, Options, import_benchmark, import_collection

SAMPLE = {"user_input": "When?", "reference": "Now.", "reference_contexts": ["It is now."]}
ASKED = {"qid": "q1", "query": "When?", "retrieval_gt": [["d1"]], "generation_gt": ["Now."]}
ODD: list[Any] = [["x"], {"a": []}, 5, "no-such", None]
"""Values that an export of goldbench never writes."""


def bring(kind: str, path: Path, out: Path) -> ImportResult:
    return import_collection(open_collection(kind, str(path), Chosen()), out, Options(Chosen()))


def ragas(folder: Path, *rows: dict[str, Any]) -> ImportResult:
    (folder / "set.jsonl").write_text("".join(f"{json.dumps({**SAMPLE, **row})}\n" for row in rows))
    return bring("ragas", folder / "set.jsonl", folder / "out")


def autorag(folder: Path, **row: Any) -> ImportResult:
    pl.DataFrame([{**ASKED, **row}]).write_parquet(folder / "qa.parquet")
    pl.DataFrame([{"doc_id": "d1", "contents": "It is now."}]).write_parquet(folder / "corpus.parquet")
    return bring("autorag", folder, folder / "out")


NAMES = ("kind", "needs", "evidence", "history", "asked", "source", "evidence_level", "notice", "relevant_from")


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("kind", ["ragas", "autorag"])
def test_odd_notes_are_passed_over(tmp_path: Path, kind: str, odd: Any) -> None:
    notes = dict.fromkeys(NAMES, odd) | {"asked": None}
    if kind == "ragas":
        ragas(tmp_path, {"goldbench": notes})
    else:
        autorag(tmp_path, goldbench=json.dumps(notes))
    assert json.loads((tmp_path / "out" / "dataset.json").read_bytes())["queries"] == {"q1": "When?"}


def test_a_grade_that_is_true_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"row 1: has a grade in goldbench that is not a whole number"):
        autorag(tmp_path, goldbench='{"grades": {"d1": true}}')


@pytest.mark.slow
@pytest.mark.parametrize("path", ["../other/*.jsonl", "{}/other/rows.jsonl"])
def test_a_card_that_names_files_outside_its_folder_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    pytest.importorskip("datasets", reason="extra benchmarks is not installed")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    place, other = tmp_path / "set", tmp_path / "other"
    for folder, text in ((place, "one"), (other, "a private text")):
        folder.mkdir()
        rows = json.dumps({"_id": "d1", "title": "T", "text": text})
        (folder / ("corpus.jsonl" if folder is place else "rows.jsonl")).write_text(f"{rows}\n")
    (place / "queries.jsonl").write_text('{"_id": "q1", "text": "which"}\n')
    (place / "test.jsonl").write_text('{"query-id": "q1", "corpus-id": "d1", "score": 1}\n')
    files = {"corpus": path.format(tmp_path), "queries": "queries.jsonl", "test": "test.jsonl"}
    configs = "".join(
        f"- config_name: {'default' if split == 'test' else split}\n"
        f"  data_files:\n  - split: {split}\n    path: {file}\n"
        for split, file in files.items()
    )
    (place / "README.md").write_text(f"---\nconfigs:\n{configs}---\n")
    (tmp_path / "link").symlink_to(place)
    monkeypatch.chdir(tmp_path)
    for name in ("set", "link"):
        with pytest.raises(InputError, match=r"rows\.jsonl, which is outside the folder"):
            bring("hf", Path(name), tmp_path / "out")


def test_a_data_set_in_a_folder_is_read_anew_and_a_damaged_one_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("datasets", reason="extra benchmarks is not installed")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    (tmp_path / "set").mkdir()
    monkeypatch.chdir(tmp_path / "set")
    rows = {"queries": {"_id": "q1", "text": "which"}, "qrels": {"query-id": "q1", "corpus-id": "d1", "score": 1}}
    card = "".join(f"- config_name: {name}\n  data_files: {name}.jsonl\n" for name in ("corpus", *rows))
    Path("README.md").write_text(f"---\nconfigs:\n{card}---\n", encoding="utf-8")
    for name, row in rows.items():
        Path(f"{name}.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    chosen = Options(Chosen(split="train"))
    for number, text in enumerate(("one", "two")):  # of one length, as nobody looks at the size
        row = {"_id": "d1", "title": "", "text": text}
        Path("set/corpus.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
        import_benchmark("hf", "set", Path(f"out{number}"), chosen)
        found = json.loads(Path(f"out{number}/dataset.json").read_text(encoding="utf-8"))
        assert found["corpus"] == {"d1": text}
    Path("set/qrels.jsonl").write_bytes(b"\xff\x00")
    with pytest.raises(InputError, match=r"^datasets set qrels, split train: cannot be loaded \(\w+: [^\n]+\)$"):
        import_benchmark("hf", "set", Path("out"), chosen)
    assert capfd.readouterr().err == ""


def test_an_export_that_lost_its_corpus_is_not_taken_for_an_id(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "goldbench.json").write_text("{}")
    with pytest.raises(InputError, match=r"holds no corpus\.jsonl or"):
        bring("ir_datasets", tmp_path / "x", tmp_path / "out")
