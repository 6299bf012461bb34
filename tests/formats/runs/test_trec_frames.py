"""Frames of a run, made ahead in threads."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator

from goldbench.pipeline.formats.runs import trec_frames


def test_frames_that_nobody_reads_to_the_end_wait_for_nothing() -> None:
    begun, left, waited = threading.Event(), threading.Event(), queue.SimpleQueue[bool]()

    def items() -> Iterator[int]:
        yield 1
        begun.set()
        waited.put(left.wait(30))
        yield 2

    frames = trec_frames._ahead(items())
    assert next(frames) == 1
    assert begun.wait(30)
    frames.close()
    left.set()
    assert waited.get(timeout=60)
