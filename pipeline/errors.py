"""Everything that is raised on purpose: one class per reaction of the caller.

::

    GoldsetError                     one line for the user, exit 1
    ├── UsageError                   the call or the configuration is wrong, exit 2
    │   └── ConfigError              several problems of goldset.toml at once
    ├── InputError                   something that was read is bad: path, line, what, what to do
    │   └── UnreadableDocument       one document among many: skipped and counted, unless --strict
    ├── UnknownMeasure               names of measures that cannot be understood, all of them at once
    ├── OutputError                  the output folder cannot be used or written
    │   └── NothingKept              what was made is an empty set: all stays as it was, exit 3
    ├── MissingExtra                 a package that is not installed, and how to install it
    ├── RetrieverFailed              one retrieval system cannot be built, index or search; others go on
    └── ModelError                   the model path
        ├── ModelUnavailable         the server cannot be reached or refuses us: no use asking again now
        ├── CallFailed               one call failed for good after its retries: a counted failure, not the end
        ├── AnswerRejected           an answer came but cannot be used (misfit, refusal, cut off): counted
        ├── LimitReached             a cap on requests, tokens, money or time stops the spending
        ├── AnswerMissing            a replay needs an answer that the store does not hold
        └── NotAsked                 a dry run has counted the request and asks nobody

Messages are one line: what was found, where, what to do. They never hold a key, a prompt, a reply or document text.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path


class GoldsetError(Exception):
    """Anything goldset raises on purpose. ``exit_code`` is what the command returns."""

    exit_code = 1


class UsageError(GoldsetError):
    """The command line or the configuration asks for something impossible."""

    exit_code = 2


class ConfigError(UsageError):
    """The configuration is wrong; ``problems`` holds every problem. ``path`` is None where options alone are wrong."""

    def __init__(self, path: Path | str | None, problems: list[str]) -> None:
        self.path, self.problems = path, problems
        super().__init__(("" if path is None else f"{path}: ") + "; ".join(problems))


class InputError(GoldsetError):
    """Something that was read is bad. ``line`` counts from 1."""

    def __init__(self, path: Path | str, problem: str, *, line: int | None = None) -> None:
        self.path, self.problem, self.line = path, problem, line
        where = f"{path}, line {line}" if line is not None else f"{path}"
        super().__init__(f"{where}: {problem}")


class UnreadableDocument(InputError):
    """One document cannot be read; the others can."""


class UnknownMeasure(GoldsetError):
    """Names of measures cannot be understood; ``problems`` holds one line for each of them."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = problems
        super().__init__("; ".join(problems))


class OutputError(GoldsetError):
    """The output folder cannot be used or written."""


class NothingKept(OutputError):
    """What was asked for would leave an empty set, so everything stays as it was; the answers so far are stored."""

    exit_code = 3


class MissingExtra(GoldsetError):
    """A package is not installed."""

    def __init__(self, package: str, extra: str) -> None:
        self.package, self.extra = package, extra
        super().__init__(f"{package} is not installed: pip install 'goldset[{extra}]'")


class RetrieverFailed(GoldsetError):
    """A retrieval system cannot be built, cannot index or search, or gave an answer that is not allowed.

    A retriever raises the problem alone; ``pipeline.retrieval.guard`` adds the name of the system.
    """

    def __init__(self, problem: str, *, system: str | None = None) -> None:
        self.problem, self.system = problem, system
        super().__init__(problem if system is None else f"system {system}: {problem}")


class ModelError(GoldsetError):
    """The model path failed."""


class ModelUnavailable(ModelError):
    """The server cannot be reached, or refuses every call (wrong key, wrong model)."""


class CallFailed(ModelError):
    """One call failed for good. ``kind`` is a short stable word (``timeout``, ``rate-limit``, ``http-500`` …)."""

    def __init__(self, kind: str, message: str, *, attempts: int = 1, request_id: str | None = None) -> None:
        self.kind, self.attempts, self.request_id = kind, attempts, request_id
        super().__init__(message)


class AnswerRejected(CallFailed):
    """An answer came but cannot be used: ``misfit``, ``refusal``, ``content-filter``, ``cut-off`` or ``empty``."""


class LimitReached(ModelError):
    """A cap set by the user was reached before the call was sent. ``limit`` names it."""

    def __init__(self, limit: str, message: str) -> None:
        self.limit = limit
        super().__init__(message)


class AnswerMissing(ModelError):
    """A replay asks nobody, and the store lacks an answer. ``key`` is the beginning of the answer's key."""

    def __init__(self, stage: str, key: str) -> None:
        self.stage, self.key = stage, key
        super().__init__(f"{stage}: the store has no answer {key}: run without --replay to ask the model for it")


class NotAsked(ModelError):
    """A dry run asks nobody: the store lacks this answer, and what asking would take was counted."""

    def __init__(self, stage: str) -> None:
        self.stage = stage
        super().__init__(f"{stage}: not asked, this is a dry run")


@contextlib.contextmanager
def explained(place: Path) -> Iterator[None]:
    """Turn what the operating system says about a write to a file or folder into one line.

    Raises:
        OutputError: The disk is full, the place is read-only, or writing is not allowed.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}:
            raise OutputError(f"{place}: the disk is full; free space and run the same command again") from None
        if error.errno is not None:
            raise OutputError(f"{place}: cannot be written ({os.strerror(error.errno).lower()})") from None
        raise
