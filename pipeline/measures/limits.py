"""Limits as people write them: ``5%``, ``ndcg@10=0.02``, ``recall@10=0.8``."""

from __future__ import annotations

from math import isfinite

from pipeline.errors import UsageError
from pipeline.measures.statistics.regression import Drop


def parse_drop(text: str) -> tuple[str | None, Drop]:
    """Return the measure, if one is named, and how far it may fall: ``5%`` of the baseline or ``0.02`` in all.

    Raises:
        UsageError: It is neither.
    """
    measure, sign, amount = text.rpartition("=")
    number = _number(amount.removesuffix("%"))
    if number is None or number < 0 or (sign and not measure.strip()):
        raise UsageError(f"--max-drop {text!r}: give a share as 5%, a difference as 0.02, or either for one measure")
    relative = amount.rstrip().endswith("%")
    if number > (100 if relative else 1) and not _is_unbounded(measure):
        raise UsageError(f"--max-drop {text!r}: no mean can fall that far; a share is given as 5%")
    return (measure.strip() or None), Drop(number / 100 if relative else number, relative)


def parse_bound(text: str, option: str) -> tuple[str, float]:
    """Return the measure and its lowest mean.

    Raises:
        UsageError: It is not of the form ``recall@10=0.8``.
    """
    measure, _, amount = text.rpartition("=")
    number = _number(amount)
    if number is None or not measure.strip():
        raise UsageError(f"{option} {text!r}: give a measure and its lowest mean, as recall@10=0.8")
    if number > 1 and not _is_unbounded(measure):
        raise UsageError(f"{option} {text!r}: no mean of this measure is above 1")
    return measure.strip(), number


def _is_unbounded(measure: str) -> bool:
    return measure.strip().lower().startswith(("dcg", "idcg"))


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if isfinite(number) and "_" not in text else None
