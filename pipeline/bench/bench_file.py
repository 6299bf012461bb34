"""``bench.toml``: read, checked as a whole, every problem named at once."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from pipeline.bench.sweeps import Point, points_of
from pipeline.config import Config, load_config
from pipeline.errors import ConfigError, UnknownMeasure
from pipeline.measures.names import Measure, parse_measure, parse_measures
from pipeline.measures.statistics.published_tables import printed_rows
from pipeline.retrieval.system_settings import PRESETS
from pipeline.systems import resolve
from schemas.experiment import PublishedRow
from schemas.record import ID_PATTERN, Record

DEFAULT_SYSTEMS = ("bm25", "ngrams", "lsi", "hybrid")
DECIDING_FAMILIES = ("ndcg", "mrr", "r")
"""What is tested pair by pair where nothing else is asked: few measures, so that correcting for many costs little."""

DECIDING_CUTOFF = 10
DEPTH = 100
"""So many results of each query are kept, more where a measure looks deeper."""


class BenchFile(Record):
    """``bench.toml`` as it stands, before its systems are looked at."""

    measures: tuple[str, ...] = Field(default=("hit", "mrr", "r", "ndcg"), min_length=1)
    cutoffs: tuple[int, ...] = Field(default=(1, 2, 3, 4, 5, 10), min_length=1)
    compare: tuple[str, ...] | None = None
    run: tuple[str, ...] | None = None
    baseline: str | None = None
    depth: int | None = Field(default=None, ge=1)
    warm_up: int = Field(default=10, ge=0)
    seed: int = Field(default=0, ge=0)
    timeout_seconds: float = Field(default=30, gt=0)
    match: Literal["id", "text"] = "id"
    corpus: Path | None = None
    systems: dict[str, dict[str, Any]] = Field(default_factory=dict)
    sweep: dict[str, dict[str, Any] | list[dict[str, Any]]] = Field(default_factory=dict)
    model: dict[str, Any] = Field(default_factory=dict)
    published: dict[str, Any] = Field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """An experiment that can be run.

    ``points`` are its systems; ``described`` the settings they are built from, by name; ``measures`` what is measured,
    ``compared`` what is tested, the first of them ranks. ``folder`` is where relative paths begin.
    """

    points: tuple[Point, ...]
    described: Mapping[str, Any]
    measures: tuple[Measure, ...]
    compared: tuple[Measure, ...]
    baseline: str | None
    depth: int
    warm_up: int
    seed: int
    timeout_s: float
    match: Literal["id", "text"]
    corpus: Path | None
    config: Config
    published: tuple[PublishedRow, ...]
    where: str
    folder: Path


def load_bench(
    path: Path | None,
    *,
    level: int,
    systems: Sequence[str] = (),
    measures: Sequence[str] = (),
    cutoffs: Sequence[int] = (),
    published: Mapping[str, Any] | None = None,
) -> Bench:
    """Return the experiment that a file and the command line describe.

    Args:
        path: a ``bench.toml``, or None for what is measured by default.
        level: the smallest grade that counts as relevant.
        systems: only these, instead of what the file says.
        measures: instead of the file's.
        cutoffs: instead of the file's.
        published: instead of the file's table of that name.

    Raises:
        ConfigError: With every problem found.
        UnknownMeasure: The command line names measures that cannot be understood.
    """
    data = _read_toml(path) if path else {}
    where = str(path) if path else "command line"
    problems: list[str] = []
    file = _checked(data, problems)
    printed_at = file.cutoffs
    if measures:
        parse_measures(measures, cutoffs=cutoffs)
    if cutoffs or measures:
        file = file.model_copy(
            update={"measures": tuple(measures) or file.measures, "cutoffs": tuple(cutoffs) or file.cutoffs}
        )
    if published is not None:
        file = file.model_copy(update={"published": dict(published)})
    config = _config(file.model, problems)
    described, points = _systems(file, systems or file.run, config, problems)
    rows, wrong = printed_rows(file.published, cutoffs=printed_at, level=level)
    problems += wrong
    asked = _measures(file, level, problems)
    compared = _compared(file, asked, level, problems)
    asked = list(dict.fromkeys([*asked, *compared, *(parse_measure(name) for row in rows for name in row.values)]))
    depth = file.depth or max([DEPTH, *(one.k or 0 for one in asked)])
    _check_rest(file, points, asked, rows, problems)
    folder = path.resolve().parent if path else Path.cwd()
    problems += _unusable(points, described, where=where)
    if problems:
        raise ConfigError(where, list(dict.fromkeys(problems)))
    return Bench(
        points=tuple(points),
        described=described,
        measures=tuple(asked),
        compared=tuple(compared),
        baseline=file.baseline,
        depth=depth,
        warm_up=file.warm_up,
        seed=file.seed,
        timeout_s=file.timeout_seconds,
        match=file.match,
        corpus=file.corpus and folder / file.corpus,
        config=config,
        published=tuple(rows),
        where=where,
        folder=folder,
    )


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(path, ["there is no such file"]) from None
    except OSError as error:
        raise ConfigError(path, [f"cannot be read ({(error.strerror or 'unknown reason').lower()})"]) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(path, [f"is not TOML: {error}"]) from None


def _checked(data: Mapping[str, Any], problems: list[str]) -> BenchFile:
    """Return the file without what is wrong with it, and note that."""
    try:
        return BenchFile.model_validate(data)
    except ValidationError as error:
        for item in error.errors(include_url=False):
            place = ".".join(str(part) for part in item["loc"])
            known = f" (keys: {', '.join(BenchFile.model_fields)})" if len(item["loc"]) == 1 else ""
            unknown = item["type"] == "extra_forbidden"
            problems.append(f"unknown key {place}{known}" if unknown else f"{place}: {item['msg']}")
        wrong = {item["loc"][0] for item in error.errors(include_url=False)}
        return BenchFile.model_validate({key: value for key, value in data.items() if key not in wrong})


def _config(model: Mapping[str, Any], problems: list[str]) -> Config:
    try:
        return load_config(None, {"model": model})
    except ConfigError as error:
        problems += error.problems
        return Config()


def _systems(
    file: BenchFile, wanted: Sequence[str] | None, config: Config, problems: list[str]
) -> tuple[dict[str, Any], list[Point]]:
    """Return the settings by name, those of sweeps too, and the points that are to be measured."""
    described: dict[str, Any] = dict(file.systems)
    swept: dict[str, list[Point]] = {}
    for name, grids in file.sweep.items():
        table = file.systems.get(name)
        if table is None and name in PRESETS:
            table = PRESETS[name].model_dump(mode="json", by_alias=True, exclude_defaults=True) | {
                "kind": PRESETS[name].kind
            }
        if table is None:
            problems.append(f"sweep.{name}: there is no system {name}")
            continue
        points, wrong = points_of(name, table, grids if isinstance(grids, list) else [grids])
        problems += wrong
        described |= {point.system: settings for point, settings in points.items()}
        swept[name] = list(points)
    known = {point.name: point for points in swept.values() for point in points}
    names = wanted or _by_default(file, config)
    chosen = [one for name in names for one in swept.get(name) or [known.get(name) or Point(name, name, name)]]
    return described, list(dict.fromkeys(chosen))


def _by_default(file: BenchFile, config: Config) -> list[str]:
    if file.systems or file.sweep:
        return list(dict.fromkeys([*file.systems, *file.sweep]))
    return [*DEFAULT_SYSTEMS, *(["embedding"] if config.model.embedding else [])]


def _unusable(points: Iterable[Point], described: Mapping[str, Any], *, where: str) -> list[str]:
    """Return what is wrong with the settings of systems."""
    names = list(dict.fromkeys([*(point.system for point in points), *described]))
    try:
        resolve(names, described, where=where)
    except ConfigError as error:
        return error.problems
    return []


def _measures(file: BenchFile, level: int, problems: list[str]) -> list[Measure]:
    wrong = [str(cutoff) for cutoff in file.cutoffs if cutoff < 1]
    if wrong:
        problems.append(f"cutoffs: {', '.join(wrong)} is no rank; give whole numbers from 1")
    cutoffs = sorted({cutoff for cutoff in file.cutoffs if cutoff >= 1}) or [1]
    try:
        return [one for one in parse_measures(file.measures, cutoffs=cutoffs, rel=level) if one.family != "judged"]
    except UnknownMeasure as error:
        problems += [f"measures: {problem}" for problem in error.problems]
        return []


def _compared(file: BenchFile, asked: Sequence[Measure], level: int, problems: list[str]) -> list[Measure]:
    """Return what is tested: as asked, or few measures at one cutoff of those that are measured."""
    if file.compare is not None:
        try:
            return [one for one in parse_measures(file.compare, rel=level) if one.family != "judged"] or list(asked[:1])
        except UnknownMeasure as error:
            problems += [f"compare: {problem}" for problem in error.problems]
            return []
    cutoffs = [one.k for one in asked if one.k]
    cutoff = DECIDING_CUTOFF if DECIDING_CUTOFF in cutoffs else max(cutoffs, default=None)
    found = {one.family: one for one in asked if one.k == cutoff and not one.options}
    return [found[family] for family in DECIDING_FAMILIES if family in found] or list(asked[-1:])


def _check_rest(
    file: BenchFile,
    points: Sequence[Point],
    asked: Sequence[Measure],
    rows: Sequence[PublishedRow],
    problems: list[str],
) -> None:
    names = [point.name for point in points]
    bad = [name for name in [*names, *file.systems] if not _is_name(name)]
    problems += [f"systems: {name!r} is no name: letters, digits and marks without white space" for name in bad]
    deepest = max((one.k for one in asked if one.k), default=0)
    if file.depth is not None and deepest > file.depth:
        problems.append(f"depth: {file.depth} results are fewer than the cutoff {deepest} asks for")
    if file.baseline is not None and file.baseline not in names:
        problems.append(f"baseline: {file.baseline} is none of the systems measured: {', '.join(names[:20])}")
    for row in rows:
        missing = [name for name in row.beside if name not in names]
        problems += [f"published.{row.published}.beside: there is no system {name}" for name in missing]
    if file.corpus is not None and any(point.cut for point in points):
        problems.append("corpus: passages of your own cannot be cut anew; leave out chunk_size")


def _is_name(name: str) -> bool:
    return bool(re.match(ID_PATTERN, name)) and name.isprintable() and len(name) <= 200
