"""A value for any JSON Schema: the first of every choice, the smallest list, numbers within their limits."""

from __future__ import annotations

import re
from typing import Any


def fill(schema: dict[str, Any], root: dict[str, Any], seed: int = 0) -> Any:
    """Return a value of the schema; ``seed`` moves numbers and strings."""
    if "$ref" in schema:
        return fill(root["$defs"][schema["$ref"].rsplit("/", 1)[-1]], root, seed)
    for key in ("anyOf", "oneOf", "allOf"):
        if key in schema:
            return fill(schema[key][0], root, seed)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][seed % len(schema["enum"])]
    kind = schema.get("type", "object")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        return {name: fill(part, root, seed) for name, part in schema.get("properties", {}).items()}
    if kind == "array":
        return [fill(schema.get("items", {}), root, seed) for _ in range(schema.get("minItems", 1))]
    if kind == "string":
        low, high = _limits(schema, 0, 200)
        return f"reply {seed % 10**9:09d}".ljust(low, ".")[:high]
    if kind in ("integer", "number"):
        low, high = _limits(schema, 0, 9)
        return low + seed % (high - low + 1)
    return kind == "boolean" or None


def _limits(schema: dict[str, Any], low: int, high: int) -> tuple[int, int]:
    """Return the limits of a size or number: from the schema's keywords, else from its description, in words."""
    said = schema.get("description", "")
    least, most = re.search(r"at least (\d+)", said), re.search(r"at most (\d+)", said)
    low = int(schema.get("minimum", schema.get("minLength", least.group(1) if least else low)))
    high = int(schema.get("maximum", schema.get("maxLength", most.group(1) if most else max(high, low))))
    return low, high
