"""Turns names, descriptions and overrides into the settings of systems; every problem is reported at once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any, get_args
from urllib.parse import urlsplit

from pydantic import ValidationError

from goldbench.errors import ConfigError, Message
from goldbench.records.record import Record
from goldbench.retrieval.system_settings import KINDS, PRESETS, SystemSettings
from goldbench.text.suggestion import did_you_mean

Described = Mapping[str, object]
"""Systems by name: tables from a file, or records of settings."""

_SEARCH_SERVER = re.compile(r"(elasticsearch|opensearch)(s|\+https?)?://", re.IGNORECASE)


SYSTEM = Message("{system}")
"""Where systems are described, for messages, if no file describes them."""
_nearest = partial(did_you_mean, most=2, likeness=0.5)


class _Wrong(Exception):
    """A system is described wrongly; ``args`` are the problems."""


def resolve(
    names: Sequence[str],
    described: Described | None = None,
    *,
    overrides: Sequence[str] = (),
    where: Path | str = SYSTEM,
    folder: Path | None = None,
) -> dict[str, SystemSettings]:
    """Return the settings of the systems and of all that they are made of, by name.

    Args:
        names: Presets, described systems, or addresses: ``elasticsearch://host:9200``, ``opensearch://…``,
            ``python:package.module:function``, ``http(s)://…``, ``run:FILE``.
        described: Tables or records by name.
        overrides: ``key=value`` for every one of ``names``, or ``name.key=value`` for one system.
        where: The place of the descriptions, for messages.
        folder: The folder that relative paths of the descriptions begin in.

    Raises:
        ConfigError: With every problem: unknown systems or parameters, values out of range, references to unknown
            systems or in a circle.
    """
    described = described or {}
    known = {*PRESETS, *described}
    changes, problems = _changes(overrides, names, known)
    settings: dict[str, SystemSettings] = {}
    links: dict[str, tuple[str, ...]] = {}
    waiting = list(dict.fromkeys([*names, *described]))
    while waiting:
        name = waiting.pop(0)
        if name in links:
            continue
        table = described.get(name)
        try:
            settings[name] = _settings(name, table, changes.get(name, {}), known, folder)
        except _Wrong as wrong:
            problems += wrong.args
        links[name] = references(settings.get(name, table))
        waiting += links[name]
    problems += _circle(links)
    if problems:
        raise ConfigError(where, list(dict.fromkeys(problems)))
    return settings


def references(settings: object) -> tuple[str, ...]:
    """Return the names of the systems that a system is made of, from its settings or its table."""
    table = settings if isinstance(settings, Mapping) else {key: getattr(settings, key, None) for key in ("of", "by")}
    of = table.get("of")
    by = table.get("by")
    several = [of] if isinstance(of, str) else of if isinstance(of, list | tuple) else []
    return tuple(name for name in (*several, by) if isinstance(name, str) and name)


def reached(names: Iterable[str], settings: Mapping[str, object]) -> list[str]:
    """Return the names and those of all systems that they are made of, each once, as far as they have settings."""
    reachable: list[str] = []
    waiting = list(names)
    while waiting:
        name = waiting.pop(0)
        if name in settings and name not in reachable:
            reachable.append(name)
            waiting += references(settings[name])
    return reachable


def _settings(
    name: str, description: object, change: Mapping[str, str], known: Iterable[str], folder: Path | None
) -> SystemSettings:
    if isinstance(description, Record):
        table = description.model_dump(by_alias=True)
    elif isinstance(description, Mapping):
        table = {**({"kind": PRESETS[name].kind} if name in PRESETS else {}), **description}
    else:
        table = PRESETS[name].model_dump(by_alias=True) if name in PRESETS else _address(name)
        folder = None
    if not table and description is None:
        raise _Wrong(_unknown(name, known))
    path = f"systems.{_shown(name)}"
    kind = table.get("kind")
    record = KINDS.get(kind) if isinstance(kind, str) else None
    if record is None:
        problem = f"there is no kind {kind!r}{_nearest(str(kind), KINDS)}" if kind is not None else "kind is missing"
        raise _Wrong(f"{path}: {problem} (kinds: {', '.join(sorted(KINDS))})")
    try:
        settings = record.model_validate({**table, **_typed(record, change)})
    except ValidationError as error:
        parameters = [field.alias or key for key, field in record.model_fields.items() if key != "kind"]
        items = error.errors(include_url=False, include_input=False)
        raise _Wrong(*(_problem(path, item, parameters) for item in items)) from None
    return _absolute(settings, folder)  # type: ignore[return-value]  # every record of KINDS is one


def _unknown(name: str, known: Iterable[str]) -> str:
    """Return what is wrong with the name of a system that is neither described nor known without a description."""
    if name in KINDS:
        return (
            f"the system {name} needs a description: put [systems.NAME] with kind = {name!r} and its parameters into a "
            "bench.toml, and name both, the file and the system"
        )
    return f"no such system: {_shown(name)}{_nearest(name, known)} (known: {', '.join(sorted(known))})"


def _address(name: str) -> dict[str, Any]:
    """Return the table of a system whose name is its address, or an empty one."""
    if match := _SEARCH_SERVER.match(name):
        kind = match[1].lower()
        secure = match[2] in {"s", "+https"}
        try:
            netloc = urlsplit(name).netloc
        except ValueError:
            netloc = "@"
        if "@" in netloc:
            raise _Wrong(f"{kind}://: the address holds a user or a password; set {kind.upper()}_API_KEY instead")
        return {"kind": kind, "url": f"{kind}{'s' if secure else ''}://{name[match.end() :]}"}
    scheme, _, rest = name.partition(":")
    if scheme == "python":
        return {"kind": "python", "function": rest}
    if scheme in {"http", "https"} and rest.startswith("//"):
        return {"kind": "http", "url": name}
    return {"kind": "run", "file": rest} if scheme == "run" and rest else {}


def _problem(path: str, item: Any, parameters: Sequence[str]) -> str:  # noqa: ANN401  pydantic's error dictionaries
    field = ".".join(map(str, item["loc"]))
    if item["type"] == "extra_forbidden":
        hint = f"{_nearest(field, parameters)} (parameters: {', '.join(parameters)})"
        return f"{path}: unknown parameter {_shown(field)}{hint}"
    message = str(item["msg"]).removeprefix("Value error, ")
    return f"{path}.{field}: {message}" if field else f"{path}: {message}"


def _typed(record: type[Record], change: Mapping[str, str]) -> dict[str, Any]:
    """Return overrides in the types of the record: lists are separated by commas, an empty value is None."""
    typed: dict[str, Any] = {}
    for key, value in change.items():
        field = next((info for name, info in record.model_fields.items() if key in {name, info.alias}), None)
        shape = field.annotation if field is not None else None
        if not value and type(None) in get_args(shape):
            typed[key] = None
        else:
            several = "tuple[" in str(shape)
            typed[key] = [part.strip() for part in value.split(",") if part.strip()] if several else value
    return typed


def _changes(
    overrides: Sequence[str], names: Sequence[str], known: Iterable[str]
) -> tuple[dict[str, dict[str, str]], list[str]]:
    """Return the overrides of each system by parameter, and what is wrong with others."""
    changes: dict[str, dict[str, str]] = {}
    problems: list[str] = []
    reachable = {*known, *names}
    for text in overrides:
        key, equals, value = text.partition("=")
        system, dot, parameter = key.strip().rpartition(".")
        if not equals or not parameter:
            problems.append(f"{_shown(text)}: not a parameter with its value; give it as bm25.k1=0.9")
        elif dot and system not in reachable:
            problems.append(f"{_shown(text)}: no such system: {_shown(system)}{_nearest(system, reachable)}")
        else:
            for name in [system] if dot else names:
                changes.setdefault(name, {})[parameter] = value.strip()
    return changes, problems


def _absolute(settings: Record, folder: Path | None) -> Record:
    """Return the settings with every relative path placed in the folder."""
    if folder is None:
        return settings
    moved: dict[str, Any] = {}
    for name, value in settings:
        if isinstance(value, Path):
            moved[name] = folder / value
        elif isinstance(value, tuple) and any(isinstance(path, Path) for path in value):
            moved[name] = tuple(folder / path for path in value)
    return settings.model_copy(update=moved)


def _circle(links: Mapping[str, Sequence[str]]) -> list[str]:
    """Return a line for a circle of references, beginning with its first name; nothing if there is none."""
    try:
        TopologicalSorter(links).prepare()
    except CycleError as error:
        circle = error.args[1][:0:-1]
        first = circle.index(min(circle))
        way = (*circle[first:], *circle[: first + 1])
        return [f"systems refer to one another in a circle: {' -> '.join(way)}"]
    return []


def _shown(name: str) -> str:
    return name if re.fullmatch(r"[\w.:/+=\[\],-]{1,80}", name) else ascii(name[:80])
