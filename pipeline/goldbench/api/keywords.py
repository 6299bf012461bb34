"""Options of the commands as keywords of Python: their types, and messages in which parameters are keywords."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import index
from os import PathLike
from pathlib import Path
from typing import Any, Literal, SupportsIndex, TypeAlias, TypedDict, TypeVar, cast, get_args

from goldbench.config import Config, config_of, given_by, load_config, settings_in
from goldbench.errors import ConfigError, GoldbenchError, InputError, Message, Parameter, UsageError
from goldbench.measures.names import Measure
from goldbench.text.display import one_line, shown
from goldbench.text.suggestion import did_you_mean

F = TypeVar("F", bound=Callable[..., Any])

Measures: TypeAlias = "str | Measure | Iterable[str | Measure]"
"""Names such as ``ndcg@10``; a text may hold several, with commas or white space between."""
ConfigGiven = str | PathLike[str] | Mapping[str, Any]
"""The path of a ``goldbench.toml``, or its tables as mappings."""


class ModelOptions(TypedDict, total=False):
    """The options of the table ``[model]``; None stands for an option that is not given."""

    model: str | None
    base_url: str | None
    threads: int | None
    gpu: int | None
    concurrency: int | None
    timeout: float | None
    deadline: float | None
    max_requests: int | None
    max_tokens: int | None
    max_usd: float | None


class MachineOptions(ModelOptions, total=False):
    """The options of the tables ``[model]`` and ``[machines]``."""

    engine: Literal["local", "ray"] | None


class BuildOptions(MachineOptions, total=False):
    """The options of ``goldbench build`` that are settings, as ``docs/reference/commands.md`` lists them."""

    text_field: str | None
    id_field: str | None
    title_field: str | None
    no_chunk: bool | None
    limit_documents: int | None
    encoding: str | None
    strict: bool | None
    chunk_size: int | None
    chunk_overlap: int | None
    generator: Literal["auto", "model", "simulated"] | None
    prompt_style: Literal["auto", "short", "long"] | None
    queries: int | None
    seed: int | None
    language: str | None
    per_chunk: int | None


class BuildKeywords(BuildOptions, total=False):
    """The keywords of ``goldbench.build`` but ``dry_run``."""

    texts: Iterable[str | None] | Mapping[str, str | None] | None
    out: str | PathLike[str] | None
    config: ConfigGiven | None
    answers: str | PathLike[str] | None
    replace: bool
    replay: bool
    batch: bool
    grade: bool
    progress: bool


class RefreshOptions(MachineOptions, total=False):
    """The options of ``goldbench refresh`` that are settings, as ``docs/reference/commands.md`` lists them."""

    queries: int | None


class GradeOptions(MachineOptions, total=False):
    """The options of ``goldbench grade`` that are settings, as ``docs/reference/commands.md`` lists them."""

    depth: int | None
    judges: str | Sequence[str] | None
    method: Literal["auto", "written", "yes-no"] | None
    panel: Literal["escalate", "all"] | None
    canaries: float | None


class GradeKeywords(GradeOptions, total=False):
    """The keywords of ``GoldSet.grade`` but ``dry_run``."""

    runs: Mapping[str, str | PathLike[str] | Mapping[str, Mapping[str, float]]] | None
    config: ConfigGiven | None
    answers: str | PathLike[str] | None
    again: bool
    replace: bool
    force: bool
    replay: bool
    batch: bool
    progress: bool


_RENAMED = {"run": "runs", "measure": "measures"}
"""Options of which the keyword has another name."""


def in_python(message: str) -> str:
    """Return a message that names parameters as Python does: ``give another out=, or replace=True``."""
    return message.spelled(_keyword) if isinstance(message, Message) else message


def _keyword(parameter: Parameter) -> str:
    name = _RENAMED.get(parameter.name, parameter.name)
    if parameter.is_subject:
        return name
    return f"{name}=" if parameter.value is None else f"{name}={parameter.value!r}"


class keywords_named(contextlib.ContextDecorator):  # noqa: N801  as the functions of contextlib
    """Makes every error that leaves the block one printable line that names keywords of Python, not options.

    What the operating system refuses becomes a `GoldbenchError`, too, unless the caller's own code asked for it, see
    `callers_code`. As a decorator, it first checks the keywords that a caller gave by their annotations: flags, texts
    and paths.
    """

    def __enter__(self) -> None:
        """Nothing to prepare."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Change the message, or raise the error that stands for one of the operating system."""
        if isinstance(error, GoldbenchError):
            error.args = tuple(map(_told, error.args))
            for name in vars(error).keys() & {"problem", "problems"}:
                setattr(error, name, _told(getattr(error, name)))
        elif isinstance(error, OSError) and not (
            isinstance(error, BrokenPipeError) or vars(error).pop(_CALLERS, False)
        ):
            raise _refused(error) from error

    def __call__(self, function: F) -> F:
        """Return a public function that checks what it is given, and whose errors are those of this class."""
        checks = {name: _CHECKS[kind] for name, kind in function.__annotations__.items() if kind in _CHECKS}

        @functools.wraps(function)
        def call(*given: object, **named: object) -> object:
            try:
                with self:
                    for name in checks.keys() & named.keys():
                        checks[name](named[name], name)
                    return function(*given, **named)
            except GoldbenchError as error:  # the message tells all; the frames of this package would only hide it
                raise error.with_traceback(None) from error.__cause__

        return cast("F", call)


_CALLERS = "_of_callers_code"


@contextlib.contextmanager
def callers_code() -> Iterator[None]:
    """Mark what a generator or a mapping of the caller raises in the block: `keywords_named` lets it pass as it is."""
    try:
        yield
    except OSError as error:
        vars(error)[_CALLERS] = True
        raise


def _told(value: Any) -> Any:  # noqa: ANN401  any value
    """Return a text, or each text of a list, as one line in the words of Python."""
    if isinstance(value, list):
        return [_told(text) for text in value]
    return one_line(in_python(value)) if isinstance(value, str) else value


def _refused(error: OSError) -> GoldbenchError:
    reason = (error.strerror or type(error).__name__).lower()
    if error.filename is None:
        return GoldbenchError(f"the operating system refuses: {one_line(reason)}")
    return InputError(shown(os.fsdecode(error.filename)), f"cannot be used ({reason})")


def _check_flag(value: object, keyword: str) -> None:
    if not isinstance(value, bool):
        raise unfit(value, keyword, "True or False")


def _check_text(value: object, keyword: str) -> None:
    if value is not None and not isinstance(value, str):
        raise unfit(value, keyword, "text")


def _check_path(value: object, keyword: str) -> None:
    if value is not None:
        path_of(value, keyword)


_CHECKS = {"bool": _check_flag, "str | None": _check_text, "str | PathLike[str] | None": _check_path}
"""What checks a keyword, by its annotation."""


def unfit(value: object, keyword: str, wanted: str) -> UsageError:
    """Return the error for a value that a parameter does not take.

    Args:
        value: The value.
        keyword: The parameter.
        wanted: What it takes.
    """
    return UsageError(f"not a valid value: {shown(repr(value))}; give {wanted}", parameter=keyword)


def choice_of(value: object, keyword: str, offered: object) -> str:
    """Return one of the names that a parameter offers.

    Args:
        value: The name.
        keyword: The parameter.
        offered: The ``Literal`` of the names.

    Raises:
        UsageError: It is none of them.
    """
    names = get_args(offered)
    if not isinstance(value, str) or value not in names:
        raise unfit(value, keyword, f"one of {', '.join(names)}")
    return value


def whole_number(value: object, keyword: str, *, least: int) -> int:
    """Return a whole number, of numpy too, as an int.

    Args:
        value: The number.
        keyword: The parameter.
        least: The least number that is allowed.

    Raises:
        UsageError: It is not a whole number, or less.
    """
    try:
        number = least - 1 if isinstance(value, bool) else index(cast("SupportsIndex", value))
    except TypeError:
        number = least - 1
    if number < least:
        raise unfit(value, keyword, f"a whole number of at least {least}")
    return number


def config_from(config: ConfigGiven | None, options: Mapping[str, Any], *tables: str) -> Config:
    """Return the configuration of a call: defaults, OPENAI_BASE_URL, the configuration given, then the options.

    Args:
        config: The path of a ``goldbench.toml``, its tables, or None.
        options: Values by keyword; None stands for an option that is not given.
        tables: The tables, or single settings, whose options the call takes.

    Raises:
        ConfigError: With every problem found.
        UsageError: An option does not exist, or ``config`` is of another type.
    """
    settings = settings_in(*tables)
    unknown = [name for name in options if name not in settings]
    if unknown:
        raise UsageError(f"unknown keyword {unknown[0]!r}{_nearest(unknown[0], settings)}")
    try:
        given = given_by(_plain(options), settings)
        held = _plain(config) if isinstance(config, Mapping) else None
    except RecursionError:
        raise ConfigError(None, ["config: a table holds itself; give tables as in goldbench.toml"]) from None
    if held is not None:
        return config_of(held, given)
    return load_config(None if config is None else path_of(config, "config"), given)


def path_of(value: object, keyword: str) -> Path:
    """Return what a caller gave as a path.

    Args:
        value: The path, as text or as an object.
        keyword: The parameter, for the message.

    Raises:
        UsageError: It is of another type, empty, or holds characters that no path can have.
    """
    path = os.fspath(value) if isinstance(value, str | PathLike) else value
    if not isinstance(path, str):
        raise UsageError(f"not a valid path: {type(value).__name__}; give text or a pathlib.Path", parameter=keyword)
    if not path:
        raise UsageError("not a valid path: it is empty; give the path of a file or folder", parameter=keyword)
    try:
        possible = b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        possible = False
    if not possible:
        raise UsageError(f"not a valid path: {shown(path)}; give the path of a file or folder", parameter=keyword)
    return Path(path)


def _plain(value: Any) -> Any:  # noqa: ANN401  any value
    """Return a copy of tables in tables, whatever mappings they are."""
    return {key: _plain(inner) for key, inner in value.items()} if isinstance(value, Mapping) else value


def _nearest(name: str, known: Mapping[str, object]) -> str:
    return did_you_mean(name, known) or f"; known are {', '.join(known)}"
