"""The JSON Schema of a pydantic model as servers with structured output take it: closed, all required, inlined."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from pydantic import BaseModel

_LIMITS = {
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "pattern": "matching {}",
    "format": "a {}",
    "minimum": "at least {}",
    "maximum": "at most {}",
    "exclusiveMinimum": "above {}",
    "exclusiveMaximum": "below {}",
    "multipleOf": "a multiple of {}",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
}
_DROPPED = {"title", "default", "examples", "uniqueItems", "deprecated", "$defs"}


@lru_cache(maxsize=128)
def schema_text(answer: type[BaseModel]) -> str:
    """Return ``answer_schema`` as compact JSON: the same text on every machine."""
    return json.dumps(answer_schema(answer), ensure_ascii=False, separators=(",", ":"))


@lru_cache(maxsize=128)
def answer_schema(answer: type[BaseModel]) -> dict[str, Any]:
    """Return the strict schema of an answer.

    Limits on length, size and count move into the descriptions, because most servers refuse them; they are checked when
    the answer is read.

    Raises:
        TypeError: The model is recursive or has a mapping with free keys, which no strict schema can describe.
    """
    full = answer.model_json_schema()
    return _strict(full, full.get("$defs", {}), ())


def _strict(node: dict[str, Any], definitions: dict[str, Any], above: tuple[str, ...]) -> dict[str, Any]:
    if len(node.get("allOf", ())) == 1:
        node = {**node["allOf"][0], **_without(node, "allOf")}
    if "$ref" in node:
        name = node["$ref"].rsplit("/", 1)[-1]
        if name in above:
            raise TypeError(f"{name} contains itself: an answer must be flat")
        return _strict({**definitions[name], **_without(node, "$ref")}, definitions, (*above, name))
    strict = {key: value for key, value in node.items() if key not in _DROPPED and key not in _LIMITS}
    limits = [text.format(node[key]) for key, text in _LIMITS.items() if key in node]
    if limits:
        strict["description"] = f"{node.get('description', '')} ({', '.join(limits)})".strip()
    for key in ("anyOf", "oneOf"):
        if key in node:
            strict = _without(strict, key) | {"anyOf": [_strict(part, definitions, above) for part in node[key]]}
    if "const" in node:
        strict = _without(strict, "const") | {"enum": [node["const"]]}
    if "items" in node:
        strict["items"] = _strict(node["items"], definitions, above)
    return strict | _closed(node, definitions, above) if node.get("type") == "object" else strict


def _closed(node: dict[str, Any], definitions: dict[str, Any], above: tuple[str, ...]) -> dict[str, Any]:
    if "properties" not in node:
        raise TypeError("a mapping with free keys has no strict schema: list the fields")
    fields = {name: _strict(part, definitions, above) for name, part in node["properties"].items()}
    return {"properties": fields, "required": list(fields), "additionalProperties": False}


def _without(node: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in node.items() if name != key}


@lru_cache(maxsize=128)
def field_names(answer: type[BaseModel]) -> frozenset[str]:
    """Return the field names of the answer, at any depth."""
    found: set[str] = set()
    pending: list[Any] = [answer_schema(answer)]
    while pending:
        node = pending.pop()
        if isinstance(node, dict):
            found.update(node.get("properties", {}))
            pending.extend(node.values())
        elif isinstance(node, list):
            pending.extend(node)
    return frozenset(found)
