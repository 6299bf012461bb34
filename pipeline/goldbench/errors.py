"""Every exception that goldbench raises on purpose: one class per reaction of the caller.

::

    GoldbenchError                     show one line to the user, exit with 2: nothing was done
    ├── UsageError                   the command line or the configuration is wrong
    │   └── ConfigError              several problems of goldbench.toml: show each of them
    ├── InputError                   an input is bad: show the path, the line, the problem and what to do
    │   └── UnreadableDocument       one document of many is bad: skip and count it, unless strict
    ├── UnknownMeasure               names of measures are not known: show each of them
    ├── OutputError                  the output cannot be written
    │   └── NothingKept              the result would be an empty set: leave everything as it was, exit with 3
    │       └── JudgeFailed          the judge failed the judge checks: leave the labels as they were, exit with 3
    ├── MissingExtra                 a package is not installed: show how to install it
    ├── MissingPackage               another tool is not installed or broken: show how to mend it
    ├── RetrieverFailed              one retrieval system cannot be built, index or search: go on with the others
    └── ModelError                   no answer came from a model
        ├── ModelUnavailable         no call can work: end the run
        │   └── ModelUnfit           the first replies are useless: end the run before more is paid
        ├── CallFailed               one call failed for good after its retries: count it and go on
        │   └── AnswerRejected       an answer came but cannot be used: the server is well, count it and go on
        ├── LimitReached             a cap on requests, tokens, money or time is reached: send nothing more
        └── NotAsked                 a dry run counted the request and sent nothing

A message is one line: what is wrong, where, what to do. It never holds a key, a prompt, a reply or document text.
It is a `Message` where it names a parameter: the command line says ``--out``, Python ``out=``.
"""

from __future__ import annotations

import contextlib
import copyreg
import errno
import importlib.util
import os
import re
from ast import literal_eval
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from string import Formatter
from typing import NamedTuple, Self

NEGATIVE = 1
NOT_DONE = 2
DONE_IN_PART = 3
INTERRUPTED = 130
"""Exit codes of every command besides 0, which says that all was done and no check failed.

``NEGATIVE``: the work was done, and a check, a gate or an alert says no. ``NOT_DONE``: wrong usage, a bad input, a
missing package, no answer of a server, a full disk, or a fault of goldbench. ``DONE_IN_PART``: the work was done, but
parts of it failed, or the result was too poor to replace what was there. ``INTERRUPTED``: the user ended the command.
"""


class Parameter(NamedTuple):
    """A parameter in a message, with a value to give or None; ``is_subject`` says that the message is about it."""

    name: str
    value: bool | int | str | None = None
    is_subject: bool = False

    def __str__(self) -> str:
        """Return the option of the command line."""
        option = "--" + self.name.replace("_", "-")
        return option if self.value is None or self.value is True else f"{option} {self.value}"


class Message(str):
    """A text that knows which of its parts are parameters, so that each front end spells them in its own way.

    In the template ``{out=}`` is a parameter, ``{replace=True}`` one with a value, ``{out}`` the subject of the message
    and ``{}`` the next of the values, which may be a message itself. The ``str`` is what the command line says. Put
    into another ``str``, it loses its parts; put into another message, it keeps them.
    """

    __slots__ = ("parts",)

    parts: tuple[str | Parameter, ...]

    def __new__(cls, template: str, *values: object) -> Self:
        """Return the template with its fields filled."""
        parts = tuple(_filled(template, iter(values)))
        message = super().__new__(cls, "".join(map(str, parts)))
        message.parts = parts
        return message

    def __reduce__(self) -> tuple[object, ...]:
        """Return what another process restores."""
        return Message, ("{}" * len(self.parts), *self.parts)

    def spelled(self, spell: Callable[[Parameter], str]) -> str:
        """Return the text with each parameter as a front end spells it."""
        return "".join(spell(part) if isinstance(part, Parameter) else part for part in self.parts)


def _filled(template: str, values: Iterator[object]) -> Iterator[str | Parameter]:
    """Yield the parts of a message."""
    for literal, field, form, conversion in Formatter().parse(template):
        if literal:
            yield literal
        if field:
            name, is_to_give, text = field.partition("=")
            yield Parameter(name, literal_eval(text) if text else None, is_subject=not is_to_give)
        elif field is not None:
            value = Formatter().convert_field(next(values), conversion)
            if isinstance(value, Message):
                yield from value.parts
            else:
                yield value if isinstance(value, Parameter) else format(value, form or "")


class GoldbenchError(Exception):
    """Any error that goldbench raises on purpose. The command exits with ``exit_code``."""

    exit_code = NOT_DONE

    @property
    def message(self) -> str:
        """The message, of which each front end spells the parameters."""
        message: str = self.args[0]
        return message

    def __reduce__(self) -> tuple[object, ...]:
        """Return what another process restores: the message and the attributes, whatever ``__init__`` takes."""
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]  # of pickle


class UsageError(GoldbenchError):
    """A parameter or the configuration asks for something impossible; ``parameter`` is its name, or None."""

    def __init__(self, problem: str, *, parameter: str | None = None) -> None:
        self.problem = problem
        self.parameter = parameter
        super().__init__(
            problem if parameter is None else Message("{}: {}", Parameter(parameter, is_subject=True), problem)
        )


class ConfigError(UsageError):
    """The configuration is wrong; ``problems`` holds one line for each problem, ``path`` is None for options alone."""

    def __init__(self, path: Path | str | None, problems: list[str]) -> None:
        super().__init__(joined("; ", problems) if path is None else Message("{}: {}", path, joined("; ", problems)))
        self.path = path
        self.problems = problems


class InputError(GoldbenchError):
    """An input is bad. ``line`` counts from 1."""

    def __init__(self, path: Path | str, problem: str, *, line: int | None = None) -> None:
        self.path = path
        self.problem = problem
        self.line = line
        where = path if line is None else Message("{}, line {}", path, line)
        super().__init__(Message("{}: {}", where, problem))


class UnreadableDocument(InputError):
    """One document cannot be read; the others can."""


class UnknownMeasure(GoldbenchError):
    """Names of measures are not known; ``problems`` holds one line for each name."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = problems
        super().__init__(joined("; ", problems))


class OutputError(GoldbenchError):
    """The output cannot be written."""


class NothingKept(OutputError):
    """The result would be an empty set, so nothing was changed; the answers of the model are stored."""

    exit_code = DONE_IN_PART


class JudgeFailed(NothingKept):
    """The judge failed the judge checks, so its grades were not used; the answers of the model are stored."""


class MissingExtra(GoldbenchError):
    """A package that an extra brings is not installed."""

    def __init__(self, package: str, extra: str) -> None:
        self.package = package
        self.extra = extra
        super().__init__(f"{package} is not installed: {_how_to_install(package, extra)}")


class MissingPackage(GoldbenchError):
    """A package of somebody else, which no extra brings, is not installed or cannot be imported."""

    def __init__(self, package: str, problem: str) -> None:
        self.package = package
        self.problem = problem
        super().__init__(Message("{} {}", package, problem))


class RetrieverFailed(GoldbenchError):
    """A retrieval system cannot be built, cannot index or search, or gave an answer that is not allowed.

    A retriever raises the problem alone; ``goldbench.retrieval.guard`` adds the name of the system.
    """

    def __init__(self, problem: str, *, system: str | None = None) -> None:
        self.problem = problem
        self.system = system
        super().__init__(problem if system is None else Message("system {}: {}", system, problem))


class ModelError(GoldbenchError):
    """No answer came from a model."""

    def at(self, origin: str) -> Self:
        """Put the origin (a server's URL, a stage) before the message and return this error."""
        self.args = (Message("{}: {}", origin, self.message), *self.args[1:])
        return self


class ModelUnavailable(ModelError):
    """No call can work: the server is gone or refuses every call, or a replay lacks an answer."""


class ModelUnfit(ModelUnavailable):
    """The first replies of a model are useless, so that further calls would only cost more."""


class CallFailed(ModelError):
    """One call failed for good. ``kind`` is a short stable word (``timeout``, ``rate-limit``, ``http-500`` …)."""

    def __init__(self, kind: str, message: str, *, attempts: int = 1) -> None:
        self.kind = kind
        self.attempts = attempts
        super().__init__(message)


class AnswerRejected(CallFailed):
    """An answer came but cannot be used.

    The kinds: ``misfit``, ``refusal``, ``content-filter``, ``empty``, ``cut-off`` (it ran on until the limit of its
    tokens) and ``loop`` (it repeats itself).
    """


class LimitReached(ModelError):
    """A cap set by the user was reached before the call was sent. ``limit`` names the cap."""

    def __init__(self, limit: str, message: str) -> None:
        self.limit = limit
        super().__init__(message)


class NotAsked(ModelError):
    """A dry run found no stored answer, counted the request and sent nothing."""


def joined(separator: str, texts: Iterable[str | Parameter]) -> Message:
    """Return texts as one message, with a separator between them."""
    each = list(texts)
    return Message(separator.join(["{}"] * len(each)), *each)


def _how_to_install(package: str, extra: str) -> str:
    """Return the command that installs an extra: of the checkout, or of the packages where there is none."""
    if (Path(__file__).resolve().parents[2] / "pyproject.toml").is_file():
        return f"run pip install -e '.[{extra}]' in the checkout of goldbench"
    from importlib.metadata import PackageNotFoundError, requires

    with contextlib.suppress(PackageNotFoundError):
        requirements = [line.partition(";") for line in requires("goldbench") or ()]
        in_extra = re.compile(rf"extra == ['\"]{extra}['\"]")
        listed = [f"'{name.strip()}'" for name, _, marker in requirements if in_extra.search(marker)]
        package = " ".join(listed) or package
    return f"run pip install {package} (the extra {extra})"


def require(extra: str, *packages: str) -> None:
    """Check that packages are installed, without importing them.

    Raises:
        MissingExtra: One of them is not.
    """
    for package in packages:
        if importlib.util.find_spec(package) is None:
            raise MissingExtra(package, extra)


def is_substitution(path: Path) -> bool:
    """Return whether a path is what a shell makes of ``<(command)``: a pipe into which somebody writes."""
    return str(path).startswith(("/dev/fd/", "/proc/", "/dev/stdin"))


def plain_file(path: Path) -> Path:
    """Return a path that is about to be read.

    Raises:
        OSError: It is a pipe or a device, at which reading may wait or go on for ever.
    """
    if path.exists() and not path.is_file() and not path.is_dir() and not is_substitution(path):
        raise OSError(errno.EINVAL, "it is a pipe or a device; give a plain file")
    return path


def no_such_folder(path: Path) -> str:
    """Return what is wrong with a file to write whose folder does not exist."""
    return f"{path}: cannot be written (no such folder: {path.parent}); make the folder, or give another place"


@contextlib.contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn what the operating system says about a write to a file or folder into one line.

    Raises:
        OutputError: The disk is full, the file system is read-only, or writing is not allowed.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise OutputError(f"{path}: the disk is full; free space and run the same command again") from None
        if error.errno == errno.EFBIG:
            raise OutputError(f"{path}: is larger than a file may be here (ulimit -f, or the file system)") from None
        if error.errno == errno.ENOENT:
            raise OutputError(no_such_folder(path)) from None
        if error.errno is not None:
            raise OutputError(f"{path}: cannot be written ({os.strerror(error.errno).lower()})") from None
        raise
