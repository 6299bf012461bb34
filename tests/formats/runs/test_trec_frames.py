"""Frames of a run."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import pytest

from goldbench.errors import InputError
from goldbench.formats.packed_files import Source
from goldbench.formats.runs import trec_frames


def test_a_refused_run_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trec_frames, "_BLOCK", 40)
    closed = threading.Event()

    class Watched(Source):
        @contextmanager
        def open(self) -> Iterator[BinaryIO]:
            try:
                with super().open() as file:
                    yield file
            finally:
                closed.set()

    run = tmp_path / "run.trec"
    run.write_text("q1 Q0 d1 1 1.0 t\nq1 Q0 d2 2 none t\n" + "q1 Q0 d3 3 0.5 t\n" * 50)
    with pytest.raises(InputError) as refused:
        trec_frames.run_frame(Watched(run))
    assert closed.wait(20), refused
