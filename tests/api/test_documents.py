"""What ``goldbench.build`` takes, and that it gives, byte for byte, what the command gives."""

from __future__ import annotations

import asyncio
import copy
import gc
import json
import math
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import polars as pl
import pytest

import goldbench
from goldbench.api import temporary_folder
from goldbench.errors import DONE_IN_PART
from goldbench.goldset.integrity import validate
from tests.conftest import ROOT, Goldbench
from tests.generate.test_build import artifacts, corpus
from tests.model_server.fixture import ServerHandle


def silent(*given: Any, **options: Any) -> goldbench.GoldSet:
    return goldbench.build(*given, progress=False, **options)


def texts_of(folder: Path) -> list[str]:
    return [path.read_text(encoding="utf-8") for path in sorted(corpus(folder).rglob("*.md"))]


@pytest.fixture
def texts(tmp_path: Path) -> list[str]:
    return texts_of(tmp_path / "docs")


def same_as_the_command(
    goldbench_inside: Goldbench, tmp_path: Path, mine: Path, *command: object, code: int = 0
) -> None:
    done = goldbench_inside("build", *command, "--out", tmp_path / "theirs")
    assert done.returncode == code, done.stderr
    assert artifacts(mine) == artifacts(tmp_path / "theirs")


def test_paths_give_what_the_command_gives(goldbench_inside: Goldbench, tmp_path: Path) -> None:
    corpus(tmp_path / "docs")
    folder = str(tmp_path / "docs")
    options = {"queries": 6, "chunk_size": 200, "seed": 3}
    gold = silent(folder, out=tmp_path / "mine", **options)
    arguments = ("--queries", 6, "--chunk-size", 200, "--seed", 3)
    same_as_the_command(goldbench_inside, tmp_path, gold.path, folder, *arguments, code=DONE_IN_PART)
    assert validate(gold.path).problems == ()
    several = silent([Path(folder) / "part-0", f"{folder}/part-[123]"], out=tmp_path / "several", queries=6)
    assert len(several.corpus) == 12


def test_a_configuration_is_a_file_or_its_tables_and_keywords_override_it(
    goldbench_inside: Goldbench, tmp_path: Path
) -> None:
    corpus(tmp_path / "docs")
    tables = {"generate": {"queries": 9, "seed": 5, "constraints": {"max_words": 20}}, "chunk": {"size": 300}}
    (tmp_path / "my.toml").write_text(
        "[generate]\nqueries = 9\nseed = 5\nconstraints.max_words = 20\n[chunk]\nsize = 300\n", encoding="utf-8"
    )
    by_file = silent(tmp_path / "docs", config=tmp_path / "my.toml", queries=4, out=tmp_path / "one")
    by_tables = silent(tmp_path / "docs", config=tables, queries=4, out=tmp_path / "two")
    assert artifacts(by_file.path) == artifacts(by_tables.path)
    assert tables["generate"]["queries"] == 9
    same_as_the_command(goldbench_inside, tmp_path, by_file.path, "docs", "--config", "my.toml", "--queries", 4)


def test_texts_give_what_a_file_of_them_gives(goldbench_inside: Goldbench, tmp_path: Path, texts: list[str]) -> None:
    texts.append(texts[0])
    file = tmp_path / "texts.jsonl"
    file.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), encoding="utf-8")
    gold = silent(texts=texts, queries=5, out=tmp_path / "mine")
    assert len(gold.corpus) == 13
    same_as_the_command(goldbench_inside, tmp_path, gold.path, file, "--queries", 5)
    assert artifacts(silent(texts=(text for text in texts), queries=5).path) == artifacts(gold.path)
    assert artifacts(silent(texts=pd.Series(texts), queries=5).path) == artifacts(gold.path)


def test_texts_by_id_keep_their_ids(goldbench_inside: Goldbench, tmp_path: Path, texts: list[str]) -> None:
    named = {f"doc-{number}": text for number, text in enumerate(texts)}
    file = tmp_path / "texts.jsonl"
    file.write_text("".join(json.dumps({"id": name, "text": text}) + "\n" for name, text in named.items()))
    gold = silent(texts=named, queries=5, no_chunk=True, out=tmp_path / "mine")
    assert gold.corpus == named
    same_as_the_command(goldbench_inside, tmp_path, gold.path, file, "--queries", 5, "--no-chunk", "--id-field", "id")
    assert silent(texts={7: texts[0], "x": texts[1]}, queries=1, no_chunk=True).corpus.keys() == {"7", "x"}


@pytest.mark.parametrize("library", [pd, pl])
def test_a_frame_gives_what_its_parquet_file_gives(
    goldbench_inside: Goldbench, tmp_path: Path, texts: list[str], library: Any
) -> None:
    rows = {"key": [f"d{n}" for n in range(12)], "head": ["A title"] * 12, "body": texts}
    frame = library.DataFrame(rows)
    if library is pd:
        frame.to_parquet(tmp_path / "frame.parquet")
    else:
        frame.write_parquet(tmp_path / "frame.parquet")
    options = {"queries": 5, "text_field": "body", "title_field": "head", "id_field": "key", "no_chunk": True}
    gold = silent(frame, out=tmp_path / "mine", **options)
    assert set(gold.corpus) == set(rows["key"])
    arguments = ("--text-field", "body", "--title-field", "head", "--id-field", "key", "--no-chunk", "--queries", 5)
    same_as_the_command(goldbench_inside, tmp_path, gold.path, tmp_path / "frame.parquet", *arguments)


@pytest.mark.parametrize("library", [pd, pl])
def test_cells_of_every_type_are_written_as_in_the_parquet_file(
    goldbench_inside: Goldbench, tmp_path: Path, library: Any
) -> None:
    cells: dict[str, list[Any]] = {
        "code": [f"E{number}" for number in range(9)],
        "cause": ["The tank is empty and the pump runs dry", *[None] * 8],
        "whole": list(range(9)),
        "share": [0.5, 1.0, None, *[2e-7] * 6],
        "open": [True, False, None] * 3,
        "day": [*[datetime(2026, 1, 31, 12, 30)] * 8, None],  # noqa: DTZ001
        "list": [["a", "b"]] * 9,
    }
    frame = library.DataFrame(cells)
    if library is pd:
        frame.to_parquet(tmp_path / "frame.parquet")
        frame = frame.astype({"code": "category"}).set_index(pd.Index([9.5 - n for n in range(9)]))
    else:
        frame.write_parquet(tmp_path / "frame.parquet")
    gold = silent(frame, queries=1, no_chunk=True, out=tmp_path / "mine")
    assert all(text.startswith("code: E") for text in gold.corpus.values())
    command = ("frame.parquet", "--queries", 1, "--no-chunk")
    same_as_the_command(goldbench_inside, tmp_path, gold.path, *command, code=DONE_IN_PART)


def test_missing_texts_are_counted_and_named(texts: list[str]) -> None:
    gold = silent(texts=[*texts, None, math.nan, "  ", pd.NA], queries=5)
    assert not gold.complete
    assert len(gold.corpus) == 12
    assert [line.strip() for line in gold.remarks] == [
        "4 failures, listed in manifest.json:",
        *(f"texts: row {number}: has no text" for number in (13, 14, 15, 16)),
    ]
    frame = pd.DataFrame({"text": [*texts, None, math.nan]})
    assert sum("frame: row" in line for line in silent(frame, queries=5).remarks) == 2
    with pytest.raises(goldbench.InputError, match="frame: row 13: has no text"):
        silent(frame, queries=5, strict=True)


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({}, "neither documents nor texts"),
    ({"documents": "docs", "texts": ["x"]}, "both documents and texts"),
    ({"texts": "one text"}, "texts: not a valid list of texts: str"),
    ({"texts": b"bytes"}, "texts: not a valid list of texts: bytes"),
    ({"texts": 7}, "texts: not a valid list of texts: int"),
    ({"texts": []}, "texts: is empty"),
    ({"texts": {}}, "texts: is empty"),
    ({"texts": ["x", 7]}, "texts: item 2 is of type int; texts are strings"),
    ({"texts": {"a": b"x"}}, "texts: item 1 is of type bytes"),
    ({"texts": {"a b": "x"}}, "contains white space"),
    ({"texts": ["half a \ud800 pair"]}, "half a surrogate pair"),
    ({"texts": pd.DataFrame({"text": ["x"]})}, "texts: not a valid list of texts: a frame"),
    ({"documents": {"a": "x"}}, "documents: not a valid path or frame: dict; give texts as texts="),
    ({"documents": 7}, "documents: not a valid path or frame: int"),
    ({"documents": []}, "documents: is empty"),
    ({"documents": [None]}, "documents: item 1 is of type NoneType, not a path"),
    ({"documents": ["A text that is\nno path"]}, "documents: item 1 is a text of 22 characters, not a path"),
    (
        {"documents": "no/such/place"},
        "no/such/place: no such file or folder; give documents or a folder of them; a string is a path: give texts as",
    ),
    ({"documents": ""}, "documents: item 1 is empty, not a path"),
    ({"documents": pd.DataFrame({"text": []})}, "frame: has no rows"),
    ({"documents": pd.DataFrame({0: ["x"]})}, "frame: the column name 0 is not a string"),
    ({"documents": pd.DataFrame([["x", "y"]], columns=["a", "a"])}, "frame: has two columns named a"),
    ({"documents": pd.DataFrame({"text": [[]]})}, "the first: row 1: text is not text"),
    ({"documents": pd.DataFrame({"text": ["x", object()]})}, "frame: row 2: text is of type object; make the column"),
    ({"documents": pl.DataFrame({"text": [{1}]}, schema={"text": pl.Object})}, "frame: row 1: text is of type set"),
    ({"documents": pl.LazyFrame({"text": ["x"]})}, "call collect() first"),
    (
        {"documents": pd.DataFrame({"text": ["x"]}), "text_field": "body"},
        "frame: no document could be read, 1 bad document, the first: has no field body (documents.text_field)",
    ),
    ({"texts": ["x"], "querys": 3}, "unknown keyword 'querys'; did you mean queries?"),
    ({"texts": ["x"], "queries": 0}, "queries: not a valid value: 0; give a whole number of at least 1"),
    ({"texts": ["x"], "config": {"generate": {"queriez": 1}}}, "unknown key generate.queriez"),
    ({"texts": ["x"], "config": "nowhere.toml"}, "nowhere.toml: file not found"),
    ({"texts": ["x"], "out": 7}, "out: not a valid path: int"),
    ({"texts": ["x"], "model": "m", "base_url": "http://127.0.0.1:9/v1"}, "out: a model's answers are stored"),
    ({"texts": ["x"], "model": "m"}, "give base_url= (or set OPENAI_API_KEY or OPENAI_BASE_URL), or model='local'"),
    ({"texts": ["x"], "replay": True, "batch": True}, "replay=True sends nothing: leave out batch=True"),
]


@pytest.mark.parametrize(("given", "says"), REFUSED, ids=[says for _, says in REFUSED])
def test_bad_input_is_one_line_in_the_words_of_python(
    given: dict[str, Any], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(goldbench.GoldbenchError) as caught:
        silent(**given)
    told = str(caught.value)
    assert says in told
    assert "\n" not in told
    assert " --" not in told
    assert list(tmp_path.iterdir()) == []


class Broken(dict[str, str]):
    """A mapping whose reading fails."""

    def items(self) -> Any:
        raise OSError(5, "Input/output error", "/data/x")


def reading(path: str) -> Iterator[str]:
    yield "The pump starts when the tank falls below forty litres."
    raise OSError(5, "Input/output error", path)


@pytest.mark.parametrize(
    "given", [{"texts": reading("/data/x")}, {"documents": reading("/data/x")}, {"texts": Broken()}]
)
def test_what_code_of_the_caller_raises_passes_as_it_is(given: dict[str, Any]) -> None:
    with pytest.raises(OSError, match="Input/output error") as caught:
        goldbench.build(**given, progress=False)
    assert type(caught.value) is OSError
    assert not vars(caught.value)


def test_what_is_there_already_is_not_replaced_unasked(tmp_path: Path, texts: list[str]) -> None:
    first = artifacts(silent(texts=texts, queries=5, out=tmp_path / "run").path)
    assert artifacts(silent(texts=texts, queries=5, out=tmp_path / "run").path) == first
    with pytest.raises(goldbench.OutputError, match="give another out=, or replace=True to replace it"):
        silent(texts=texts, queries=3, out=tmp_path / "run")
    assert artifacts(tmp_path / "run") == first
    assert len(silent(texts=texts, queries=3, out=tmp_path / "run", replace=True).queries) == 3


def test_changed_documents_replace_their_set_and_other_documents_do_not(
    tmp_path: Path, texts: list[str], goldbench_inside: Goldbench
) -> None:
    others = [" ".join(reversed(text.split())) for text in texts]
    edited = [f"{text} Indeed." for text in texts]
    for place, given in (("all", texts), ("edited", edited), ("some", edited[:6]), ("others", others)):
        lines = "".join(json.dumps({"text": text}) + "\n" for text in given)
        (tmp_path / place).mkdir()
        (tmp_path / place / "texts.jsonl").write_text(lines, encoding="utf-8")
    for place, expected in (("all", 0), ("edited", 0), ("some", 0), ("others", 2)):
        done = goldbench_inside("build", f"{place}/texts.jsonl", "--out", "theirs", "--queries", 5)
        assert done.returncode == expected, done.stderr
    silent(texts=texts, queries=5, out=tmp_path / "mine")
    silent(texts=edited, queries=5, out=tmp_path / "mine")
    silent(texts=edited[:6], queries=5, out=tmp_path / "mine")
    with pytest.raises(goldbench.OutputError, match="of other documents; give another out=, or replace=True"):
        silent(texts=others, queries=5, out=tmp_path / "mine")
    assert artifacts(tmp_path / "mine") == artifacts(tmp_path / "theirs")


def test_a_set_without_a_folder_goes_with_its_last_reference_unless_it_is_saved(
    tmp_path: Path, texts: list[str]
) -> None:
    gold = silent(texts=texts, queries=5)
    place, files = gold.path, artifacts(gold.path)
    kept = gold.save(tmp_path / "new" / "kept")
    assert artifacts(kept.path) == files
    assert kept.qrels == gold.qrels
    with pytest.raises(goldbench.OutputError, match="exists"):
        gold.save(kept.path)
    del gold
    gc.collect()
    assert not place.parent.exists()
    assert validate(kept.path).problems == ()


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_copies_share_a_temporary_folder(texts: list[str], copied: Callable[[Any], Any]) -> None:
    gold = silent(texts=texts, queries=3)
    other, place, queries = copied(gold), gold.path, gold.queries
    del gold
    gc.collect()
    assert other.to_pandas().queries["query_id"].tolist() == list(queries)
    del other
    gc.collect()
    assert not place.exists()


FORKS = """
import gc, os, pickle, sys
import goldbench
texts = [f"Pump number {n} starts when the tank falls below {n} litres and stops when it is full." for n in range(9)]
gold = goldbench.build(texts=texts, queries=2, no_chunk=True, progress=False)
for end in (lambda: sys.exit(0), lambda: os._exit(0), None):
    if not (child := os.fork()):
        if end:
            end()
        kept = len(pickle.loads(pickle.dumps(gold)).queries)
        del gold
        gc.collect()
        os._exit(kept)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == (0 if end else len(gold.queries))
    assert gold.path.exists(), end
print(gold.path)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.slow
def test_a_child_process_leaves_the_folder_to_its_parent() -> None:
    command = [sys.executable, "-W", "ignore", "-c", FORKS]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not Path(done.stdout.strip()).exists()


def test_a_build_that_fails_leaves_no_folder_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made_here = partial(tempfile.mkdtemp, dir=tmp_path)
    monkeypatch.setattr(temporary_folder, "tempfile", SimpleNamespace(mkdtemp=made_here))
    with pytest.raises(goldbench.GoldbenchError):
        silent(texts=["", "  "])
    assert list(tmp_path.iterdir()) == []


def test_a_model_writes_and_a_second_call_asks_nothing(
    tmp_path: Path, texts: list[str], model_server: ServerHandle, goldbench_inside: Goldbench
) -> None:
    options: dict[str, Any] = {"model": "m", "base_url": model_server.base_url, "queries": 5}
    gold = silent(texts=texts, out=tmp_path / "run", **options)
    assert gold.metadata["model"] == "m"
    assert (tmp_path / "answers.sqlite").exists()
    asked = model_server.stats()["requests"]
    assert asked
    again = silent(texts=texts, answers=tmp_path / "answers.sqlite", **options)
    assert artifacts(again.path) == artifacts(gold.path)
    assert model_server.stats()["requests"] == asked


def test_a_dry_run_counts_and_sends_nothing(tmp_path: Path, texts: list[str], model_server: ServerHandle) -> None:
    options: dict[str, Any] = {"model": "m", "base_url": model_server.base_url, "queries": 5, "progress": False}
    plan = goldbench.build(texts=texts, dry_run=True, **options)
    assert plan.requests == 5
    assert plan.usd is None
    assert plan.to_pandas().set_index("stage").loc["generate", "requests"] == 5
    assert "Nothing was sent or written." in repr(plan)
    assert "<table " in plan._repr_html_()
    offline = goldbench.build(texts=texts, dry_run=True, progress=False)
    assert (offline.requests, "0 requests, no cost" in repr(offline)) == (0, True)
    assert model_server.stats()["requests"] == 0


def test_it_works_inside_a_running_loop_and_in_a_thread(tmp_path: Path, texts: list[str]) -> None:
    async def inside() -> goldbench.GoldSet:
        return silent(texts=texts, queries=4, out=tmp_path / "inside")

    found = [asyncio.run(inside())]
    thread = threading.Thread(target=lambda: found.append(silent(texts=texts, queries=4, out=tmp_path / "thread")))
    thread.start()
    thread.join()
    outside = silent(texts=texts, queries=4, out=tmp_path / "outside")
    assert [artifacts(gold.path) for gold in found] == [artifacts(outside.path)] * 2


def test_progress_goes_to_standard_error_or_nowhere(texts: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    silent(texts=texts, queries=4)
    assert capfd.readouterr() == ("", "")
    goldbench.build(texts=[*texts, None], queries=4)
    told = capfd.readouterr()
    assert told.out == ""
    assert "simulated offline" in told.err
    assert "load: 12" in told.err
    assert "texts: row 13: has no text" in told.err


@pytest.mark.slow
def test_a_list_of_twenty_thousand_texts() -> None:
    draw = random.Random(0)
    words = ["".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=draw.randint(3, 9))) for _ in range(6000)]

    def many() -> Iterator[str]:
        for _ in range(20_000):
            yield " ".join(draw.choices(words, k=25)) + "."

    gold = silent(texts=many(), queries=20, no_chunk=True)
    assert len(gold.corpus) == 20_000
    assert len(gold.queries) == 20


def test_office_files_are_converted_from_inside_a_loop_too() -> None:
    pytest.importorskip("markitdown", reason="the extra documents is not installed")

    async def inside() -> goldbench.GoldSet:
        return silent(ROOT / "data" / "example" / "documents" / "service" / "hand-over-visit.docx", queries=1)

    gold = asyncio.run(inside())
    assert gold.complete
    assert len(gold.corpus) > 1


def test_a_graded_build_is_that_of_the_command(
    tmp_path: Path, model_server: ServerHandle, goldbench_inside: Goldbench
) -> None:
    corpus(tmp_path / "docs", 6)
    options: dict[str, Any] = {"model": "m", "base_url": model_server.base_url, "queries": 3, "grade": True}
    (tmp_path / "untested.toml").write_text("[grade]\ncanaries = 0.0\n", encoding="utf-8")
    options["config"] = tmp_path / "untested.toml"
    gold = silent(tmp_path / "docs", out=tmp_path / "mine", **options)
    assert any(line.startswith("pool: ") for line in gold.remarks)
    assert (gold.path / "4-judgments.jsonl").exists()
    shutil.copy(tmp_path / "answers.sqlite", tmp_path / "copy.sqlite")
    command = ("docs", "--queries", 3, "--grade", "--model", "m", "--base-url", model_server.base_url)
    command += ("--config", "untested.toml", "--answers", "copy.sqlite")
    same_as_the_command(goldbench_inside, tmp_path, gold.path, *command, code=DONE_IN_PART)
