"""The scores of an earlier run, as a gate reads them from its baseline."""

from __future__ import annotations

from pathlib import Path

from goldbench.errors import Message, plain_file
from goldbench.formats.faults import Fault, in_file
from goldbench.formats.runs.scorecard_files import parsed
from goldbench.records.scorecard import Baseline

_MOST = 1e12
"""Largest value of a measure that a baseline may hold; sums of larger ones lose the differences that a gate tests."""


def read_baseline(path: Path) -> Baseline:
    """Return the scores in a baseline.

    Raises:
        InputError: The file is missing or cannot be read, or is not a baseline.
    """
    with in_file(path):
        try:
            baseline = parsed(plain_file(path).read_bytes(), Baseline)
        except Fault as fault:
            raise Fault(Message("{}; write it again with {init=True}", fault)) from None
        if any(abs(value) > _MOST for column in baseline.values.values() for value in column):
            raise Fault(Message("is not a baseline: a value is beyond {:g}; write it again with {init=True}", _MOST))
        return baseline
