"""Tables to rows, one at a time: CSV, TSV, JSON Lines, JSON (a list of objects), Parquet.

A malformed row is a fault in its place; a table whose quotes do not end is refused as a whole. CSV is read strictly:
every record has as many fields as the header, every quote is closed, and no field holds NUL. The delimiter is the one
of ``,``, ``;``, tab and ``|`` that cuts most of the first records into the same number of fields. In a TSV, quotes
count as quotes unless more rows are well-formed without, because the format as first defined has no quotes.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from goldbench.errors import require
from goldbench.formats.charsets import REMEDY, Charset, decode, detect_file
from goldbench.formats.faults import Fault, Location
from goldbench.formats.lines import MAX_LINE, csv_records
from goldbench.formats.regular_files import ALWAYS_FINE, MAX_RATIO, open_regular, read_whole
from goldbench.text.display import amount, shown

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

_Quoting = Literal[0, 3]  # csv.QUOTE_MINIMAL, csv.QUOTE_NONE
_Records = Callable[[], Iterator[tuple[int, list[str]] | Fault]]
_MAX_COLUMNS = 10_000
_PEEK = 100
_DELIMITERS = (",", ";", "\t", "|")


@dataclass(frozen=True, slots=True)
class Row:
    """A row. ``number`` counts rows from 1; ``line`` is where it begins, None in a file that is not read by lines."""

    number: int
    line: int | None
    values: Mapping[str, object]

    @property
    def location(self) -> Location:
        """The line, or ``row`` and the number of the row; see `Fault.at`."""
        return f"row {self.number}" if self.line is None else self.line


@dataclass(frozen=True, slots=True)
class Table:
    """A table that can be read any number of times; ``rows`` yields a fault in place of each malformed row.

    ``flat`` means that every row has all the columns. ``charset`` is its encoding; None if it is not text.
    """

    columns: tuple[str, ...]
    rows: Callable[[], Iterator[Row | Fault]]
    flat: bool
    charset: Charset | None = None

    def sound_rows(self) -> Iterator[Row]:
        """Yield the rows.

        Raises:
            Fault: A row is malformed.
        """
        for row in self.rows():
            if isinstance(row, Fault):
                raise row
            yield row


def open_table(path: Path, *, megabytes: int, encoding: str | None = None) -> Table:
    """Return the table in a file; only its first rows are read now (all of JSON, which cannot be streamed).

    Args:
        path: A ``.csv``, ``.tsv``, ``.jsonl``, ``.ndjson``, ``.json`` or ``.parquet`` file.
        megabytes: The largest size of a JSON file, in units of 2**20 bytes; other tables may have any size.
        encoding: The encoding that the user gave; None recognises it.

    Raises:
        Fault: The file is empty, malformed or not text; iterating over the rows raises it, too.
        MissingExtra: It is Parquet, and the package that reads it is not installed.
    """
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        return _parquet(path)
    if suffix == ".json":
        return _json(path, megabytes, encoding)
    charset = Charset(encoding) if encoding else detect_file(path)
    if suffix in {".jsonl", ".ndjson"}:
        return _objects(lambda: _json_lines(path, charset), charset)
    return _csv(path, charset, "\t" if suffix == ".tsv" else None)


def _lines(path: Path, charset: Charset, newline: str) -> Iterator[str]:
    """Yield the lines with their ends, none longer than ``MAX_LINE``; ``newline`` is as in `open`."""
    number = 0
    try:
        # A byte that is not UTF-8 becomes half a surrogate pair, with which its row is refused.
        errors = "surrogateescape" if charset.encoding == "utf-8" else "strict"
        with io.TextIOWrapper(open_regular(path), charset.encoding, errors, newline) as file:
            while line := file.readline(MAX_LINE + 1):
                number += 1
                if len(line) > MAX_LINE:
                    raise Fault(f"is longer than {MAX_LINE:,} characters", line=number)
                yield line.lstrip("\ufeff")  # each of several files that were joined may begin with a mark
    except UnicodeError:
        where = f"after line {number}" if number else "in its first lines"
        raise Fault(f"is not valid {charset.encoding} text {where}: {REMEDY}") from None
    except OSError as error:
        raise Fault(f"cannot be read: {error.strerror}", line=number) from None


def _csv(path: Path, charset: Charset, delimiter: str | None) -> Table:
    def reader(delimiter: str, quoting: _Quoting = csv.QUOTE_MINIMAL) -> _Records:
        return lambda: _records(path, charset, delimiter, quoting)

    if delimiter is None:
        records = reader(_delimiter(reader))
    else:
        records = reader(delimiter)
        plain = reader(delimiter, csv.QUOTE_NONE)
        # A quote that is only a quote swallows lines up to the next one, so that fewer rows are left.
        if _count(plain) > _count(records):
            records = plain
    header = next(records(), None)
    if header is None:
        raise Fault("is empty")
    if isinstance(header, Fault):
        raise header
    columns = tuple(name.strip() or f"column {number}" for number, name in enumerate(header[1], start=1))
    if len(columns) > _MAX_COLUMNS:
        raise Fault(f"has {len(columns):,} columns, more than {_MAX_COLUMNS:,}", line=1)
    twice = next((name for index, name in enumerate(columns) if name in columns[:index]), None)
    if twice is not None:
        raise Fault(f"has two columns named {shown(twice)}", line=header[0])

    def rows() -> Iterator[Row | Fault]:
        for number, record in enumerate(islice(records(), 1, None), start=1):
            if isinstance(record, Fault):
                yield record
            else:
                yield Row(number, record[0], dict(zip(columns, record[1], strict=True)))

    return Table(columns, rows, flat=True, charset=charset)


def _records(
    path: Path, charset: Charset, delimiter: str, quoting: _Quoting
) -> Iterator[tuple[int, list[str]] | Fault]:
    """Yield each record with the line it begins on; a fault for one without the first one's number of fields."""
    width = 0
    for line, cells in csv_records(_lines(path, charset, newline=""), delimiter=delimiter, quoting=quoting):
        width = width or len(cells)
        if len(cells) != width:
            yield Fault(f"has {amount(len(cells), 'field')} where the header has {width}", line=line)
        elif any("\0" in cell for cell in cells):
            yield Fault("holds a NUL character", line=line)
        else:
            yield line, cells


def _delimiter(reader: Callable[[str], _Records]) -> str:
    """Return the delimiter that cuts most of the first records into the same number of fields; else a comma."""
    best = ","
    fewest = _PEEK
    for delimiter in _DELIMITERS:
        try:
            records = list(islice(reader(delimiter)(), _PEEK))
        except Fault:
            continue
        bad = sum(isinstance(record, Fault) for record in records)
        if records and not isinstance(records[0], Fault) and len(records[0][1]) > 1 and bad < fewest:
            best = delimiter
            fewest = bad
    return best


def _count(records: _Records) -> int:
    """Return how many well-formed records there are, 0 if quotes do not end."""
    try:
        return sum(not isinstance(record, Fault) for record in records())
    except Fault:
        return 0


def _json_lines(path: Path, charset: Charset) -> Iterator[Row | Fault]:
    import jsonlines

    line = 0

    def counted() -> Iterator[str]:
        nonlocal line
        for text in _lines(path, charset, newline="\n"):
            line += 1  # the reader skips blank lines
            yield text

    # The standard parser, because faster ones that may be installed refuse other things.
    objects = jsonlines.Reader(counted(), loads=_parse)
    number = 0
    while True:
        try:
            values = objects.read(type=dict, skip_empty=True)
        except EOFError:
            return
        except Fault as fault:
            yield Fault(fault.problem, line=line)
        except jsonlines.InvalidLineError:
            yield Fault("is not a JSON object", line=line)
        else:
            yield Row(number + 1, line, values)
        number += 1


def _parse(text: str | bytes) -> Any:  # noqa: ANN401  any JSON
    """Return a value of JSON in which a number that is too large for a computer stays text: ``1e400``."""
    try:
        return json.loads(text, parse_float=lambda digits: digits if math.isinf(float(digits)) else float(digits))
    except json.JSONDecodeError as error:
        problem = f"is not valid JSON: {error.msg.removesuffix(' at')} at column {error.colno}"
        raise Fault(problem, line=error.lineno) from None
    except RecursionError:
        raise Fault("is nested too deeply") from None
    except ValueError:
        raise Fault("holds a number of too many digits for JSON: write it as text") from None


def _json(path: Path, megabytes: int, encoding: str | None) -> Table:
    text, charset = decode(read_whole(path, megabytes=megabytes), encoding)
    values = _parse(text)
    if not isinstance(values, list) or not all(isinstance(value, dict) for value in values):
        raise Fault("is JSON, but not a list of objects: give JSON Lines, one object per line")
    if not values:
        raise Fault("is an empty list: it holds no rows")
    rows = [Row(number, None, value) for number, value in enumerate(values, start=1)]
    return _objects(lambda: iter(rows), charset)


def _objects(rows: Callable[[], Iterator[Row | Fault]], charset: Charset) -> Table:
    """Return a table of objects, whose columns are the keys of the first rows, in order of appearance."""
    columns: dict[str, None] = {}
    well_formed = (row for row in rows() if isinstance(row, Row))
    for row in islice(well_formed, _PEEK):
        columns.update(dict.fromkeys(islice(row.values, _MAX_COLUMNS)))
    return Table(tuple(columns), rows, flat=False, charset=charset)


def _parquet(path: Path) -> Table:
    require("documents", "pyarrow")
    import pyarrow as pa
    import pyarrow.parquet as pq

    @contextmanager
    def opened(*dictionaries: str) -> Iterator[pq.ParquetFile]:
        try:
            with open_regular(path) as raw, pq.ParquetFile(raw, read_dictionary=list(dictionaries)) as file:
                yield file
        except (pa.ArrowException, ValueError, ArithmeticError, OSError) as error:  # dates beyond the year 9999, too
            if isinstance(error, MemoryError):
                raise
            raise Fault(f"is damaged, or not a Parquet file ({type(error).__name__})") from None

    def rows() -> Iterator[Row]:
        number = 0
        with opened(*dictionaries) as file:
            for batch in file.iter_batches(batch_size=256, use_threads=False):
                columns = [_values(column) for column in batch.columns]
                for values in zip(*columns, strict=True):
                    number += 1
                    yield Row(number, None, dict(zip(names, values, strict=True)))

    with opened() as file:
        names: Sequence[str] = file.schema_arrow.names
        _check_unpacked(file.metadata, path.stat().st_size)
        dictionaries = _repeating(file)
    if len(names) > _MAX_COLUMNS or len(set(names)) < len(names):
        raise Fault(f"has {len(names):,} columns: too many, or two of one name")
    return Table(tuple(names), rows, flat=True)


def _check_unpacked(metadata: pq.FileMetaData, size: int) -> None:
    """Refuse a file whose values, each distinct one once, take far more bytes than the file."""
    unpacked = sum(metadata.row_group(index).total_byte_size for index in range(metadata.num_row_groups))
    if unpacked > max(ALWAYS_FINE, MAX_RATIO * size):
        raise Fault(f"unpacks to {unpacked:,} bytes, more than {MAX_RATIO} times its {size:,}: not opened")


def _repeating(file: pq.ParquetFile) -> list[str]:
    """Return the columns of text that are read as numbers of values: a file of 3 kB can repeat one value for gigabytes.

    Larger columns are not, because their values would be held all together.
    """
    from pyarrow import types

    schema = file.schema_arrow
    metadata = file.metadata
    sizes: Counter[str] = Counter()
    for index in range(metadata.num_row_groups):
        group = metadata.row_group(index)
        for number in range(group.num_columns):
            column = group.column(number)
            sizes[column.path_in_schema] = max(sizes[column.path_in_schema], column.total_uncompressed_size)
    texts = (field for field in schema if types.is_string(field.type) or types.is_large_string(field.type))
    return [field.name for field in texts if sizes[field.name] <= ALWAYS_FINE]


def _values(column: pa.Array) -> list[object]:
    """Return the values of a column; equal texts of a dictionary are one string."""
    from pyarrow import types

    if not types.is_dictionary(column.type):
        values: list[object] = column.to_pylist()
        return values
    places = column.indices.to_pylist()
    texts = {code: column.dictionary[code].as_py() for code in set(places) if code is not None}
    return [texts.get(code) for code in places]
