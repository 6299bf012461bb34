"""What differs between systems: what only POSIX has, permissions, and the encoding of a pipe."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

from goldbench.review.security import key_note, session_key
from tests.conftest import IMPORT_PATH


def test_a_key_that_others_can_read_is_one_line(tmp_path: Path) -> None:
    key = tmp_path / "review.key"
    session_key(key)
    if os.name == "posix":
        assert stat.S_IMODE(key.stat().st_mode) == 0o600
        assert key_note(key) is None
    key.chmod(0o644)
    note = key_note(key)
    assert note is not None
    assert str(key) in note


def test_what_goes_into_a_pipe_is_utf_8_whatever_the_terminal_speaks(tmp_path: Path) -> None:
    """Windows gives a pipe the code page of the machine, which lacks most scripts."""
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq\td\t1\n", encoding="utf-8")
    (tmp_path / "run.trec").write_text("q Q0 d 1 1.0 x\n", encoding="utf-8")
    code = (
        "import io, sys; sys.stdout = io.TextIOWrapper(sys.stdout.buffer, encoding='cp1252', write_through=True); "
        "sys.argv = ['goldbench', 'score', 'qrels.tsv', '--run', '检索=run.trec', '--format', 'json']; "
        "from goldbench.__main__ import main; main()"
    )
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONIOENCODING"}
    environment["PYTHONPATH"] = IMPORT_PATH
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, timeout=60, check=True
    )
    assert "检索" in done.stdout.decode("utf-8")
