"""Pages of the reference that are read from the code: measures, files and schemas, the Python interface."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import goldbench
from goldbench.goldset import file_names
from goldbench.measures.names import DEFAULT, FAMILIES, Measure
from goldbench.records.published import PUBLISHED

MADE = "`make generated` writes this page from the declarations in the code; change them, not the page.\n"

_MEASURES = """\
# Measures

This page says for every measure what it tells, its formula, its range and its source. It is read from the code that
computes them.

A measure is named as people write it (`recall@10`, `map@100`), as in ir_measures (`P(rel=2)@10`) or as in trec_eval
(`ndcg_cut_10`). It is printed in one spelling, the one that heads each section below. `rel=2` sets the smallest
relevant grade; options stand in brackets, as in `ap@10(norm=hits)`. Where no measure is named, these are computed:
{default}. [Scoring retrievers](../how_to/score_retrievers.md) shows them at work.
"""
_FILES = """\
# Files and schemas

{made}
`build` writes a folder, and every other command that makes a set writes the same files ([The files of a
set](set_files.md) says what each is for). Each record of a JSON Lines file, and each JSON file, follows a JSON Schema
(2020-12) of `schemas`, with which a program can check it.
"""
_API = """\
# Python API

{made}
[goldbench from Python](python.md) explains the interface with examples; this page lists every public name with its
parameters and errors. Everything else may change without notice.
"""
RECORDS = {
    file_names.DOCUMENTS: "document",
    file_names.CHUNKS: "chunk",
    file_names.CANDIDATES: "candidate",
    file_names.QUERIES: "query",
    file_names.UNLABELLED: "unlabelled-query",
    file_names.REJECTIONS: "rejection",
    file_names.POOL: "pooled",
    file_names.JUDGMENTS: "judgment",
    file_names.UNGRADED: "dropped-query",
    file_names.DATASET: "dataset",
    file_names.MANIFEST: "manifest",
    file_names.CARD_JSON: "card",
}
"""The schema of each file of a run folder that has one."""
_ELSEWHERE = {
    "scorecard": "`score --json`, `compare --json`",
    "baseline": "`gate --baseline FILE`",
    "history-entry": "`monitor --history FILE`",
    "experiment": "`bench/experiment.json`",
    "timings": "`bench/timings.json`",
    "feedback": "`feedback --out FILE`",
    "review-event": "`review export` in its native format",
    "review-report": "`review report --json`",
    "calibration": "`score --calibrated --json`",
    "generated-queries": "the reply of a model that writes queries",
}
_SECTIONS = ("Args", "Returns", "Raises", "Yields")


def measures() -> str:
    """Return the page of measures: a section for each family, from the docstring of its formula."""
    default = ", ".join(f"`{name}`" for name in DEFAULT)
    parts = [_MEASURES.format(default=default)]
    for family in FAMILIES.values():
        text = _docstring(family.value)
        cutoff = {"required": "needed", "optional": "possible", "none": "none"}[family.cutoff]
        example = Measure(family.name, None if family.cutoff == "none" else 10)
        said = [f"Cutoff: {cutoff}.", f"Name in ir_measures: `{example.ir_name}`." if example.ir_name else ""]
        options = [f"`{key}={'`, `'.join(values)}`" for key, values in family.options.items()]
        said += ["Options (the default first): " + "; ".join(options) + "."] if options else []
        said += [f"Also read: {', '.join(f'`{name}`' for name in family.aliases)}."]
        body = "\n".join(f"- {line}" for line in text.facts)
        parts.append(f"## {family.name}\n\n{text.prose}\n\n{body}\n- {' '.join(filter(None, said))}\n")
    return "\n".join(parts)


def files() -> str:
    """Return the page of files: which schema each file has, and the fields of each schema."""
    rows = [(f"`{name}`", f"[`{schema}`](#{schema})") for name, schema in RECORDS.items()]
    rows += [(where, f"[`{schema}`](#{schema})") for schema, where in _ELSEWHERE.items()]
    parts = [_FILES.format(made=MADE), table(("File or output", "Schema"), rows)]
    for name, model in PUBLISHED.items():
        schema = model.model_json_schema(mode="serialization" if name != "generated-queries" else "validation")
        needed = set(schema.get("required", ()))
        fields = [
            (f"`{key}`", _kind(found), "yes" if key in needed else "no")
            for key, found in schema.get("properties", {}).items()
        ]
        told = _plain(inspect.cleandoc(model.__doc__ or ""))
        parts.append(f"## {name}\n\n{told}\n\n{table(('Field', 'Type', 'Always present'), fields)}")
    return "\n".join(parts)


def interface() -> str:
    """Return the page of the Python interface: functions, classes with their methods, errors."""
    named = {name: getattr(goldbench, name) for name in goldbench.__all__ if not name.startswith("_")}
    errors = {name: one for name, one in named.items() if isinstance(one, type) and issubclass(one, Exception)}
    functions = {name: one for name, one in named.items() if inspect.isfunction(one)}
    classes = {name: one for name, one in named.items() if name not in errors and name not in functions}
    parts = [_API.format(made=MADE), "## Functions\n"]
    parts += [_callable("###", f"goldbench.{name}", one) for name, one in functions.items()]
    parts.append("## Classes\n")
    for name, one in classes.items():
        parts.append(f"### goldbench.{name}\n\n{_body(inspect.getdoc(one) or '')}\n")
        parts += list(_members(name, one))
    parts.append("## Errors\n")
    rows = [(f"`{name}`", f"`{one.__mro__[1].__name__}`", _first(one)) for name, one in errors.items()]
    parts.append(table(("Class", "Kind of", "When"), rows))
    return "\n".join(parts)


def joined(parts: Sequence[str]) -> str:
    """Return a page of these parts, with one line end behind the last."""
    return "\n".join(parts).rstrip() + "\n"


def table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table; the cells are this project's own words, with their marks."""
    lines = [headings, ("---",) * len(headings), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines) + "\n"


class _Formula:
    """The docstring of a formula: its first paragraph, and its lines such as ``Range: 0 to 1.``."""

    def __init__(self, text: str) -> None:
        text = re.split(r"^Args:", text, flags=re.MULTILINE)[0]
        head, *rest = text.strip().split("\n\n")
        self.prose = _plain(head.replace("\n", " "))
        lines = re.split(r"\n(?=[A-Z]\w*: )", "\n".join(rest))
        self.facts = [_escaped(_plain(" ".join(line.split()))) for line in lines if line.strip()]


def _docstring(function: Callable[..., Any]) -> _Formula:
    return _Formula(inspect.getdoc(function) or "")


def _members(owner: str, one: type) -> Iterator[str]:
    for name in dir(one):
        found = inspect.getattr_static(one, name)
        if name.startswith("_") or not getattr(_function(found), "__module__", "").startswith("goldbench"):
            continue
        if isinstance(found, property) or not callable(getattr(one, name)):
            yield f"#### {owner}.{name}\n\n{_body(inspect.getdoc(found) or '')}\n"
        else:
            yield _callable("####", f"{owner}.{name}", getattr(one, name))


def _function(found: object) -> object:
    """Return the function behind a property, a cached property, a class method or a static method."""
    for holder in ("fget", "func", "__func__"):
        found = getattr(found, holder, None) or found
    return found


def _callable(level: str, name: str, one: Callable[..., Any]) -> str:
    lines = [_parameter(found) for found in inspect.signature(one).parameters.values() if found.name != "self"]
    stars = [found.kind for found in inspect.signature(one).parameters.values() if found.name != "self"]
    if inspect.Parameter.KEYWORD_ONLY in stars and inspect.Parameter.VAR_POSITIONAL not in stars:
        lines.insert(stars.index(inspect.Parameter.KEYWORD_ONLY), "*")
    returned = inspect.signature(one).return_annotation
    signature = (
        f"{name.removeprefix('goldbench.')}(\n" + "".join(f"    {line},\n" for line in lines) + f") -> {returned}"
    )
    return f"{level} {name}\n\n```text\n{signature}\n```\n\n{_body(inspect.getdoc(one) or '')}\n"


def _parameter(found: inspect.Parameter) -> str:
    star = "**" if found.kind is inspect.Parameter.VAR_KEYWORD else ""
    default = "" if found.default is inspect.Parameter.empty else f" = {found.default!r}"
    return f"{star}{found.name}: {found.annotation}{default}"


def _body(text: str) -> str:
    """Return a docstring as Markdown: sections as lists, examples as code."""
    parts = re.split(rf"^({'|'.join(_SECTIONS)}):$", text, flags=re.MULTILINE)
    out = [_prose(parts[0])]
    for title, body in zip(parts[1::2], parts[2::2], strict=True):
        entries = re.split(r"\n(?=\S)", inspect.cleandoc("\n" + body))
        items = [re.sub(r"^(\*{0,2}\w+):", r"`\1`:", " ".join(entry.split())) for entry in entries if entry.strip()]
        heading = {"Args": "Parameters", "Raises": "Errors"}.get(title, title)
        out.append(f"**{heading}**\n\n" + "\n".join(f"- {_escaped(_plain(item))}" for item in items))
    return "\n\n".join(filter(None, out))


def _prose(text: str) -> str:
    blocks = [block for block in text.strip().split("\n\n") if block]
    return "\n\n".join(f"```pycon\n{one}\n```" if one.startswith(">>>") else _escaped(_plain(one)) for one in blocks)


def _plain(text: str) -> str:
    """Return a docstring's text with Markdown's marks for code."""
    return re.sub(r"``(.+?)``", r"`\1`", text, flags=re.DOTALL)


def _escaped(text: str) -> str:
    """Return Markdown in which stars and angle brackets outside code are characters."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else re.sub(r"([*<>\[\]])", r"\\\1", part) for part in parts)


def _first(one: type) -> str:
    return " ".join(_plain((inspect.getdoc(one) or "").split("\n\n")[0]).split())


def _kind(found: Mapping[str, Any]) -> str:
    """Return the type of a field of a JSON Schema in words."""
    if "anyOf" in found:
        return " or ".join(dict.fromkeys(_kind(one) for one in found["anyOf"]))
    if "$ref" in found:
        return f"`{found['$ref'].rpartition('/')[2]}`"
    if "enum" in found or "const" in found:
        return ", ".join(f"`{one}`" for one in found.get("enum", [found.get("const")]))
    if found.get("type") == "array":
        return f"list of {_kind(found['items'])}" if "items" in found else "list"
    if found.get("type") == "object" and isinstance(found.get("additionalProperties"), Mapping):
        return f"object of {_kind(found['additionalProperties'])}"
    return str(found.get("type", "any value"))
