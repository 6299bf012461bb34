"""What callers give by mistake, or on purpose: one printable line, no raw error, and nothing is changed."""

from __future__ import annotations

import pickle
import re
import tempfile
import threading
from collections.abc import Callable
from functools import partial
from inspect import signature
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import goldbench
from goldbench import GoldSet
from goldbench.api import temporary_folder
from goldbench.api.keywords import BuildOptions, GradeOptions
from goldbench.errors import MissingExtra
from tests.grade.graded_sets import artifacts, write_set

TEXTS = [f"Pump number {n} starts when the tank falls below {n} litres and stops when it is full." for n in range(5)]


def circular() -> dict[str, Any]:
    table: dict[str, Any] = {}
    table["generate"] = table
    return table


class Page:
    """A document of LangChain, as far as its text is concerned."""

    page_content = "The pump starts."


NASTY: list[Any] = [
    *(None, True, False, -1, 0, 1.5, float("nan"), float("inf"), 10**30, 2j, b"bytes", "", " ", "x", "\0", "a\0b"),
    *("\x1b[31m", "\ud800", "x" * 5000, "../..", "--out", [], [None], ["\0"], {}, {1: 2}, {"\x1b[31m": "\x1b[31m"}),
    *(circular(), set(), object()),
    *(int, len, np.int64(3), np.array([1, 2]), pd.NaT, pd.NA, pd.DataFrame({"a": [1]}), Path("\0"), threading.Lock()),
]  # fmt: skip

BUILD = ["documents", *signature(goldbench.build).parameters, *BuildOptions.__annotations__]
LOAD = [*signature(GoldSet.load).parameters]
GRADE = [*(name for name in signature(GoldSet.grade).parameters if name != "self"), *GradeOptions.__annotations__]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("nasty")
    write_set(place / "set", subjects=3)
    return place


def refused(call: Callable[[], object]) -> str | None:
    """Return the line that refuses a call, None if it is not refused; any error but those of goldbench passes."""
    told = None
    try:
        call()
    except goldbench.GoldbenchError as error:
        told = str(error)
    outside_commands = re.sub("goldbench [a-z]+ [^;,)]*", "", told or "")
    assert told is None or (told.isprintable() and " --" not in outside_commands.replace("'--", "")), told
    return told


@pytest.mark.parametrize("name", sorted({*BUILD} - {"options", "progress"}))
def test_build_takes_or_refuses_every_value(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    before = artifacts(folder / "set")
    for value in NASTY:
        given = {"texts": TEXTS, "queries": 1, "no_chunk": True, "dry_run": True, "generator": "simulated"} | {
            name: value
        }
        if name == "documents":
            del given["texts"]
        refused(lambda given=given: goldbench.build(**given, progress=False))
    assert artifacts(folder / "set") == before


@pytest.mark.parametrize("name", LOAD)
def test_load_takes_or_refuses_every_value(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    before = artifacts(folder / "set")
    for value in NASTY:
        refused(lambda value=value: GoldSet.load(**{"path": "set/beir", name: value}))
        if name != "out" or not isinstance(value, str):
            refused(lambda value=value: GoldSet.load(**{"path": "set/beir", "kind": "beir", name: value}))
    assert artifacts(folder / "set") == before


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted({*GRADE} - {"options", "progress"}))
def test_grade_takes_or_refuses_every_value(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    gold, before = GoldSet.load("set"), artifacts(folder / "set")
    server = {"model": "m", "base_url": "http://127.0.0.1:9/v1", "dry_run": True}
    for value in [*NASTY, *({"mine": one} for one in NASTY if name == "runs")]:
        if not (name == "dry_run" and value is False):
            refused(lambda value=value: gold.grade(**{**server, name: value}, progress=False))
    assert artifacts(folder / "set") == before


@pytest.mark.slow
@pytest.mark.parametrize("call", ["card", "save"])
def test_the_other_calls_take_or_refuse_every_value(
    call: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    gold, before = GoldSet.load(folder / "set"), artifacts(folder / "set")
    for value in NASTY:
        refused(lambda value=value: getattr(gold, call)(**{"seed" if call == "card" else "folder": value}))
    assert artifacts(folder / "set") == before


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"queries": True}, "queries: not a valid value: True; give a whole number of at least 1"),
        ({"config": {"generate": {"queries": True}}}, "generate.queries: not a valid value: True"),
        ({"config": {"model": {"max_usd": False}}}, "model.max_usd: not a valid value: False"),
        ({"config": circular()}, "config: a table holds itself"),
        ({"config": {"\x1b[31m": 1}}, "unknown key [31m"),
        ({"config": "no\0thing"}, "config: not a valid path: no\\x00thing"),
        ({"out": "\ud800"}, "out: not a valid path: \\ud800"),
        ({"out": "x" * 5000}, "file name too long"),
        ({"replay": 1}, "replay: not a valid value: 1; give True or False"),
        ({"progress": "no"}, "progress: not a valid value: 'no'; give True or False"),
        ({"texts": set(TEXTS)}, "texts: a set has no order"),
        ({"texts": [""]}, "texts: no document could be read, 1 bad document"),
        ({"texts": [pd.NaT]}, "texts: no document could be read, 1 bad document"),
        ({"texts": {"text": [1, 2, 3]}}, "texts: item 1 is of type list; texts are strings"),
        ({"texts": [{"text": "a"}]}, "item 1 is of type dict; texts are strings, give rows as a frame"),
        ({"texts": [Page()]}, "item 1 is of type Page; texts are strings, give its .page_content"),
        ({"texts": None, "documents": [Page()]}, "give texts=[document.page_content for ...]"),
        ({"texts": None, "documents": [{"text": "a"}]}, "item 1 is of type dict, not a path; give rows as a frame"),
        ({"language": "english"}, "language: not a valid value: 'english'; did you mean en?"),
        ({"seed": "a"}, "seed: not a valid value: 'a'; give a whole number"),
        ({"queries": "5"}, "queries: not a valid value: '5'; give a whole number of at least 1"),
        ({"generator": "x"}, "generator: not a valid value: 'x'; give auto, model or simulated"),
        ({"config": {"generate": {"querys": 1}}}, "unknown key generate.querys; did you mean generate.queries?"),
        ({"config": {"generate": 3}}, "generate: not a table"),
        ({"texts": None, "documents": b"docs"}, "documents: not a valid path or frame: bytes"),
    ],
)  # fmt: skip
def test_build_says_what_is_wrong(
    given: dict[str, Any], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    told = refused(lambda: goldbench.build(**{"texts": TEXTS, "progress": False, **given}))
    assert told is not None
    assert says in told
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"kind": []}, "kind: not a valid value: []; give one of beir, trec"),
        ({"evidence_level": "zz"}, "evidence_level: not a valid value: 'zz'; give one of human, model, smoke"),
        ({"kind": "beir", "evidence_level": "zz"}, "evidence_level: not a valid value: 'zz'"),
        ({"drop_broken": True}, "drop_broken: needs kind="),
        ({"replace": True}, "replace: needs kind="),
        ({"kind": "beir", "split": 7}, "split: not a valid value: 7; give text"),
        ({"kind": "beir", "grades": 3}, "grades: not a valid value: 3; give text"),
        ({"kind": "beir", "relevant_from": "x"}, "relevant_from: not a valid value: 'x'; give a whole number"),
        ({"kind": "beir", "corpus": "a\0"}, "corpus: not a valid path: a\\x00"),
    ],
)  # fmt: skip
def test_load_says_what_is_wrong(given: dict[str, Any], says: str, folder: Path) -> None:
    told = refused(lambda: GoldSet.load(folder / "set" / "beir", **given))
    assert told is not None
    assert says in told


def test_numbers_and_texts_of_numpy_and_pandas_are_what_they_are() -> None:
    texts = {np.int64(7): np.str_(TEXTS[0]), "b": TEXTS[1], "c": pd.NaT}
    gold = goldbench.build(texts=texts, queries=np.int64(1), no_chunk=True, progress=False)
    assert gold.corpus == {"7": TEXTS[0], "b": TEXTS[1]}
    assert not gold.complete


def test_a_seed_of_numpy_is_a_seed(folder: Path) -> None:
    assert GoldSet.load(folder / "set").card(seed=np.int64(2)).card.seed == 2


def test_a_temporary_folder_that_cannot_be_made_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    absent = partial(tempfile.mkdtemp, dir=tmp_path / "absent")
    monkeypatch.setattr(temporary_folder, "tempfile", SimpleNamespace(mkdtemp=absent))
    with pytest.raises(goldbench.OutputError, match=r"no temporary folder can be made \(no such file.*set TMPDIR"):
        goldbench.build(texts=TEXTS, progress=False)


def every_error() -> list[goldbench.GoldbenchError]:
    made: list[goldbench.GoldbenchError] = [
        goldbench.ConfigError(Path("a.toml"), ["one", "two"]),
        goldbench.UnknownMeasure(["one", "two"]),
        goldbench.RetrieverFailed("failed", system="mine"),
        goldbench.CallFailed("timeout", "no answer", attempts=3).at("http://server"),
        goldbench.AnswerRejected("empty", "no text"),
        goldbench.LimitReached("max_usd", "the cap is reached"),
        MissingExtra("plotly", "report"),
        goldbench.MissingPackage("ragas", "is not installed"),
    ]
    made += [kind(Path("a.txt"), "is bad", line=3) for kind in (goldbench.InputError, goldbench.UnreadableDocument)]
    plain = {getattr(goldbench, name) for name in goldbench._PLACES if goldbench._PLACES[name] == "errors"}
    others = sorted(plain - set(map(type, made)), key=lambda kind: kind.__name__)  # in the same order in every process
    return made + [kind("a line") for kind in others]


@pytest.mark.parametrize("error", every_error(), ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_errors_reach_another_process_whole(error: goldbench.GoldbenchError, protocol: int) -> None:
    error.add_note("a note")
    found = pickle.loads(pickle.dumps(error, protocol))
    assert type(found) is type(error)
    assert (str(found), found.args, vars(found)) == (str(error), error.args, vars(error))
