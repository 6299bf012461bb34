"""What is wrong with something that is read: raised where it is found, given its file where the file is known."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from goldbench.errors import GoldbenchError, InputError, Message
from goldbench.text.display import shown

if TYPE_CHECKING:
    from pydantic import ValidationError

Row = TypeVar("Row")
Read = TypeVar("Read")
P = TypeVar("P", bound="int | str")
Location = int | str
"""The place of an item in its file: the number of a line from 1, or words (``row 3``) if there are no lines."""


class Fault(GoldbenchError):
    """Something is wrong with a part of a file; ``in_file`` or ``of`` adds the file.

    ``line`` counts from 1 at the beginning of that part; None means that the problem is not in one line.
    """

    def __init__(self, problem: str, *, line: int | None = None) -> None:
        self.problem = problem
        self.line = line
        super().__init__(problem)

    def at(self, location: Location) -> Fault:
        """Return the fault of the whole file, in which the part begins at ``location``."""
        if isinstance(location, int):
            return Fault(self.problem, line=location + (self.line or 1) - 1)
        return Fault(Message("{}: {}", location, self.problem) if location else self.problem)

    def of(self, file: Path | str) -> InputError:
        """Return the error that names the file."""
        return InputError(shown(file), self.problem, line=self.line)


def location_in_words(location: Location) -> str:
    """Return ``line 3`` for the number of a line; words stay as they are."""
    return f"line {location}" if isinstance(location, int) else location


@contextmanager
def in_file(file: Path | str) -> Iterator[None]:
    """Name the file in every fault and every ``OSError`` that is raised inside.

    Raises:
        InputError: In the place of the fault.
    """
    try:
        yield
    except Fault as fault:
        raise fault.of(file) from None
    except OSError as error:
        raise unreadable(error).of(file) from None


def read_rows(rows: Iterable[tuple[P, Row]], read: Callable[[P, Row], Read]) -> Iterator[Read]:
    """Yield what ``read`` makes of each place and row; a fault that it raises gets the place."""
    for location, row in rows:
        try:
            item = read(location, row)
        except Fault as fault:
            raise fault.at(location) from None
        yield item


def unreadable(error: OSError | ValueError) -> Fault:
    """Return the fault for a file that the system does not open or read."""
    if isinstance(error, FileNotFoundError):
        return Fault("file not found")
    if isinstance(error, IsADirectoryError):
        return Fault("is a folder; give a file")
    return Fault(f"cannot be read ({reason(error)})")


def explain(error: ValidationError) -> str:
    """Return the first problem of a record, without the value."""
    from goldbench.records.record import ID_PATTERN  # loads pydantic, as the error itself has

    first = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(part) for part in first["loc"][:3] if part != "[key]")
    message = first["msg"].removeprefix("Value error, ")
    if first.get("ctx", {}).get("pattern") == ID_PATTERN:
        message = "not a valid id: it holds white space, a control or an invisible character, or begins with #"
    return f"{where}: {message}" if where else message


def reason(error: OSError | ValueError) -> str:
    """Return what the system says, in lower case; a ``ValueError`` means that the path itself is not valid."""
    default = "unknown reason" if isinstance(error, OSError) else "the path is not valid"
    return (getattr(error, "strerror", None) or default).lower()
