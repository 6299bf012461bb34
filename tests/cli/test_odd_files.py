"""Files that users name: a pipe, a device or absurd nesting ends in one line, and nothing waits for ever."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from goldbench.config import load_config
from goldbench.errors import GoldbenchError
from goldbench.formats import packed_files
from goldbench.formats.annotations.exchange import text_of
from goldbench.formats.faults import in_file
from goldbench.formats.jsonl import RecordFile
from goldbench.formats.lines import json_objects
from goldbench.formats.packed_files import Source
from goldbench.formats.runs.history import append_history, read_history
from goldbench.formats.runs.scorecard_files import read_record
from goldbench.llm.store import connect
from goldbench.prompts.loader import PromptError, load
from goldbench.records.corpus import Chunk
from goldbench.records.scorecard import Baseline
from goldbench.retrieval.token_files import TokenFiles
from goldbench.review.ledger import open_ledger
from tests.conftest import posix

pytestmark = [posix, pytest.mark.timeout(100)]


def _exchanged(path: Path) -> str:
    with in_file(path):
        return text_of(path)


READERS: dict[str, Callable[[Path], object]] = {
    "configuration": lambda path: load_config(path, {}),
    "tokens": lambda path: TokenFiles([path]),
    "annotations": _exchanged,
    "history": read_history,
    "history written": lambda path: append_history(path, []),
    "baseline": lambda path: read_record(path, Baseline),
    "records": lambda path: RecordFile.open(path, Chunk),
    "store": connect,
    "ledger": lambda path: open_ledger(path, data_sha="0" * 64),
    "lines": lambda path: list(json_objects(Source(path))),
}


@pytest.mark.parametrize("reader", READERS)
def test_a_pipe_that_nobody_writes_into_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reader: str
) -> None:
    monkeypatch.setattr(packed_files, "PATIENCE_S", 0.1)
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(GoldbenchError, match="pipe") as caught:
        READERS[reader](path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("reader", sorted(READERS.keys() - {"history written"}))
def test_a_device_is_one_line(reader: str) -> None:
    with pytest.raises(GoldbenchError) as caught:
        READERS[reader](Path("/dev/zero"))
    assert "\n" not in str(caught.value)


def test_a_prompt_that_is_a_pipe_is_not_passed_over(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "generate.v1.md")
    with pytest.raises(PromptError, match="not a plain file"):
        load("generate.v1", tmp_path)


@pytest.mark.parametrize("text", ["a = " + "[" * 10_000, "a = " + "{a=" * 10_000], ids=["lists", "tables"])
def test_absurd_nesting_in_a_configuration_is_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.toml").write_text(text)
    with pytest.raises(GoldbenchError, match=r"nested too deeply|maximum recursion depth") as caught:
        load_config(tmp_path / "a.toml", {})
    assert "\n" not in str(caught.value)


def test_ten_thousand_dotted_keys_in_a_configuration_are_one_line(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text("a." * 10_000 + "a = 1\n")
    with pytest.raises(GoldbenchError, match="unknown key a"):
        load_config(tmp_path / "a.toml", {})


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE answers DROP COLUMN usd",
        "ALTER TABLE vectors RENAME COLUMN model TO m",
        "DROP TABLE batches",
        "ALTER TABLE answers ADD COLUMN mine TEXT",
    ],
)
def test_an_answer_store_with_other_columns_says_so(tmp_path: Path, statement: str) -> None:
    path = tmp_path / "answers.sqlite"
    connect(path).close()
    store = sqlite3.connect(path)
    store.execute(statement)
    store.commit()
    store.close()
    with pytest.raises(GoldbenchError, match="has other tables than it should") as caught:
        connect(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("table", "column"), [("event", "body"), ("ledger", "format")])
def test_a_ledger_with_other_columns_says_so_when_it_is_read(tmp_path: Path, table: str, column: str) -> None:
    path = tmp_path / "review.sqlite"
    open_ledger(path, data_sha="0" * 64).close()
    ledger = sqlite3.connect(path)
    ledger.execute(f"ALTER TABLE goldbench_{table} RENAME COLUMN {column} TO other")
    ledger.commit()
    ledger.close()
    with pytest.raises(GoldbenchError, match=f"no such column: {column}") as caught:
        list(open_ledger(path, data_sha="0" * 64).events())
    assert "\n" not in str(caught.value)
