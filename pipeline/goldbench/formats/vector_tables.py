"""Vectors made elsewhere: Parquet with columns ``id`` and ``vector``, or ``.npy`` with a file of ids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from goldbench.errors import require
from goldbench.formats.faults import Fault, in_file
from goldbench.formats.packed_files import Source, decoded
from goldbench.text.display import shown

_ROWS_AT_ONCE = 2**14


@dataclass(frozen=True, slots=True)
class VectorTable:
    """Finite vectors of one size, one for each id, and no id twice. ``source`` is the name of the file for messages."""

    source: str
    ids: tuple[str, ...]
    rows: npt.NDArray[np.float32] = field(repr=False)


def read_vectors(path: Path, *, ids: Path | None = None) -> VectorTable:
    """Return the vectors of a file.

    Args:
        path: ``.npy``, or else Parquet.
        ids: A file with one id per line, in the order of the rows: required for ``.npy``, refused for Parquet.

    Raises:
        InputError: A file is missing or damaged, the number of rows and ids differs, an id is empty or occurs twice, or
            a vector has another size than the first, holds anything but finite numbers, or is all 0. The message names
            the row.
        MissingExtra: It is Parquet, and the package that reads it is not installed.
    """
    source = Source(path)
    with source.open():  # tells that the file is missing, or not a file
        if path.suffix.lower() == ".npy":
            if ids is None:
                raise Fault("its rows have no names: give a file with the id of each row, one per line")
            names = _names(ids)
            rows = _array(path)
            if len(names) != len(rows):
                raise Fault(f"has {len(rows):,} rows, but {shown(ids)} {len(names):,} ids")
        elif ids is not None:
            raise Fault("is not a .npy file: Parquet holds its ids itself, in the column id")
        else:
            names, rows = _parquet(path)
        _check(names, rows)
    return VectorTable(source.name, tuple(names), rows)


def _names(path: Path) -> list[str]:
    with in_file(path):
        names = [line.strip() for line in decoded(Source(path).read()).split("\n")]
    while names and not names[-1]:
        names.pop()
    return names


def _array(path: Path) -> npt.NDArray[np.float32]:
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, OSError, EOFError, SyntaxError, MemoryError):
        raise Fault("is not a .npy file of numbers, or is cut short") from None
    if array.ndim != 2 or not array.shape[1] or array.dtype.kind not in "fiu":
        shape = " x ".join(map(str, array.shape))
        raise Fault(f"holds {array.dtype} of shape {shape}, not rows of real numbers")
    rows = np.empty(array.shape, dtype=np.float32)
    with np.errstate(over="ignore"):  # too large a number becomes infinite, and its row is refused
        for start in range(0, len(array), _ROWS_AT_ONCE):
            rows[start : start + _ROWS_AT_ONCE] = array[start : start + _ROWS_AT_ONCE]
    return rows


def _parquet(path: Path) -> tuple[list[str], npt.NDArray[np.float32]]:
    require("dense", "pyarrow")
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            _check_columns(file.schema_arrow)
            names: list[str] = []
            parts: list[npt.NDArray[np.float32]] = []
            for batch in file.iter_batches(batch_size=_ROWS_AT_ONCE, columns=["id", "vector"]):
                parts.append(_block(batch.column("vector"), first=len(names) + 1, like=parts[:1]))
                names += ["" if name is None else str(name) for name in batch.column("id").to_pylist()]
    except (pa.ArrowException, OSError):
        raise Fault("is neither .npy nor Parquet, or is damaged") from None
    if not parts:
        raise Fault("holds no vector")
    return names, np.concatenate(parts)


def _check_columns(schema: Any) -> None:  # noqa: ANN401  pyarrow has no types
    from pyarrow import types

    missing = [column for column in ("id", "vector") if column not in schema.names]
    if missing:
        raise Fault(f"has no column {' and no column '.join(missing)}; it needs id and vector")
    kind = schema.field("id").type
    if not (types.is_string(kind) or types.is_large_string(kind) or types.is_integer(kind)):
        raise Fault(f"column id holds {kind}, neither text nor whole numbers")
    kind = schema.field("vector").type
    listed = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    if not listed or not (types.is_floating(kind.value_type) or types.is_integer(kind.value_type)):
        raise Fault(f"column vector holds {kind}, not lists of numbers")


def _block(
    column: Any,  # noqa: ANN401  as above
    *,
    first: int,
    like: Sequence[npt.NDArray[np.float32]],
) -> npt.NDArray[np.float32]:
    import pyarrow.compute as pc

    sizes = pc.list_value_length(column).to_numpy(zero_copy_only=False)
    size = like[0].shape[1] if like else sizes[0]
    for row in np.flatnonzero(~(sizes == size))[:1]:
        fault = "no vector" if np.isnan(sizes[row]) else f"{int(sizes[row])} numbers"
        raise Fault(f"row {first + row}: {fault}, where the first row has {size}")
    if not size > 0:
        raise Fault(f"row {first}: no vector" if np.isnan(size) else f"row {first}: the vector is empty")
    values = column.flatten().to_numpy(zero_copy_only=False)  # a missing number becomes NaN
    with np.errstate(over="ignore"):
        return np.asarray(values, dtype=np.float32).reshape(len(column), int(size))


def _check(ids: Sequence[str], rows: npt.NDArray[np.float32]) -> None:
    seen: dict[str, int] = {}
    for row, doc_id in enumerate(ids, start=1):
        if not doc_id:
            raise Fault(f"row {row}: the id is empty")
        if doc_id in seen:
            raise Fault(f"row {row}: id {shown(doc_id)!r} is in row {seen[doc_id]} already")
        seen[doc_id] = row
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        block = rows[start : start + _ROWS_AT_ONCE]
        for number in np.flatnonzero(~np.isfinite(block).all(axis=1))[:1]:
            raise Fault(f"row {start + number + 1}: the vector holds something that is not a finite number")
        for number in np.flatnonzero(~block.any(axis=1))[:1]:
            raise Fault(f"row {start + number + 1}: the vector is all 0 and has no direction")
