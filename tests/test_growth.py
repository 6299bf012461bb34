"""Patterns and scanners take time in proportion to their text, whatever the text is.

The patterns are found, not listed: compiled ones in the modules' names, containers, defaults and cached tables, and
literals given to ``re`` inside functions. Their worst texts are made from their own parse trees.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import random
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
PIECES = (
    " ",
    "\n",
    " \n",
    "a",
    "a ",
    "1",
    "#",
    "-",
    "*",
    "`",
    "|",
    "[",
    "](",
    "<",
    "<a ",
    "\\",
    "&",
    '"',
    "'",
    "/",
    ".",
)
ENDS = ("", "\x00", "\n", "!\n")
SIZES = (64, 1000)
EXEMPT = {"stages.select.eligibility._PAGE_NUMBER": 24, "stages.select.page_kinds._words": 99}
"""Patterns that see texts of bounded length, with the most characters; a test shows that the bounds hold."""

HOSTILE = (
    "[", "](", "#", "# a", "`", "```\n", "|", "|a", '"', "<", "<a ", "a b ", "a", " ", "\n", "\r\n\r", "- ", "> ",
    "a. ", "1.", "=\n", "\u200b", "e\u0301", "的", "的a ", "{", "&amp", "\\", "://a.", ".. a::\n", ":a:`", "\tA\n",
)  # fmt: skip


def known(place: str) -> bool:
    return place.removeprefix("goldbench.") in EXEMPT


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
    elif depth and callable(value):
        if hasattr(value, "cache_info") and not inspect.signature(value).parameters:
            if "Pattern" in str(inspect.signature(value).return_annotation):  # others load models and large tables
                yield from held(value(), depth - 1)
        else:
            function = inspect.unwrap(value)
            kept = (getattr(function, "__defaults__", None) or (), getattr(function, "__kwdefaults__", None) or {})
            yield from held(kept, depth)


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
            if getattr(value, "__module__", module.__name__) != module.__name__ and not isinstance(value, KINDS):
                continue
            seen = list(held(value))
            if not seen:
                continue
            direct = frozenset(re.findall(rf"\b{re.escape(name)}\.({CALLS})\b", source))
            loose = len(re.findall(rf"\b{re.escape(name)}\b(?!\.)", source)) > 1
            calls = frozenset() if loose or not isinstance(value, KINDS) else direct
            for one in seen:
                found.setdefault((one.pattern, one.flags), Found(f"{module.__name__}.{name}", one, calls))
        for text, call, library in written(ast.parse(source)):
            calls = frozenset() if call == "compile" else frozenset({call})
            compiled = (re if library == "re" else regex).compile(text)
            key = (compiled.pattern, compiled.flags)
            if call == "compile" and any(one == text for one, _ in found):
                continue  # it has a name, which says how it is used
            found.setdefault(key, Found(f"{module.__name__}: {call}({text[:40]!r})", compiled, calls))
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


CATEGORIES = {
    "CATEGORY_DIGIT": "1", "CATEGORY_SPACE": " ", "CATEGORY_WORD": "a", "CATEGORY_NOT_DIGIT": "a",
    "CATEGORY_NOT_SPACE": "a", "CATEGORY_NOT_WORD": "-",
}  # fmt: skip


def samples(op: str, value: Any) -> list[str]:
    """Return texts that one element matches."""
    if op == "LITERAL":
        return [chr(value)]
    if op == "NOT_LITERAL":
        return ["a" if value != ord("a") else "b"]
    if op == "ANY":
        return ["a"]
    if op == "IN":
        if str(value[0][0]) == "NEGATE":
            out = {text for one in value[1:] for text in samples(str(one[0]), one[1])}
            return [one for one in ("a", " ", "-", "<", "[") if one not in out][:3] or ["é"]
        return list(dict.fromkeys(text for one in value for text in samples(str(one[0]), one[1])))[:6]
    if op == "RANGE":
        return [chr(value[0])]
    if op == "CATEGORY":
        return [CATEGORIES.get(str(value), "a")]
    if op == "BRANCH":
        return [sequence(one) for one in value[1][:6]]
    if op == "SUBPATTERN":
        return [sequence(value[3])]
    if op == "ATOMIC_GROUP":
        return [sequence(value)]
    if op.endswith("REPEAT"):
        return [sequence(value[2]) * max(1, min(value[0], 8))]
    return [""]


def sequence(tree: Any) -> str:
    return "".join((samples(str(op), value) or [""])[0] for op, value in tree)


def pumped(tree: Any, before: str = "") -> Iterator[tuple[str, str]]:
    """Yield what leads to each element that repeats without bound, and what repeats there."""
    last: list[str] = []
    for op, value in tree:
        name = str(op)
        if name.endswith("REPEAT"):
            units = [one for part in value[2] for one in samples(str(part[0]), part[1]) if one]
            units = list(dict.fromkeys([*units, sequence(value[2])]))
            if value[1] > 50:
                yield from ((before, one) for one in units if one)
                yield from ((before, one + other) for one in last[:2] for other in units[:2] if one + other)
                last = units
            yield from pumped(value[2], before)
        elif name == "SUBPATTERN":
            yield from pumped(value[3], before)
        elif name == "BRANCH":
            for one in value[1]:
                yield from pumped(one, before)
        elif name in {"ASSERT", "ASSERT_NOT"}:
            yield from pumped(value[1], before)
        elif name == "ATOMIC_GROUP":
            yield from pumped(value, before)
        before += (samples(name, value) or [""])[0]


def worst(pattern: Any) -> list[Callable[[int], str]]:
    """Return makers of texts of about N characters that the pattern nearly matches in many ways."""
    tree = parsed(pattern)
    found = list(dict.fromkeys(pumped(tree)))[:40]
    whole = sequence(tree)
    pairs = [*found, *((before + unit, one) for before, unit in found[:4] for one in PIECES[:6])]
    pairs += [("", one) for one in (*PIECES, whole, whole[:-1]) if one]
    pairs += [("", before + unit) for before, unit in found]
    pairs += [("", begun) for end in range(1, len(tree) + 1) if (begun := sequence(tree[:end]))]
    makers = [(before, unit, end) for before, unit in dict.fromkeys(pairs) for end in ENDS]
    return [lambda n, b=b, u=u, e=e: b + u * max(1, n // len(u)) + e for b, u, e in makers]


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


def slow_texts(found: Found, chance: random.Random | None = None) -> str | None:
    """Return one text on which a pattern takes too long."""
    makers = worst(found.pattern)
    if chance is not None:
        makers = chance.sample(makers, min(len(makers), 25))
    for make in makers:
        if cost(found.work, make(SIZES[0])) > 0.1:
            return f"{make(40)[:60]!r}: {SIZES[0]} characters take over 0.1 s"
        if told := growth(found.work, make, SIZES[1], noticed=0.0002):
            return f"{make(40)[:60]!r}: {told}"
    return None


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


@pytest.mark.slow
def test_a_quadratic_pattern_and_a_quadratic_scanner_are_found() -> None:
    for bad in (r"(?:a+)\s+b", r"\n\s*-", r"!?\[[^\]\n]*\]\(", r"\[[^\[\]]*+\]\([^)\s]*+(?: \"[^\"]*+\")?\)"):
        assert any(slow_texts(Found("here", re.compile(bad), frozenset())) for _ in range(3)), bad
    assert slow_texts(Found("here", re.compile(r"a+b"), frozenset({"match"}))) is None

    def scan(text: str) -> None:
        while text.startswith("["):
            text = text[1:]
            for _ in text[::4]:
                pass

    assert any(slow_scan(scan, is_bytes=False, size=4000) for _ in range(3))  # other processes disturb the times
    assert slow_scan(len, is_bytes=False, size=2000) is None


def test_a_quadratic_pattern_of_bytes_is_found() -> None:
    for bad in (rb"[A-Za-z][\x80-\xff]+|[\x80-\xff]+(?=[A-Za-z])", rb"\xe4+(?=a)"):
        assert any(slow_texts(Found("here", re.compile(bad), frozenset())) for _ in range(3)), bad
    assert slow_texts(Found("here", re.compile(rb"[\x80-\xff]++(?=a)|\n"), frozenset({"match"}))) is None


def test_patterns_are_found_wherever_they_stand() -> None:
    places = {one.place for one in patterns()}
    assert len(places) > 100
    assert any(place.endswith("page_kinds._words") for place in places)
    assert any(": search(" in place for place in places)
    assert len(scanners()) > 20
    every = {place.removeprefix("goldbench.") for place in (*places, *(name for name, *_ in scanners()))}
    assert {*EXEMPT} <= every


class Spy:
    """A pattern that notes the length of the longest text it is given."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self.pattern, self.longest = pattern, 0

    def search(self, text: str) -> re.Match[str] | None:
        self.longest = max(self.longest, len(text))
        return self.pattern.search(text)

    def fullmatch(self, text: str) -> re.Match[str] | None:
        self.longest = max(self.longest, len(text))
        return self.pattern.fullmatch(text)


def test_exempt_patterns_see_short_texts_whatever_the_document_is(monkeypatch: pytest.MonkeyPatch) -> None:
    from goldbench.records.corpus import Chunk, Span
    from goldbench.stages.select import eligibility, page_kinds

    index, changes, release = page_kinds._words()
    numbers, titles = Spy(eligibility._PAGE_NUMBER), Spy(release)
    monkeypatch.setattr(eligibility, "_PAGE_NUMBER", numbers)
    monkeypatch.setattr(page_kinds, "_words", lambda: (index, changes, titles))
    for piece in (*HOSTILE, "what's new in 3.1 "):
        for times in (3, 3000):
            line = piece * times + "!"
            eligibility.contents_list(eligibility.passage(f"{line}\n" * 5), eligibility.Limits())
            chunk = Chunk(chunk_id="a", span=Span(doc_id="a", start=0, end=1), text="a", title=line, headings=(line,))
            page_kinds.page_fault(chunk)
    seen = {
        "stages.select.eligibility._PAGE_NUMBER": numbers.longest,
        "stages.select.page_kinds._words": titles.longest,
    }
    assert seen.keys() == EXEMPT.keys()
    assert all(0 < seen[place] <= most for place, most in EXEMPT.items()), seen


def test_no_pattern_takes_time_beyond_its_text_in_a_sample() -> None:
    chance = random.Random(1)
    chosen = chance.sample(patterns(), 30)
    slow = {one.place: told for one in chosen if not known(one.place) and (told := slow_texts(one, chance))}
    assert slow == {}


@pytest.mark.slow
def test_no_pattern_takes_time_beyond_its_text() -> None:
    slow = {one.place: told for one in patterns() if not known(one.place) and (told := slow_texts(one))}
    assert slow == {}


@pytest.mark.slow
def test_no_scanner_takes_time_beyond_its_text() -> None:
    slow = {
        name: told
        for name, work, is_bytes in scanners()
        if not known(name) and (told := slow_scan(work, is_bytes=is_bytes, size=2000))
    }
    assert slow == {}
