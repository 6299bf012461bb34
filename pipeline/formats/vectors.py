"""Vectors made elsewhere: Parquet with columns ``id`` and ``vector``, or ``.npy`` rows and a file of ids."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pipeline.errors import InputError
from pipeline.formats.runs.packed_files import Source
from pipeline.formats.runs.trec import not_utf8, without_mark
from pipeline.text.display import shown

_ROWS_AT_ONCE = 2**14


@dataclass(frozen=True, slots=True)
class VectorTable:
    """Finite vectors of one size, one for each id; no id stands twice. ``source`` is the file, fit for a message."""

    source: str
    ids: tuple[str, ...]
    rows: npt.NDArray[np.float32] = field(repr=False)


def read_vectors(path: Path, *, ids: Path | None = None) -> VectorTable:
    """Return the vectors of a file.

    Args:
        path: ``.npy``, or else Parquet.
        ids: one id per line, in the order of the rows: needed for ``.npy``, of no use for Parquet.

    Raises:
        InputError: a file is missing or damaged, the rows and ids differ in number, an id is empty or stands twice, or
            a vector has another size than the first, holds what is no finite number, or is all 0. The row is named.
    """
    source = Source(path)
    if path.suffix.lower() == ".npy":
        if ids is None:
            raise InputError(source.name, "its rows have no names: give a file with the id of each row, one per line")
        names, rows = _names(ids), _array(source)
        if len(names) != len(rows):
            raise InputError(source.name, f"has {len(rows):,} rows, but {shown(ids)} {len(names):,} ids")
    elif ids is not None:
        raise InputError(source.name, "is no .npy file: Parquet holds its ids itself, in the column id")
    else:
        names, rows = _parquet(source)
    _check(source.name, names, rows)
    return VectorTable(source.name, tuple(names), rows)


def _names(path: Path) -> list[str]:
    source = Source(path)
    block = without_mark(source.read(), source.name)
    try:
        lines = block.decode().split("\n")
    except UnicodeDecodeError as error:
        raise not_utf8(source.name, block[: error.start].count(b"\n") + 1) from None
    names = [line.strip() for line in lines]
    while names and not names[-1]:
        names.pop()
    return names


def _array(source: Source) -> npt.NDArray[np.float32]:
    with source.open():  # says in our words that it is missing, or no file
        pass
    try:
        array = np.load(source.path, mmap_mode="r", allow_pickle=False)
    except (ValueError, OSError, EOFError, SyntaxError, MemoryError):
        raise InputError(source.name, "is no .npy file of numbers, or is cut short") from None
    if array.ndim != 2 or not array.shape[1] or array.dtype.kind not in "fiu":
        shape = " x ".join(map(str, array.shape))
        raise InputError(source.name, f"holds {array.dtype} of shape {shape}, not rows of real numbers")
    rows = np.empty(array.shape, dtype=np.float32)
    with np.errstate(over="ignore"):  # what is too large becomes infinite, and is refused by its row
        for start in range(0, len(array), _ROWS_AT_ONCE):
            rows[start : start + _ROWS_AT_ONCE] = array[start : start + _ROWS_AT_ONCE]
    return rows


def _parquet(source: Source) -> tuple[list[str], npt.NDArray[np.float32]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with source.open():
        pass
    try:
        with pq.ParquetFile(source.path) as file:
            _check_columns(source.name, file.schema_arrow)
            names: list[str] = []
            parts: list[npt.NDArray[np.float32]] = []
            for batch in file.iter_batches(batch_size=_ROWS_AT_ONCE, columns=["id", "vector"]):
                parts.append(_block(source.name, batch.column("vector"), first=len(names) + 1, like=parts[:1]))
                names += ["" if name is None else str(name) for name in batch.column("id").to_pylist()]
    except (pa.ArrowException, OSError):
        raise InputError(source.name, "is neither .npy nor Parquet, or is damaged") from None
    if not parts:
        raise InputError(source.name, "holds no vector")
    return names, np.concatenate(parts)


def _check_columns(name: str, schema: Any) -> None:  # noqa: ANN401  pyarrow has no types
    from pyarrow import types

    missing = [column for column in ("id", "vector") if column not in schema.names]
    if missing:
        raise InputError(name, f"has no column {' and no column '.join(missing)}; it needs id and vector")
    kind = schema.field("id").type
    if not (types.is_string(kind) or types.is_large_string(kind) or types.is_integer(kind)):
        raise InputError(name, f"column id holds {kind}, neither text nor whole numbers")
    kind = schema.field("vector").type
    listed = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    if not listed or not (types.is_floating(kind.value_type) or types.is_integer(kind.value_type)):
        raise InputError(name, f"column vector holds {kind}, not lists of numbers")


def _block(
    name: str,
    column: Any,  # noqa: ANN401  as above
    *,
    first: int,
    like: Sequence[npt.NDArray[np.float32]],
) -> npt.NDArray[np.float32]:
    import pyarrow.compute as pc

    sizes = pc.list_value_length(column).to_numpy(zero_copy_only=False)
    size = like[0].shape[1] if like else sizes[0]
    for place in np.flatnonzero(~(sizes == size))[:1]:
        found = "no vector" if np.isnan(sizes[place]) else f"{int(sizes[place])} numbers"
        raise InputError(name, f"row {first + place}: {found}, where the first row has {size}")
    if not size > 0:
        raise InputError(name, f"row {first}: no vector" if np.isnan(size) else f"row {first}: the vector is empty")
    values = column.flatten().to_numpy(zero_copy_only=False)  # an absent number becomes NaN
    with np.errstate(over="ignore"):
        return np.asarray(values, dtype=np.float32).reshape(len(column), int(size))


def _check(name: str, ids: Sequence[str], rows: npt.NDArray[np.float32]) -> None:
    seen: dict[str, int] = {}
    for row, doc_id in enumerate(ids, start=1):
        if not doc_id:
            raise InputError(name, f"row {row}: the id is empty")
        if doc_id in seen:
            raise InputError(name, f"row {row}: id {shown(doc_id)!r} stands in row {seen[doc_id]} already")
        seen[doc_id] = row
    for start, block in _blocks(rows):
        for place in np.flatnonzero(~np.isfinite(block).all(axis=1))[:1]:
            raise InputError(name, f"row {start + place + 1}: the vector holds what is no finite number")
        for place in np.flatnonzero(~block.any(axis=1))[:1]:
            raise InputError(name, f"row {start + place + 1}: the vector is all 0 and has no direction")


def _blocks(rows: npt.NDArray[np.float32]) -> Iterator[tuple[int, npt.NDArray[np.float32]]]:
    return ((start, rows[start : start + _ROWS_AT_ONCE]) for start in range(0, len(rows), _ROWS_AT_ONCE))
