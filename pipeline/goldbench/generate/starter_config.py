"""A ``goldbench.toml`` with a comment for every key: the example of the project, and what ``goldbench init`` writes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any

from pydantic import BaseModel

from goldbench.config import Config
from goldbench.records.settings import SHARE, SettingDeclaration, declared, share_text
from goldbench.retrieval.system_settings import KINDS

_COMMENT_COLUMN = 33
_WIDTH = 120

_HEAD = """\
# Settings of goldbench, written by goldbench init. Command-line options override this file.
# A key that is commented out shows its default, or an example value if it has none.
# All wrong keys are reported at once.
"""
_SYSTEMS = "Retrieval systems that goldbench bench measures; goldbench build does not read them"


def starter_config(live: Mapping[str, Any], systems: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the configuration of a new project.

    Args:
        live: The values that are not commented out, by table and key.
        systems: The retrieval systems by name, each with its kind and parameters.
    """
    lines = [commented_config(_HEAD, live).rstrip(), "", f"# {_SYSTEMS}."]
    for name, table in systems.items():
        record = KINDS[table["kind"]]
        lines.append(_with_comment(f"[systems.{_key(name)}]", first_sentence(record)))
        for key, value in table.items():
            description = record.model_fields[key].description if key in record.model_fields else None
            lines.append(_with_comment(f"{key} = {toml_value(value)}", (description or "What it is").rstrip(".")))
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def commented_config(head: str, live: Mapping[str, Any]) -> str:
    """Return a goldbench.toml that shows every key with its comment.

    Args:
        head: The comment at its beginning.
        live: The values that are not commented out, by table and key.
    """
    lines = [head]
    for name, field in Config.model_fields.items():
        lines += _table((name,), field.annotation, live.get(name, {}))
    return "\n".join(lines).rstrip() + "\n"


def _table(path: tuple[str, ...], table: Any, live: Mapping[str, Any]) -> Iterator[str]:  # noqa: ANN401  a record
    yield _with_comment(f"[{'.'.join(path)}]", first_sentence(table))
    inner = [declaration for declaration in declared(table, path) if len(declaration.path) == len(path) + 1]
    for declaration in inner:
        if not isinstance(declaration.default or declaration.setting.example, dict):
            yield _line(declaration, live)
    yield ""
    for declaration in inner:
        if isinstance(declaration.default or declaration.setting.example, dict):
            mark = "" if declaration.path[-1] in live else "# "
            unset = f"; default: {declaration.default_text()}" if declaration.default is None else ""
            yield _with_comment(f"{mark}[{declaration.key}]", declaration.setting.help + unset)
            shown = live.get(declaration.path[-1]) or declaration.default or declaration.setting.example
            yield from (f"{mark}{_key(key)} = {toml_value(value)}" for key, value in shown.items())
            yield ""
    for name, field in table.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from _table((*path, name), field.annotation, live.get(name, {}))


def _line(setting_declaration: SettingDeclaration, live: Mapping[str, Any]) -> str:
    key = setting_declaration.path[-1]
    value = live.get(
        key, setting_declaration.setting.example if setting_declaration.default is None else setting_declaration.default
    )
    choices = (
        setting_declaration.kind()
        if isinstance(setting_declaration.type, type) and issubclass(setting_declaration.type, Enum)
        else ""
    )
    unset = f"default: {setting_declaration.default_text()}" if setting_declaration.default is None else ""
    known_words = f"{setting_declaration.key} {setting_declaration.setting.help}".lower()
    unit = "" if setting_declaration.setting.unit.lower() in known_words else setting_declaration.setting.unit
    if setting_declaration.setting.unit == SHARE and value is not None:
        unit = share_text(value)
    comment = "; ".join(filter(None, (setting_declaration.setting.help, choices, unit, unset)))
    return _with_comment(f"{'' if key in live else '# '}{key} = {toml_value(value)}", comment)


def _with_comment(text: str, comment: str) -> str:
    line = f"{text.ljust(_COMMENT_COLUMN - 1)} # {comment}"
    return line if len(line) <= _WIDTH else f"# {comment}\n{text}"


def toml_value(value: Any) -> str:  # noqa: ANN401  any value
    """Return a value as TOML writes it."""
    plain = getattr(value, "value", list(value) if isinstance(value, tuple) else value)
    return json.dumps(plain, ensure_ascii=False)


def _key(key: Any) -> str:  # noqa: ANN401  text, or a member of an enumeration
    name = str(getattr(key, "value", key))
    return name if re.fullmatch(r"[\w-]+", name, re.ASCII) else toml_value(name)


def first_sentence(table: type[BaseModel]) -> str:
    """Return the first sentence of a record's description, without its full stop."""
    return " ".join((table.__doc__ or "").split("\n\n")[0].split()).partition(". ")[0].rstrip(".").replace("``", "")
