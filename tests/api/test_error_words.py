"""Errors and remarks in Python: parameters are keywords, and what the user wrote stays as it is."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

import goldbench
from goldbench.api.keywords import in_python
from goldbench.errors import InputError, Message, UsageError

QRELS = {"q --missing zero": {"d1": 1}, "q2": {"d1": 1}}
RUN = {"q2": {"d1": 1.0}}


@pytest.mark.parametrize(
    ("message", "command_line", "python"),
    [
        (Message("give {out=}, or {replace=True}"), "give --out, or --replace", "give out=, or replace=True"),
        (Message("{base_url}: wrong"), "--base-url: wrong", "base_url: wrong"),
        (Message("use {missing='zero'}"), "use --missing zero", "use missing='zero'"),
        (Message("{relevant_from=1} counts"), "--relevant-from 1 counts", "relevant_from=1 counts"),
        (Message("{run=} and {measure}"), "--run and --measure", "runs= and measures"),
        (
            Message("{}: {:,} of {}", "a --out b", 1000, Message("{out=}")),
            "a --out b: 1,000 of --out",
            "a --out b: 1,000 of out=",
        ),
        ("x --replace y", "x --replace y", "x --replace y"),
    ],
)
def test_each_front_end_spells_parameters_in_its_own_way(message: str, command_line: str, python: str) -> None:
    assert (str(message), in_python(message)) == (command_line, python)


def test_a_path_with_words_like_options_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "x --replace y.trec"
    with pytest.raises(InputError) as caught:
        goldbench.evaluate(path, RUN)
    assert str(caught.value) == f"{path}: {caught.value.problem}"


def test_an_id_with_words_like_options_stays_as_it_is_beside_keywords() -> None:
    with pytest.raises(InputError) as caught:
        goldbench.evaluate(QRELS, RUN, missing="error")
    assert "'q --missing zero'" in caught.value.problem
    assert "missing='skip'" in caught.value.problem
    assert str(caught.value).endswith(f": {caught.value.problem}")


def test_an_error_names_its_parameter(tmp_path: Path) -> None:
    (tmp_path / "corpus.jsonl").write_text('{"_id": "d1", "text": "One."}\n', encoding="utf-8")
    (tmp_path / "queries.jsonl").write_text('{"_id": "q1", "text": "Which?"}\n', encoding="utf-8")
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\n", encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        goldbench.GoldSet.load(tmp_path, kind="beir", grades="2=0,1=1")
    assert caught.value.parameter == "grades"
    assert str(caught.value) == f"grades: {caught.value.problem}"


@pytest.mark.parametrize(
    "error",
    [
        UsageError(Message("leave out {batch=True}"), parameter="replay"),
        InputError("x --out y", Message("give {out=}"), line=3),
        goldbench.ConfigError(None, [Message("{chunk_size}: wrong"), "plain"]),
        goldbench.RetrieverFailed(Message("use {engine='local'}"), system="bm25"),
    ],
)
def test_an_error_of_another_process_is_spelled_as_one_of_this(error: goldbench.GoldbenchError) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert str(copy) == str(error)
    assert in_python(copy.args[0]) == in_python(error.args[0]) != str(error)


def test_what_is_wrong_with_a_file_is_told_by_the_key_of_the_setting(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("id,text\n1,One text.\n", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        goldbench.build(tmp_path / "table.csv", text_field="body", generator="simulated", strict=True, progress=False)
    assert "documents.text_field" in caught.value.problem
