"""A history is only added to: whole lines, on the disk, by one writer at a time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from goldbench.errors import InputError, OutputError
from goldbench.formats.runs.history import append_history, read_history
from goldbench.records.scorecard import GoldReference, HistoryEntry, RunCounts, Score
from tests.conftest import ROOT


def entry(number: int = 0, system: str = "bm25") -> HistoryEntry:
    return HistoryEntry(
        at=f"2026-01-01T00:00:{number % 60:02}+00:00",
        goldbench="0",
        gold=GoldReference(name="g", sha256="0", queries=1),
        system=system,
        means={"ndcg@10": Score(mean=number / 7)},
        counts=RunCounts(queries=1, missing=0, extra=0, no_relevant=0, tied=0, holes=0),
    )


def test_what_was_appended_is_read_again_in_order(tmp_path: Path) -> None:
    history = tmp_path / "history.jsonl"
    assert read_history(history) == []
    append_history(history, [entry(1)])
    append_history(history, [entry(2), entry(3, "a\u2028b \x85 é")])
    assert read_history(history) == [entry(1), entry(2), entry(3, "a\u2028b \x85 é")]
    assert len(history.read_text(encoding="utf-8").splitlines()) == 3


def test_what_a_killed_process_left_of_a_line_is_passed_over_and_cut_off(tmp_path: Path) -> None:
    history = tmp_path / "history.jsonl"
    append_history(history, [entry(1), entry(2)])
    whole = history.read_bytes()
    for cut in (1, 5, 60, 100):
        history.write_bytes(whole[:-cut])
        kept = [entry(1), entry(2)][: 2 if cut == 1 else 1]
        assert read_history(history) == kept
        append_history(history, [entry(3)])
        assert read_history(history) == [*kept, entry(3)]


@pytest.mark.parametrize("content", ["no JSON at all", '{"queries": {}}', "[1]", "a\nb", '{"format":1}\n', "{}\n"])
def test_another_file_is_refused_and_left_as_it_is(tmp_path: Path, content: str) -> None:
    other = tmp_path / "dataset.json"
    other.write_text(content, encoding="utf-8")
    with pytest.raises(InputError):
        read_history(other)
    if not content.endswith("\n"):
        with pytest.raises(InputError):
            append_history(other, [entry()])
        assert other.read_text(encoding="utf-8") == content


def test_a_line_that_is_no_entry_is_named_by_its_number(tmp_path: Path) -> None:
    history = tmp_path / "history.jsonl"
    append_history(history, [entry(1)])
    with history.open("a", encoding="utf-8") as file:
        file.write('{"format": 1, "at": "secret"}\n')
    with pytest.raises(InputError, match="line 2") as raised:
        read_history(history)
    assert "secret" not in str(raised.value)


def test_a_place_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="cannot be written"):
        append_history(tmp_path / "file" / "history.jsonl", [entry()])


def test_a_folder_that_is_not_there_is_made(tmp_path: Path) -> None:
    append_history(tmp_path / "new" / "history.jsonl", [entry()])
    assert read_history(tmp_path / "new" / "history.jsonl") == [entry()]


WRITER = """
import sys
from pathlib import Path
from goldbench.formats.runs.history import append_history
from tests.formats.runs.test_history import entry
print("ready", flush=True)
for number in range(int(sys.argv[2])):
    append_history(Path(sys.argv[1]), [entry(number, sys.argv[3] * 200)])
"""


def writer(history: Path, count: int, name: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(history), str(count), name], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )


def test_several_writers_lose_nothing(tmp_path: Path) -> None:
    history = tmp_path / "history.jsonl"
    running = [writer(history, 25, name) for name in "abcd"]
    for process in running:
        process.communicate(timeout=100)
        assert process.returncode == 0
    found = read_history(history)
    assert sorted(item.system[0] for item in found) == sorted("abcd" * 25)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL on this system")
@pytest.mark.slow
def test_a_killed_writer_leaves_a_history_that_can_be_read_and_written(tmp_path: Path) -> None:
    history = tmp_path / "history.jsonl"
    for _ in range(3):
        process = writer(history, 100_000, "k")
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.3)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
    before = read_history(history)
    append_history(history, [entry(5)])
    assert read_history(history) == [*before, entry(5)]
