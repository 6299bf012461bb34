"""Lines of text with their numbers: plain, as JSON Lines, or as records of CSV."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator
from typing import Any, Literal

from goldbench.formats.faults import Fault
from goldbench.formats.packed_files import Source, decoded, without_mark

MAX_LINE = 16 * 2**20
"""The longest line that is read, in bytes (of a table also the longest record, in characters): 16 MB."""


def all_lines(source: Source) -> Iterator[str]:
    """Yield every line of UTF-8 text with its end; a byte order mark is left out.

    Raises:
        InputError: The file cannot be read, is not UTF-8, or a line is longer than 16 MB.
    """
    number = 0
    with source.open() as file:
        while line := file.readline(MAX_LINE + 1):
            number += 1
            if len(line) > MAX_LINE:
                raise Fault(f"is longer than {MAX_LINE // 2**20} MB", line=number)
            try:
                text = decoded(without_mark(line) if number == 1 else line)
            except Fault as fault:
                raise fault.at(number) from None
            yield text


def text_lines(source: Source) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of each line that is not blank, without its end; raises as ``all_lines``."""
    for number, line in enumerate(all_lines(source), 1):
        if line.strip():
            yield number, line.rstrip("\r\n")


def json_objects(source: Source) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number and the object of each line of JSON Lines.

    Raises:
        InputError: As ``all_lines``; or a line is not a JSON object.
    """
    for number, row in json_values(source):
        if not isinstance(row, dict):
            raise Fault("is not a JSON object", line=number).of(source.name)
        yield number, row


def json_values(source: Source) -> Iterator[tuple[int, Any]]:
    """Yield the number and the value of each line of JSON Lines.

    Raises:
        InputError: As ``all_lines``; or a line is not valid JSON.
    """
    for number, line in text_lines(source):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            raise Fault("is not valid JSON", line=number).of(source.name) from None
        yield number, row


def csv_records(
    lines: Iterable[str], *, delimiter: str = ",", quoting: Literal[0, 3] = csv.QUOTE_MINIMAL
) -> Iterator[tuple[int, list[str]]]:
    """Yield the cells of each record that is not empty, with the line it begins on.

    Args:
        lines: All lines, with their ends.
        delimiter: The character between two cells.
        quoting: ``csv.QUOTE_MINIMAL``, or ``csv.QUOTE_NONE`` if quotes have no meaning.

    Raises:
        Fault: A quote or a field does not end as it should.
    """
    # The limit is the process's; it is only ever raised, and a field cannot be longer than a record.
    csv.field_size_limit(max(csv.field_size_limit(), MAX_LINE))
    reader = csv.reader(lines, delimiter=delimiter, quoting=quoting, strict=True)
    begins = 1
    try:
        for cells in reader:
            if cells:
                yield begins, cells
            begins = reader.line_num + 1
    except csv.Error as error:
        raise Fault(f"is malformed in the record beginning here: {error}", line=begins) from None


def named_cells(source: Source) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the line and the cells by column of each record of CSV or TSV below the header.

    Raises:
        InputError: As ``all_lines``.
        Fault: As ``csv_records``; or a record has more cells than the header.
    """
    records = csv_records(all_lines(source), delimiter="\t" if source.suffix == ".tsv" else ",")
    names = [cell.strip() for cell in next(records, (1, []))[1]]
    for line, cells in records:
        if len(cells) > len(names):
            raise Fault(f"has {len(cells)} cells, and the header {len(names)}; put quotes around commas", line=line)
        yield line, dict(zip(names, cells, strict=False))
