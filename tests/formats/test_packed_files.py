"""A source that can be read only once is kept, and read by several readers at the same time."""

from __future__ import annotations

import gzip
import io
from types import SimpleNamespace

import pytest

from goldbench.formats import packed_files
from goldbench.formats.packed_files import STDIN, Source

TEXT = b"".join(b"%07d\n" % number for number in range(100_000))


@pytest.mark.parametrize("packed", [False, True])
def test_readers_of_standard_input_do_not_move_each_other(packed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = gzip.compress(TEXT) if packed else TEXT
    standard_input = SimpleNamespace(buffer=io.BytesIO(stored))
    monkeypatch.setattr(packed_files, "sys", SimpleNamespace(stdin=standard_input))
    source = Source(STDIN)
    found = b"", b""
    with source.open() as one, source.open() as other:
        for step in (1_000, 70_000, 300_000, 10**6):
            found = found[0] + one.read(step), found[1] + other.read(2 * step)
            assert source.is_packed() is packed
            assert source.size() == len(stored)
    assert found == (TEXT, TEXT)
