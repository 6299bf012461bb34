"""Forked commands are processes of their own: folder, environment, streams, exit code and signals are theirs."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.forked_commands import AT_THE_START, Forked, fits, start

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="commands are forked on Linux")
OWN = "import os, sys\nprint(os.getcwd(), os.environ.get('OPENAI_X'), flush=True)\nprint('é', file=sys.stderr)\n"


RETRIEVE = ["retrieve", "gold.json", "--system", "python:mine:search", "-o", "run.trec"]


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), **more}


def place_with(folder: Path, code: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "mine.py").write_text(code, encoding="utf-8")
    gold = {"queries": {"q": "What?"}, "corpus": {"c1": "A.", "c2": "B."}, "relevant_docs": {"q": ["c1"]}}
    (folder / "gold.json").write_text(json.dumps(gold), encoding="utf-8")
    return folder


def test_a_forked_command_has_its_own_folder_environment_streams_and_modules(tmp_path: Path) -> None:
    for name in ("c1", "c2"):
        place = place_with(tmp_path / name, f"{OWN}def search(query, k):\n    return ['{name}']\n")
        process = Forked(RETRIEVE, place, environment(OPENAI_X=name))
        out, err = process.communicate()
        assert process.pid != os.getpid()
        assert (process.returncode, out) == (0, "1 result for 1 query in run.trec\n"), err
        assert err.split("\n")[:2] == [f"{place} {name}", "é"]  # what a retriever prints is no result
        assert (place / "run.trec").read_text(encoding="utf-8").split()[2] == name


def test_exit_codes_and_signals_reach_the_test(tmp_path: Path) -> None:
    refused = Forked(["score", "none.qrels"], tmp_path, environment())
    assert refused.communicate()[1].startswith("goldbench: ")
    assert refused.returncode == refused.poll() == 2
    os.mkfifo(tmp_path / "gold.qrels")
    waits = Forked(["validate", "gold.qrels"], tmp_path, environment())
    waits.send_signal(signal.SIGKILL)
    waits.communicate()
    assert waits.returncode == -signal.SIGKILL


def test_what_an_interpreter_reads_at_its_start_needs_a_new_one(tmp_path: Path) -> None:
    fitting = {**AT_THE_START, "OPENAI_BASE_URL": "http://127.0.0.1:1", "COLUMNS": "40"}
    assert fits(fitting)  # whatever libraries set in this process meanwhile
    for name in ("PYTHONHASHSEED", "OMP_NUM_THREADS", "HF_HOME"):
        assert not fits({**fitting, name: "1"})
    process = start(["--version"], tmp_path, environment(PYTHONHASHSEED="1"))
    assert not isinstance(process, Forked)
    assert process.communicate()[0].startswith("goldbench ")


def test_two_runs_have_two_seeds_of_hashes(tmp_path: Path) -> None:
    place = place_with(tmp_path, "print(hash('a'), flush=True)\ndef search(query, k):\n    return ['c1']\n")
    seen = {Forked(RETRIEVE, place, environment()).communicate()[1].split("\n")[0] for _ in range(2)}
    assert len(seen) == 2
    assert all(re.fullmatch(r"-?\d+", one) for one in seen)
