"""``bench.toml``, read and checked as a whole, and its sweeps, in which one system becomes many."""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import ConfigDict, Field, ValidationError, model_validator

from goldbench.config import Config, config_of, read_toml
from goldbench.errors import ConfigError, Message, UnknownMeasure
from goldbench.measures.names import Measure, parse_measure, parse_measures
from goldbench.records.experiment import PublishedRow
from goldbench.records.record import ID_PATTERN, Record
from goldbench.retrieval.system_settings import PRESETS
from goldbench.score.demands import naming
from goldbench.systems import resolve
from goldbench.systems.resolution import SYSTEM
from goldbench.text.asked_query import Conversation
from goldbench.text.display import shell_command

DEFAULT_SYSTEMS = ("bm25", "ngrams", "lsi", "hybrid")
DECIDING_FAMILIES = ("ndcg", "mrr", "r")
"""Measures that are tested pair by pair by default: few, so that the correction for many tests costs little."""
DECIDING_CUTOFF = 10
"""The cutoff of the tested measures, if it is among the measured ones."""
DEPTH = 100
"""Results of each query that are kept by default; a measure that looks deeper raises it."""


Figures = tuple[Annotated[float, Field(ge=0, le=1)], ...]
"""A figure for each cutoff, from 0 to 1."""


class PublishedFigures(Record):
    """The figures of one system in an article, and the measured systems that they stand beside."""

    beside: tuple[str, ...]
    hit_rate: Figures = ()
    mrr: Figures = ()


class PublishedTable(Record):
    """The table ``published`` of a ``bench.toml``: the cutoffs, and a table for each system in the article."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, PublishedFigures]

    top_k: tuple[Annotated[int, Field(ge=1)], ...] = Field(default=(), description="Cutoffs of the published figures.")

    @model_validator(mode="after")
    def _check_lengths(self) -> Self:
        for name, figures in self.__pydantic_extra__.items():
            for measure, values in (("hit_rate", figures.hit_rate), ("mrr", figures.mrr)):
                if len(values) not in {0, len(self.top_k)}:
                    raise ValueError(
                        f"{name}.{measure}: give one figure for each of the {len(self.top_k)} cutoffs in top_k"
                    )
        return self


class BenchFile(Record):
    """The tables of ``bench.toml``, before the systems in it are checked."""

    measures: tuple[str, ...] = Field(default=("hit", "mrr", "r", "ndcg"), min_length=1)
    cutoffs: tuple[int, ...] = Field(default=(1, 2, 3, 4, 5, 10), min_length=1)
    compare: tuple[str, ...] | None = Field(default=None, description="Measures that are tested; by default a few.")
    run: tuple[str, ...] | None = Field(default=None, description="Systems that are measured; by default all.")
    baseline: str | None = Field(default=None, description="System that every other is tested with.")
    depth: int | None = Field(default=None, ge=1, description="Results of each query that are kept.")
    warm_up: int = Field(default=10, ge=0, description="Queries searched before the clock starts.")
    seed: int = Field(default=0, ge=0, description="Seed of the bootstrap and of permutations.")
    conversation: Conversation = Field(
        default="last",
        description="What is searched for the last question of a conversation: last (as asked), standalone or joined.",
    )
    systems: dict[str, dict[str, Any]] = Field(default_factory=dict)
    sweep: dict[str, dict[str, Any] | list[dict[str, Any]]] = Field(default_factory=dict)
    model: dict[str, Any] = Field(default_factory=dict)
    published: PublishedTable = Field(default_factory=PublishedTable)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """An experiment that can be run.

    ``file`` is its description, ``points`` are its systems, ``described`` the settings they are built from, by name.
    ``measures`` are measured, ``compared`` tested; the first compared measure ranks the systems. Relative paths begin
    in ``folder``.
    """

    file: BenchFile
    points: tuple[Point, ...]
    described: Mapping[str, Any]
    measures: tuple[Measure, ...]
    compared: tuple[Measure, ...]
    depth: int
    config: Config
    published: Sequence[PublishedRow]
    where: Path | str
    folder: Path


class _Problems(list[str]):
    """The problems found so far."""

    @contextlib.contextmanager
    def noted(self, location: str = "") -> Iterator[None]:
        """Note the problems of an error raised inside the block, each behind its place."""
        try:
            yield
        except (ConfigError, UnknownMeasure) as error:
            self += [Message("{}: {}", location, problem) if location else problem for problem in error.problems]


def load_bench(
    path: Path | None,
    *,
    level: int,
    systems: Sequence[str] = (),
    measures: Sequence[str] = (),
    cutoffs: Sequence[int] = (),
    published: Path | None = None,
    given: Mapping[str, Any] | None = None,
) -> Bench:
    """Return the experiment that a file and the command line describe.

    Args:
        path: A ``bench.toml``, or None for the default experiment.
        level: The smallest grade that counts as relevant.
        systems: Measure only these systems; () leaves the file's.
        measures: Replace the file's measures; () leaves them.
        cutoffs: Replace the file's cutoffs; () leaves them.
        published: A file whose table ``published`` replaces the file's; None leaves it.
        given: Values of the command line that replace those of ``[model]``.

    Raises:
        ConfigError: With every problem found.
        UnknownMeasure: The command line names unknown measures.
    """
    where = path or SYSTEM
    folder = path.resolve().parent if path else Path.cwd()
    problems = _Problems()
    tables = _own_tables(read_toml(path)) if path else {}
    if published is not None:
        tables["published"] = read_toml(published).get("published")
        if not tables["published"]:
            raise ConfigError(published, ["has no table [published]"])
    file = _checked(tables, problems)
    if measures:
        with naming("measure"):
            parse_measures(measures, cutoffs=cutoffs)
    instead = {"measures": measures or None, "cutoffs": cutoffs or None}
    file = file.model_copy(update={key: value for key, value in instead.items() if value is not None})
    config = Config()
    with problems.noted():
        config = config_of({"model": file.model}, given or {})
    described, points = _systems(file, systems or file.run, config, problems)
    asked = _measures(file, level, problems)
    if file.measures and not asked and not problems:
        problems.append("measures: judged@k is always counted and does not measure quality; name another measure")
    compared = _compared(file, asked, level, problems)
    rows = _published_rows(file.published, level)
    asked = list(dict.fromkeys([*asked, *compared, *(parse_measure(name) for row in rows for name in row.values)]))
    problems += _contradictions(file, points, asked)
    with problems.noted("" if path else SYSTEM):
        resolve(list(dict.fromkeys([*(point.system for point in points), *described])), described, where=where)
    if problems:
        raise ConfigError(path, list(dict.fromkeys(problems)))
    return Bench(
        file=file,
        points=tuple(points),
        described=described,
        measures=tuple(asked),
        compared=tuple(compared),
        depth=file.depth or max([DEPTH, *(measure.k or 0 for measure in asked)]),
        config=config,
        published=rows,
        where=where,
        folder=folder,
    )


def _published_rows(table: PublishedTable, level: int) -> list[PublishedRow]:
    """Return the figures of each system by measure.

    Args:
        table: The table.
        level: The smallest grade that counts as relevant.
    """
    rows = []
    for name, figures in table.__pydantic_extra__.items():
        values = {
            parse_measure(f"{family}@{k}", rel=level).name: value
            for family, printed in (("hit", figures.hit_rate), ("mrr", figures.mrr))
            for k, value in zip(table.top_k, printed, strict=False)
        }
        rows.append(PublishedRow(published=name, beside=figures.beside, values=values))
    return rows


def _own_tables(tables: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tables of a file without those of a build, which may stand in the same file."""
    of_builds = Config.model_fields.keys() - {"model"}
    return {name: value for name, value in tables.items() if name not in of_builds}


def _checked(data: Mapping[str, Any], problems: list[str]) -> BenchFile:
    """Return the file without the keys that are wrong, which are noted."""
    try:
        return BenchFile.model_validate(data)
    except ValidationError as error:
        items = error.errors(include_url=False)
    for item in items:
        location = ".".join(str(part) for part in item["loc"])
        known = f" (keys: {', '.join(BenchFile.model_fields)})" if len(item["loc"]) == 1 else ""
        unknown = item["type"] == "extra_forbidden"
        message = item["msg"].removeprefix("Value error, ")
        problems.append(f"unknown key {location}{known}" if unknown else f"{location}: {message}")
    wrong = {item["loc"][0] for item in items}
    return BenchFile.model_validate({key: value for key, value in data.items() if key not in wrong})


def _systems(
    file: BenchFile, wanted: Sequence[str] | None, config: Config, problems: list[str]
) -> tuple[dict[str, Any], list[Point]]:
    """Return the settings by name, those of sweeps too, and the points to measure."""
    described: dict[str, Any] = dict(file.systems)
    swept: dict[str, list[Point]] = {}
    for name, grids in file.sweep.items():
        table = file.systems.get(name)
        if table is None and (preset := PRESETS.get(name)) is not None:
            table = {**preset.model_dump(mode="json", by_alias=True, exclude_defaults=True), "kind": preset.kind}
        if table is None:
            problems.append(f"sweep.{name}: no such system: {name}")
            continue
        points, wrong = points_of(name, table, grids if isinstance(grids, list) else [grids])
        problems += wrong
        described |= {point.system: settings for point, settings in points.items()}
        swept[name] = list(points)
    known = {point.name: point for points in swept.values() for point in points}
    if not wanted and (file.systems or file.sweep):
        wanted = [*file.systems, *file.sweep]
    elif not wanted:
        wanted = [*DEFAULT_SYSTEMS, *(["embedding"] if config.model.embedding else [])]
    chosen = [
        chosen_point for name in wanted for chosen_point in swept.get(name) or [known.get(name) or Point(name, name)]
    ]
    return described, list(dict.fromkeys(chosen))


def _measures(file: BenchFile, level: int, problems: _Problems) -> list[Measure]:
    wrong = [str(cutoff) for cutoff in file.cutoffs if cutoff < 1]
    if wrong:
        problems.append(f"cutoffs: {', '.join(wrong)} is not a rank; give whole numbers from 1")
    cutoffs = sorted({cutoff for cutoff in file.cutoffs if cutoff >= 1}) or [1]
    measures: tuple[Measure, ...] = ()
    with problems.noted("measures"):
        measures = tuple(parse_measures(file.measures, cutoffs=cutoffs, rel=level))
    if any(measure.family == "all" for measure in measures):
        problems.append(f"measures: all@k is not measured here; score the runs with {shell_command('score')}")
    return [measure for measure in measures if measure.family != "judged"]


def _compared(file: BenchFile, measures: Sequence[Measure], level: int, problems: _Problems) -> list[Measure]:
    """Return the measures that are tested: those of the file, or a few at one cutoff of those that are measured."""
    if file.compare is not None:
        named: tuple[Measure, ...] = ()
        with problems.noted("compare"):
            named = tuple(parse_measures(file.compare, rel=level))
        return [measure for measure in named if measure.family != "judged"] or list(measures[:1])
    cutoffs = [measure.k for measure in measures if measure.k]
    cutoff = DECIDING_CUTOFF if DECIDING_CUTOFF in cutoffs else max(cutoffs, default=None)
    by_family = {measure.family: measure for measure in measures if measure.k == cutoff and not measure.options}
    return [by_family[family] for family in DECIDING_FAMILIES if family in by_family] or list(measures[-1:])


def _contradictions(file: BenchFile, points: Sequence[Point], measures: Sequence[Measure]) -> Iterator[str]:
    names = [point.name for point in points]
    for name in [*names, *file.systems]:
        if not (re.match(ID_PATTERN, name) and name.isprintable() and len(name) <= 200):
            yield f"systems: {name!r} is not a valid name; use letters, digits and marks without white space"
    deepest = max((measure.k for measure in measures if measure.k), default=0)
    if file.depth is not None and deepest > file.depth:
        yield f"depth: {file.depth} results are fewer than the cutoff {deepest} asks for"
    if file.baseline is not None and file.baseline not in names:
        yield f"baseline: {file.baseline} is not one of the measured systems: {', '.join(names[:20])}"


CHUNK_SIZE = "chunk_size"
CHUNK_OVERLAP = "chunk_overlap"
"""Parameters of the corpus, not of the system: the documents are cut anew and the labels projected."""

MOST_POINTS = 1000
"""Limits the combinations of one sweep; a larger sweep is refused."""
_LONGEST_VALUE = 40
"""Characters of a value in the name of a point; of a longer value the end is shown."""


@dataclass(frozen=True, slots=True)
class Cut:
    """How documents are cut, in characters."""

    size: int
    overlap: int


@dataclass(frozen=True, slots=True)
class Point:
    """One system of the experiment.

    ``name`` is its name in tables; ``system`` the name of its settings, which points that differ only in the cut share;
    ``cut`` is None if the gold set's own passages are searched.
    """

    name: str
    system: str
    cut: Cut | None = None


def points_of(
    name: str, table: Mapping[str, Any], grids: Sequence[Mapping[str, Any]]
) -> tuple[dict[Point, dict[str, Any]], list[str]]:
    """Return the points of one system with the settings of each, and the problems of its sweep.

    Args:
        name: The system.
        table: Its settings as in the file.
        grids: Values to try by parameter; the points are all combinations within a grid.
    """
    points: dict[Point, dict[str, Any]] = {}
    problems: list[str] = []
    for grid in grids:
        wrong = _wrong(grid)
        problems += [f"sweep.{name}{problem}" for problem in wrong]
        for values in product(*grid.values()) if not wrong else ():
            try:
                point, settings = _point(name, table, dict(zip(grid, values, strict=True)))
            except ValueError as error:
                problems.append(f"sweep.{name}: {error}")
                continue
            if points.setdefault(point, settings) != settings:
                problems.append(
                    f"sweep.{name}: two combinations are called {point.name}; describe them as systems with names"
                )
    return points, list(dict.fromkeys(problems))


def _wrong(grid: Mapping[str, Any]) -> list[str]:
    if not isinstance(grid, Mapping) or not grid:
        return [": name parameters with the values to try, as k1 = [0.9, 1.2]"]
    empty = [key for key, values in grid.items() if not isinstance(values, list) or not values]
    size = math.prod(len(values) for key, values in grid.items() if key not in empty)
    problems = [f".{key}: give a list of the values to try" for key in empty]
    return problems + [f": {size:,} combinations, more than {MOST_POINTS:,}"] * (size > MOST_POINTS)


def _point(name: str, table: Mapping[str, Any], chosen: Mapping[str, Any]) -> tuple[Point, dict[str, Any]]:
    own = {key: value for key, value in chosen.items() if key not in {CHUNK_SIZE, CHUNK_OVERLAP}}
    system = f"{name}[{_label(own)}]" if own else name
    return Point(f"{name}[{_label(chosen)}]", system, _cut(chosen)), {**table, **own}


def _cut(chosen: Mapping[str, Any]) -> Cut | None:
    size = chosen.get(CHUNK_SIZE)
    overlap = chosen.get(CHUNK_OVERLAP)
    if size is None and overlap is None:
        return None
    if size is None:
        raise ValueError(f"{CHUNK_OVERLAP} needs {CHUNK_SIZE}")
    if type(size) is not int or size < 1:
        raise ValueError(f"{CHUNK_SIZE} {size!r} is not a whole number of characters from 1")
    overlap = size // 10 if overlap is None else overlap
    if type(overlap) is not int or not 0 <= overlap < size:
        raise ValueError(f"{CHUNK_OVERLAP} {overlap!r} is not a whole number from 0 to below {CHUNK_SIZE} {size}")
    return Cut(size, overlap)


def _label(chosen: Mapping[str, Any]) -> str:
    return ",".join(f"{key}={_value(value)}" for key, value in chosen.items())


def _value(value: object) -> str:
    if isinstance(value, list):
        return ":".join(_value(part) for part in value)
    text = str(value).lower() if isinstance(value, bool) else str(value)
    text = "".join("_" if character.isspace() else character for character in text)
    return text if len(text) <= _LONGEST_VALUE else "…" + text[1 - _LONGEST_VALUE :]
