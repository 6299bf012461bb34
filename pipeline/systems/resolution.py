"""From names to settings: presets, what a file describes, and what is written out; everything wrong at once."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args
from urllib.parse import urlsplit

from pydantic import ValidationError

from pipeline.errors import ConfigError
from pipeline.retrieval.system_settings import (
    PRESETS,
    SystemSettings,
)
from schemas.record import Record

KINDS: dict[str, type[Record]] = {
    kind: record
    for record in get_args(get_args(SystemSettings)[0])
    for kind in get_args(record.model_fields["kind"].annotation)
}
"""The record of each kind of system."""

Described = Mapping[str, object]
"""Tables as they stand in a file, records, or retrievers that are there already, by the name of the system."""

_SEARCH_SERVER = re.compile(r"(elasticsearch|opensearch)(s|\+https?)?://", re.IGNORECASE)


def resolve(
    names: Sequence[str],
    described: Described | None = None,
    *,
    overrides: Sequence[str] = (),
    where: Path | str = "command line",
    folder: Path | None = None,
) -> dict[str, SystemSettings]:
    """Return the settings of the systems and of all that they refer to, by name.

    Args:
        names: presets, described systems, or written out: ``elasticsearch://host:9200``, ``opensearch://…``,
            ``python:package.module:function``, ``http(s)://…``, ``run:FILE``.
        described: raw tables, records or retrievers by name; retrievers may be referred to and are not in the answer.
        overrides: ``key=value`` for every one of ``names``, or ``name.key=value`` for one system.
        where: what messages call the place the systems are described in.
        folder: where relative paths begin that are described there.

    Raises:
        ConfigError: systems or parameters that are not known, values that cannot be, references that lead nowhere or in
            a circle; all of them.
    """
    described = described or {}
    problems: list[str] = []
    changes = _changes(overrides, names, {*PRESETS, *described}, problems)
    found: dict[str, SystemSettings] = {}
    objects = {name for name, given in described.items() if not isinstance(given, Mapping | Record)}
    known = {*PRESETS, *described}
    links: dict[str, tuple[str, ...]] = {}
    waiting = [*dict.fromkeys([*names, *described])]
    while waiting:
        name = waiting.pop(0)
        if name in found or name in objects:
            continue
        given, change = described.get(name), changes.get(name, {})
        settings = _settled(name, given, change, known, folder, problems)
        if settings is None:
            objects.add(name)  # said once is enough
        else:
            found[name] = settings
        links[name] = references(settings if settings is not None else given)
        waiting += links[name]
    problems += _circles(links)
    if problems:
        raise ConfigError(where, list(dict.fromkeys(problems)))
    return found


def references(settings: object) -> tuple[str, ...]:
    """Return the names of the systems that a system is made of, of its settings or of its table as it stands."""
    table = settings if isinstance(settings, Mapping) else {key: getattr(settings, key, None) for key in ("of", "by")}
    of, by = table.get("of"), table.get("by")
    several = [of] if isinstance(of, str) else of if isinstance(of, list | tuple) else []
    return tuple(name for name in (*several, by) if isinstance(name, str) and name)


def _settled(
    name: str,
    given: object,
    change: Mapping[str, str],
    known: Iterable[str],
    folder: Path | None,
    problems: list[str],
) -> SystemSettings | None:
    """Return the settings of one system, None where something is wrong with them, which is then said."""
    if isinstance(given, Record):
        table = given.model_dump(by_alias=True, exclude_unset=False)
    elif isinstance(given, Mapping):
        preset = PRESETS.get(name)
        table = {**({"kind": preset.kind} if preset is not None else {}), **given}
    elif name in PRESETS:
        table, folder = PRESETS[name].model_dump(by_alias=True), None
    else:
        written, folder = _written_out(name, problems), None
        if written is None:
            return None
        if not written:
            problems.append(f"there is no system {_shown(name)}{_nearest(name, known)}")
            return None
        table = written
    return _record(name, table, change, folder, problems)


def _written_out(name: str, problems: list[str]) -> dict[str, Any] | None:
    """Return the table of a system that is written out, an empty one where the name is no such thing."""
    if match := _SEARCH_SERVER.match(name):
        kind, secure = match[1].lower(), match[2] in {"s", "+https"}
        try:
            netloc = urlsplit(name).netloc
        except ValueError:
            netloc = "@"
        if "@" in netloc:
            problems.append(f"{kind}://: the address holds a user or a password; set {kind.upper()}_API_KEY instead")
            return None
        return {"kind": kind, "url": f"{kind}{'s' if secure else ''}://{name[match.end() :]}"}
    scheme, _, rest = name.partition(":")
    if scheme == "python":
        return {"kind": "python", "function": rest}
    if scheme in {"http", "https"} and rest.startswith("//"):
        return {"kind": "http", "url": name}
    if scheme == "run":
        return {"kind": "run", "file": rest}
    return {}


def _record(
    name: str, table: Mapping[str, Any], change: Mapping[str, str], folder: Path | None, problems: list[str]
) -> SystemSettings | None:
    place = f"systems.{_shown(name)}"
    kind = table.get("kind")
    record = KINDS.get(kind) if isinstance(kind, str) else None
    if record is None:
        said = f"there is no kind {kind!r}{_nearest(str(kind), KINDS)}" if kind is not None else "names no kind"
        problems.append(f"{place}: {said} (kinds: {', '.join(sorted(KINDS))})")
        return None
    try:
        settings = record.model_validate({**table, **_typed(record, change)})
    except ValidationError as error:
        parameters = [field.alias or key for key, field in record.model_fields.items()]
        problems += [_problem(place, item, parameters) for item in error.errors(include_url=False, include_input=False)]
        return None
    return _absolute(settings, folder)  # type: ignore[return-value]  # every record of KINDS is one


def _problem(place: str, item: Any, parameters: Sequence[str]) -> str:  # noqa: ANN401  pydantic's error dictionaries
    path = ".".join(map(str, item["loc"]))
    if item["type"] == "extra_forbidden":
        hint = _nearest(path, parameters) or f" (it has {', '.join(parameters)})"
        return f"{place}: unknown parameter {_shown(path)}{hint}"
    message = str(item["msg"]).removeprefix("Value error, ")
    return f"{place}.{path}: {message}" if path else f"{place}: {message}"


def _typed(record: type[Record], change: Mapping[str, str]) -> dict[str, Any]:
    """Return changes as given on a command line in the types of the record: lists by commas, nothing as None."""
    typed: dict[str, Any] = {}
    for key, value in change.items():
        field = next((one for name, one in record.model_fields.items() if key in {name, one.alias}), None)
        shape = field.annotation if field is not None else None
        if not value and type(None) in get_args(shape):
            typed[key] = None
        else:
            several = "tuple[" in str(shape)
            typed[key] = [part.strip() for part in value.split(",") if part.strip()] if several else value
    return typed


def _changes(
    overrides: Sequence[str], names: Sequence[str], known: Iterable[str], problems: list[str]
) -> dict[str, dict[str, str]]:
    changes: dict[str, dict[str, str]] = {}
    reachable = {*known, *names}
    for text in overrides:
        key, equals, value = text.partition("=")
        system, dot, parameter = key.strip().rpartition(".")
        if not equals or not parameter:
            problems.append(f"{_shown(text)}: give it as key=value")
        elif dot and system not in reachable:
            problems.append(f"{_shown(text)}: there is no system {_shown(system)}{_nearest(system, reachable)}")
        else:
            for name in [system] if dot else names:
                changes.setdefault(name, {})[parameter] = value.strip()
    return changes


def _absolute(settings: Record, folder: Path | None) -> Record:
    """Return the settings with every relative path begun at the folder."""
    if folder is None:
        return settings
    moved: dict[str, Any] = {}
    for name in type(settings).model_fields:
        value = getattr(settings, name)
        if isinstance(value, Path):
            moved[name] = folder / value
        elif isinstance(value, tuple) and any(isinstance(one, Path) for one in value):
            moved[name] = tuple(folder / one for one in value)
    return settings.model_copy(update=moved) if moved else settings


def _circles(links: Mapping[str, Sequence[str]]) -> list[str]:
    """Return a line for each circle of references, beginning with its first name."""
    circles: dict[frozenset[str], str] = {}
    done: set[str] = set()

    def walk(name: str, path: tuple[str, ...]) -> None:
        if name in path:
            circle = path[path.index(name) :]
            first = circle.index(min(circle))
            way = (*circle[first:], *circle[:first], circle[first])
            circles.setdefault(frozenset(circle), f"systems refer to one another in a circle: {' -> '.join(way)}")
        elif name not in done:
            for other in links.get(name, ()):
                walk(other, (*path, name))
            done.add(name)

    for name in links:
        walk(name, ())
    return list(circles.values())


def _nearest(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, sorted(known), n=2, cutoff=0.5)
    return f"; did you mean {' or '.join(near)}?" if near else ""


def _shown(name: str) -> str:
    return name if re.fullmatch(r"[\w.:/+=\[\],-]{1,80}", name) else ascii(name[:80])
