"""Options of the commands as keywords of Python: their types, and messages that name keywords, not options."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict

from goldbench.pipeline.errors import ConfigError, GoldbenchError, UsageError

if TYPE_CHECKING:
    from goldbench.pipeline.config import Config
    from goldbench.pipeline.measures.names import Measure

Measures: TypeAlias = "str | Measure | Iterable[str | Measure]"
"""Names such as ``ndcg@10``; a text may hold several, with commas or white space between."""
ConfigGiven = str | PathLike[str] | Mapping[str, Any]
"""The path of a ``goldbench.toml``, or its tables as mappings."""


class ModelOptions(TypedDict, total=False):
    """The options of the table ``[model]``; None stands for an option that is not given."""

    model: str | None
    base_url: str | None
    concurrency: int | None
    deadline: float | None
    max_requests: int | None
    max_tokens: int | None
    max_usd: float | None


class BuildOptions(ModelOptions, total=False):
    """The options of ``goldbench build`` that are settings, as ``docs/reference.md`` lists them."""

    text_field: str | None
    id_field: str | None
    title_field: str | None
    no_chunk: bool | None
    limit_documents: int | None
    strict: bool | None
    chunk_size: int | None
    chunk_overlap: int | None
    generator: Literal["auto", "model", "offline"] | None
    offline_recipe: Literal["terms", "held-out", "mixed"] | None
    queries: int | None
    seed: int | None
    language: str | None
    per_chunk: int | None
    critics: str | Sequence[str] | None


class GradeOptions(ModelOptions, total=False):
    """The options of ``goldbench grade`` that are settings, as ``docs/reference.md`` lists them."""

    depth: int | None
    judges: str | Sequence[str] | None
    panel: Literal["escalate", "all"] | None
    canaries: float | None
    passages_per_call: int | None


_FLAGS = frozenset({"replace", "replay", "batch", "dry_run", "grade", "no_chunk", "strict", "drop_broken"})
_RENAMED = {"run": "runs", "measure": "measures", "k": "cutoffs"}
"""Options of which the keyword has another name."""
_KEYWORDS = frozenset({
    *_FLAGS, *_RENAMED.values(), *BuildOptions.__annotations__, *GradeOptions.__annotations__,
    "out", "answers", "config", "missing", "scores", "match", "permutations", "resamples", "alpha",
    "split", "corpus", "queries", "qrels", "grades", "relevant_from", "evidence_level",
})  # fmt: skip
_OPTION = re.compile(r"(?<![\w/.-])--([a-z][a-z0-9-]*)(?: (offline|zero|skip|text)\b)?(?=(:?))")


def named_in_python(message: str) -> str:
    """Return a message with keywords of Python in place of options of the command line.

    ``give another --out, or --replace to replace it`` becomes ``give another out=, or replace=True to replace it``.
    """

    def keyword(found: re.Match[str]) -> str:
        name = found[1].replace("-", "_")
        name = _RENAMED.get(name, name)
        if name not in _KEYWORDS:
            return found[0]
        if found[2]:
            return f"{name}={found[2]!r}"
        return name if found[3] else f"{name}=True" if name in _FLAGS else f"{name}="

    return _OPTION.sub(keyword, message)


@contextlib.contextmanager
def keywords_named() -> Iterator[None]:
    """Make every error that leaves the block name keywords of Python in place of options of the command line."""
    try:
        yield
    except GoldbenchError as error:
        error.args = (named_in_python(str(error)),)
        if isinstance(error, ConfigError):
            error.problems = [named_in_python(problem) for problem in error.problems]
        raise


def config_from(config: ConfigGiven | None, options: Mapping[str, Any], *tables: str) -> Config:
    """Return the configuration of a call: defaults, the configuration given, OPENAI_BASE_URL, then the options.

    Args:
        config: The path of a ``goldbench.toml``, its tables, or None.
        options: Values by keyword; None stands for an option that is not given.
        tables: The tables, or single settings, whose options the call takes.

    Raises:
        ConfigError: With every problem found.
        UsageError: An option does not exist, or ``config`` is of another type.
    """
    from copy import deepcopy

    from goldbench.pipeline.config import config_of, given_by, load_config, settings_in

    settings = settings_in(*tables)
    unknown = [name for name in options if name not in settings]
    if unknown:
        raise UsageError(f"unknown keyword {unknown[0]!r}{_nearest(unknown[0], settings)}")
    given = given_by(options, settings)
    if isinstance(config, Mapping):
        return config_of(deepcopy({key: _plain(value) for key, value in config.items()}), given)
    return load_config(None if config is None else path_of(config, "config"), given)


def path_of(given: object, keyword: str) -> Path:
    """Return what a caller gave as a path.

    Args:
        given: The path, as text or as an object.
        keyword: The parameter, for the message.

    Raises:
        UsageError: It is of another type, or empty.
    """
    if not isinstance(given, str | PathLike) or not str(given):
        raise UsageError(f"{keyword}: not a valid path: {type(given).__name__}; give text or a pathlib.Path")
    return Path(given)


def _plain(value: object) -> object:
    return {key: _plain(inner) for key, inner in value.items()} if isinstance(value, Mapping) else value


def _nearest(name: str, known: Mapping[str, object]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, known, n=1)
    return f"; did you mean {near[0]}?" if near else f"; known are {', '.join(known)}"
