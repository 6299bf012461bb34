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
SENT = "sent"
"""The key of ``json_schema_extra`` for limits that a server is told and a reply is not refused for."""
_DROPPED = {"title", "default", "examples", "uniqueItems", "deprecated", "$defs", SENT}

_MOST_VALUES = 16
"""Integers with at most this many possible values are sent as a list of them."""


@lru_cache(maxsize=128)
def schema_text(answer: type[BaseModel]) -> str:
    """Return ``answer_schema`` as compact JSON: the same text on every machine."""
    return json.dumps(answer_schema(answer), ensure_ascii=False, separators=(",", ":"))


@lru_cache(maxsize=128)
def answer_schema(answer: type[BaseModel]) -> dict[str, Any]:
    """Return the strict schema of an answer.

    Limits on length, size and count move into the descriptions; they are checked when the answer is read. What is sent
    to a server is `sent_schema`; this one names the answer, so that stored replies are found again whatever is sent.

    Raises:
        TypeError: The model is recursive or has a mapping with free keys, which no strict schema can describe.
    """
    full = answer.model_json_schema()
    return _strict(full, full.get("$defs", {}), ())


@lru_cache(maxsize=512)
def sent_schema(answer: type[BaseModel], *, limited: bool = False, items: int | None = None) -> dict[str, Any]:
    """Return the strict schema of an answer as it is sent to a server, in the order in which it is written.

    The limits of ``json_schema_extra`` (key ``sent``) count as those of the field. A field with ``last`` there stands
    at the end, whatever its place in the model.

    Args:
        answer: The model of the answer.
        limited: Whether the server takes limits on the lengths of texts and lists, on integers, and the form of a text.
        items: The most items of a list at the top of the answer, None for any number.
    """
    full = answer.model_json_schema()
    schema = _strict(full, full.get("$defs", {}), (), limited=limited)
    if items is not None and limited:
        for part in schema["properties"].values():
            if part.get("type") == "array":
                part.setdefault("maxItems", items)
    return schema


@lru_cache(maxsize=512)
def sent_text(answer: type[BaseModel]) -> str:
    """Return `sent_schema` without limits as compact JSON, for servers that take a schema in words alone."""
    return json.dumps(sent_schema(answer), ensure_ascii=False, separators=(",", ":"))


def _strict(
    node: dict[str, Any], definitions: dict[str, Any], above: tuple[str, ...], *, limited: bool | None = None
) -> dict[str, Any]:
    if len(node.get("allOf", ())) == 1:
        node = {**node["allOf"][0], **_without(node, "allOf")}
    if "$ref" in node:
        name = node["$ref"].rsplit("/", 1)[-1]
        if name in above:
            raise TypeError(f"{name} contains itself: an answer must be flat")
        return _strict({**definitions[name], **_without(node, "$ref")}, definitions, (*above, name), limited=limited)
    strict = {key: value for key, value in node.items() if key not in _DROPPED and key not in _LIMITS}
    limits = [text.format(node[key]) for key, text in _LIMITS.items() if key in node]
    if limits:
        strict["description"] = f"{node.get('description', '')} ({', '.join(limits)})".strip()
    for key in ("anyOf", "oneOf"):
        if key in node:
            parts = [{**part, SENT: node.get(SENT, {})} for part in node[key]]
            strict = _without(strict, key) | {
                "anyOf": [_strict(part, definitions, above, limited=limited) for part in parts]
            }
    if "const" in node:
        strict = _without(strict, "const") | {"enum": [node["const"]]}
    if "items" in node:
        strict["items"] = _strict(node["items"], definitions, above, limited=limited)
    if limited:
        strict |= _kept_limits({**node, **node.get(SENT, {})})
    return strict | _closed(node, definitions, above, limited=limited) if node.get("type") == "object" else strict


def _kept_limits(node: dict[str, Any]) -> dict[str, Any]:
    """Return the limits of a node that are sent as such; a form stands alone, as some servers forget one of the two."""
    kind = node.get("type")
    form = str(node.get("pattern", ""))
    if kind == "string" and "enum" not in node and "const" not in node:
        if form.startswith("^") and form.endswith("$"):
            return {"pattern": form}
        return {key: node[key] for key in ("minLength", "maxLength") if key in node}
    if kind == "array":
        return {key: node[key] for key in ("minItems", "maxItems") if key in node}
    if kind == "integer" and "minimum" in node and "maximum" in node:
        values = range(node["minimum"], node["maximum"] + 1)
        return {"enum": list(values)} if len(values) <= _MOST_VALUES else {}
    return {}


def _closed(
    node: dict[str, Any], definitions: dict[str, Any], above: tuple[str, ...], *, limited: bool | None
) -> dict[str, Any]:
    if "properties" not in node:
        raise TypeError("a mapping with free keys has no strict schema: list the fields")
    parts = node["properties"].items()
    if limited is not None:  # what is sent; the schema that names an answer keeps its order
        parts = sorted(parts, key=lambda named: named[1].get(SENT, {}).get("last", False))
    fields = {name: _strict(part, definitions, above, limited=limited) for name, part in parts}
    return {"properties": fields, "required": list(fields), "additionalProperties": False}


def _without(node: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in node.items() if name != key}


@lru_cache(maxsize=128)
def field_names(answer: type[BaseModel]) -> frozenset[str]:
    """Return the field names of the answer, at any depth."""
    names: set[str] = set()
    pending: list[Any] = [answer_schema(answer)]
    while pending:
        node = pending.pop()
        if isinstance(node, dict):
            names.update(node.get("properties", {}))
            pending.extend(node.values())
        elif isinstance(node, list):
            pending.extend(node)
    return frozenset(names)
