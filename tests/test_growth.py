"""Patterns and scanners take time in proportion to their text, whatever the text is.

The patterns are found, not listed: compiled ones in the modules' names and containers, and literals given to ``re``
inside functions. Their worst texts repeat what the patterns themselves name.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import itertools
import pkgutil
import re
import re._parser as parser
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import regex

ROOMS = ("text", "formats", "stages", "llm")
MOST = 3.0
"""Most growth of the time when the text is twice as long."""
KINDS = (re.Pattern, regex.Pattern)
CALLS = "match|fullmatch|search|sub|subn|finditer|findall|split"
CALLED = {*CALLS.split("|"), "compile"}
EXEMPT = {
    "goldbench.stages.select.eligibility._PAGE_NUMBER",  # sees the ends of lines alone, of bounded length
    "goldbench.formats.documents.globs.is_matched",  # its pattern comes from the user
    "goldbench.formats.documents.rst_text.rst_to_text",  # docutils looks for end marks; the reader's time is limited
    "goldbench.text.cuts.passages",  # called with an overlap as long as a passage, which no setting allows
    "goldbench.text.cuts.spans",
}

HOSTILE = (
    "[", "](", "#", "# a", "`", "```\n", "|", "|a", '"', "<", "<a ", "a b ", "a", " ", "\n", "\r\n\r", "- ", "> ",
    "a. ", "1.", "=\n", "\u200b", "e\u0301", "的", "的a ", "{", "&amp", "\\", "://a.", ".. a::\n", ":a:`", "\tA\n",
)  # fmt: skip


@dataclass(frozen=True)
class Found:
    place: str
    pattern: Any
    calls: frozenset[str]

    def work(self, text: str) -> None:
        given = text.encode("latin-1", "replace") if isinstance(self.pattern.pattern, bytes) else text
        if self.calls and self.calls <= {"match", "fullmatch"}:
            for call in self.calls:
                getattr(self.pattern, call)(given)
            return
        for _ in self.pattern.finditer(given):
            pass


@cache
def modules() -> tuple[Any, ...]:
    return tuple(imported())


def imported() -> Iterator[Any]:
    for room in ROOMS:
        package = importlib.import_module(f"goldbench.{room}")
        yield package
        for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            yield importlib.import_module(info.name)


def held(value: Any, depth: int = 3) -> Iterator[Any]:
    """Yield the compiled patterns in a value."""
    if isinstance(value, KINDS):
        yield value
    elif depth and isinstance(value, dict | list | tuple | set | frozenset):
        for one in value.values() if isinstance(value, dict) else value:
            yield from held(one, depth - 1)


def written(tree: ast.AST) -> Iterator[tuple[str | bytes, str, str]]:
    """Yield the literal patterns of calls such as ``re.sub(r"...", ...)``, the name of the call and the library."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
        ):
            given = node.args[0] if node.args else None
            if (
                node.func.value.id in {"re", "regex"}
                and node.func.attr in CALLED
                and isinstance(given, ast.Constant)
                and isinstance(given.value, str | bytes)
            ):
                yield given.value, node.func.attr, node.func.value.id


@cache
def patterns() -> list[Found]:
    found: dict[tuple[Any, ...], Found] = {}
    for module in modules():
        source = Path(module.__file__).read_text(encoding="utf-8")
        for name, value in vars(module).items():
            calls = frozenset(re.findall(rf"\b{re.escape(name)}\.({CALLS})\b", source))
            loose = len(re.findall(rf"\b{re.escape(name)}\b(?!\.)", source)) > 1
            for one in held(value):
                how = calls if isinstance(value, KINDS) and not loose else frozenset()
                found.setdefault((one.pattern, one.flags), Found(f"{module.__name__}.{name}", one, how))
        for text, call, library in written(ast.parse(source)):
            compiled = (re if library == "re" else regex).compile(text)
            if call != "compile" or not any(one == text for one, _ in found):  # one with a name says how it is used
                how = frozenset() if call == "compile" else frozenset({call})
                place = f"{module.__name__}: {call}({text[:40]!r})"
                found.setdefault((compiled.pattern, compiled.flags), Found(place, compiled, how))
    return sorted(found.values(), key=lambda one: one.place)


def parsed(pattern: Any) -> Any:
    text = pattern.pattern
    if isinstance(pattern, regex.Pattern) and isinstance(text, str):
        text = re.sub(r"\\p\{[^}]*\}", "é", text)
    try:
        with warnings.catch_warnings(action="ignore"):  # on a letter that stands for a class
            return parser.parse(text, pattern.flags & (re.VERBOSE | re.IGNORECASE | re.DOTALL))
    except (re.error, ValueError, OverflowError):
        return ()


def literals(tree: Any) -> Iterator[str]:
    """Yield the characters that a pattern names, in its order."""
    for op, value in tree:
        name = str(op)
        if name == "LITERAL":
            yield chr(value)
        elif name == "RANGE":
            yield chr(value[0])
        elif name == "BRANCH":
            for one in value[1]:
                yield from literals(one)
        elif name == "IN" and str(value[0][0]) != "NEGATE":
            yield from literals(value)
        elif name.endswith("REPEAT"):
            yield from literals(value[2])
        elif name == "SUBPATTERN":
            yield from literals(value[3])
        elif name in {"ASSERT", "ASSERT_NOT"}:
            yield from literals(value[1])
        elif name == "ATOMIC_GROUP":
            yield from literals(value)


def worst(pattern: Any) -> list[Callable[[int], str]]:
    """Return makers of texts of about N characters that the pattern nearly matches in many ways."""
    named = list(itertools.islice(literals(parsed(pattern)), 40))
    letters = list(dict.fromkeys([*named[:8], " ", "\n", "a", "1"]))
    units = [*letters, *map("".join, itertools.product(letters[:10], repeat=2))]
    units += ["".join(named[:end]) for end in range(3, len(named) + 1)]
    starts = ["", *dict.fromkeys(named[:3])]
    return [
        lambda n, b=before, u=unit, e=end: b + u * max(1, n // len(u)) + e
        for unit in dict.fromkeys(units)
        for before in (starts if len(unit) == 1 else starts[:1])
        for end in ("", "\x00")
    ]


def cost(work: Callable[[str], None], text: str, *, least: int = 1) -> float:
    found = []
    for _ in range(least):
        started = time.process_time()
        work(text)
        found.append(time.process_time() - started)
    return min(found)


def growth(work: Callable[[str], None], make: Callable[[int], str], size: int, *, noticed: float) -> str | None:
    """Return how the time grows if it grows faster than the text, else None."""
    once = cost(work, make(size))
    if once < noticed:
        return None
    if once > 0.5 and (once := cost(work, make(size))) > 0.5:  # the first call may import a package
        return f"{size} characters take {once:.1f} s"
    first = size
    while cost(work, make(size), least=2) < 0.002:
        size *= 2
        if size > 16 * first:
            return None
    times = [cost(work, make(size * factor), least=3) for factor in (1, 2)]
    if times[1] < MOST * times[0]:
        return None
    times.append(cost(work, make(size * 4), least=2))
    if times[2] < MOST * times[1]:
        return None
    return f"{size} characters and 2 and 4 times as many: " + ", ".join(f"{1000 * one:.1f} ms" for one in times)


def slow_texts(found: Found) -> str | None:
    """Return one text on which a pattern takes too long."""
    for make in worst(found.pattern):
        if cost(found.work, make(64)) > 0.1:
            return f"{make(40)[:60]!r}: 64 characters take over 0.1 s"
        if told := growth(found.work, make, 2000, noticed=0.001):
            return f"{make(40)[:60]!r}: {told}"
    return None


def slow_patterns(chosen: list[Found]) -> dict[str, str]:
    """Return the places of the patterns that take too long, each with its text."""
    return {one.place: told for one in chosen if one.place not in EXEMPT and (told := slow_texts(one))}


def scanners() -> list[tuple[str, Callable[[Any], Any], bool]]:
    """Return the public functions that can be called with a text alone, and whether it is bytes."""
    found = {}
    for module in modules():
        for name, value in vars(module).items():
            if (
                module.__name__.startswith("goldbench.llm")  # its functions start servers and processes
                or name.startswith("_")
                or not inspect.isroutine(value)
                or getattr(value, "__module__", "") != module.__name__
            ):
                continue
            given = list(inspect.signature(value).parameters.values())
            if not given or given[0].annotation not in {"str", "bytes"}:
                continue
            rest = {one.name: filled(one) for one in given[1:] if one.default is one.empty}
            if "?" not in rest.values():
                function = inspect.unwrap(value)
                found[f"{module.__name__}.{name}"] = (called(function, rest, given), given[0].annotation == "bytes")
    return [(name, work, is_bytes) for name, (work, is_bytes) in sorted(found.items())]


def filled(one: inspect.Parameter) -> Any:
    kinds = {"int": 200, "float": 0.5, "bool": False, "str": "en", "str | None": "en"}
    return kinds.get(str(one.annotation), "?")


def called(function: Any, rest: dict[str, Any], given: list[inspect.Parameter]) -> Callable[[Any], Any]:
    ordered = [rest[one.name] for one in given[1:] if one.name in rest and one.kind is not one.KEYWORD_ONLY]
    named = {one.name: rest[one.name] for one in given if one.name in rest and one.kind is one.KEYWORD_ONLY}

    def work(text: Any) -> None:
        try:
            result = function(text, *ordered, **named)
            if inspect.isgenerator(result):
                for _ in result:
                    pass
        except Exception:  # noqa: BLE001 - a refusal is a fine end; only its time counts here
            return

    return work


def slow_scan(work: Callable[[Any], Any], *, is_bytes: bool, size: int) -> str | None:
    for piece in HOSTILE:

        def make(n: int, piece: str = piece) -> Any:
            text = piece * (n // len(piece)) + "!"
            return text.encode() if is_bytes else text

        if told := growth(work, make, size, noticed=0.004):
            return f"{piece!r} repeated, {told}"
    return None


def test_quadratic_patterns_and_scanners_are_found() -> None:
    bad: list[str | bytes] = [r"(?:a+)\s+b", r"\n\s*-", r"!?\[[^\]\n]*\]\(", rb"\xe4+(?=a)"]
    bad.append(r"\[[^\[\]]*+\]\([^)\s]*+(?: \"[^\"]*+\")?\)")
    for pattern in bad:  # other processes disturb the times
        assert any(slow_texts(Found("here", re.compile(pattern), frozenset())) for _ in range(3)), pattern
    assert slow_texts(Found("here", re.compile(r"a+b"), frozenset({"match"}))) is None

    def scan(text: str) -> None:
        while text.startswith("["):
            text = text[1:]
            for _ in text[::4]:
                pass

    assert any(slow_scan(scan, is_bytes=False, size=4000) for _ in range(3))
    assert slow_scan(len, is_bytes=False, size=2000) is None


def test_patterns_are_found_wherever_they_stand() -> None:
    places = {pattern.place for pattern in patterns()}
    assert len(places) > 100
    assert any(": search(" in place for place in places)
    assert len(scanners()) > 20


@pytest.mark.slow
def test_no_pattern_takes_time_beyond_its_text() -> None:
    assert len(patterns()) > 100
    assert any(": search(" in pattern.place for pattern in patterns())
    assert slow_patterns(patterns()) == {}


@pytest.mark.slow
def test_no_scanner_takes_time_beyond_its_text() -> None:
    slow = {
        name: told
        for name, work, is_bytes in scanners()
        if name not in EXEMPT and (told := slow_scan(work, is_bytes=is_bytes, size=2000))
    }
    assert slow == {}
