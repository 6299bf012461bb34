"""``python -m tests.sizes [write]``: how large the project is, room by room, beside what it may be.

A line counts if it holds code: no blank line, no comment, no docstring.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import threading
import tokenize
import tomllib
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

ROOT = Path(__file__).parent.parent
ROOMS_FILE = ROOT / ".ci/size.toml"
SILENT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
PARAGRAPHS = [
    f"The {part} of the station is emptied before the first frost, so that the water in its housing does not freeze. "
    f"In summer the keeper of the {part} opens it every {weeks} weeks and notes its pressure in the book of the works."
    for part, weeks in (("pump", 2), ("filter", 3), ("boiler", 4))
]


def count_code_lines(text: str) -> int:
    """Return the lines of a module that hold code."""
    lines = set[int]()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in SILENT:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(lines)


def read_rooms() -> dict[str, dict[str, Any]]:
    """Return the paths, the budget and the ceiling of each room."""
    rooms: dict[str, dict[str, Any]] = tomllib.loads(ROOMS_FILE.read_text(encoding="utf-8"))["rooms"]
    return rooms


def measure_rooms() -> dict[str, tuple[int, int]]:
    """Return the code lines and the files of each room; a file belongs to the first room that holds it."""
    counted, sizes = set[Path](), dict[str, tuple[int, int]]()
    for name, room in read_rooms().items():
        files = {path for folder in room["paths"] for path in (ROOT / folder).rglob("*.py")}
        files = {path for path in files if path == path.resolve()} - counted  # links would count twice
        counted |= files
        sizes[name] = (sum(count_code_lines(path.read_text(encoding="utf-8")) for path in files), len(files))
    return sizes


def trace_one_query() -> tuple[int, int]:
    """Return how many functions and files of the project are entered from one paragraph to one score."""
    import goldbench

    entered = set[CodeType]()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            entered.add(frame.f_code)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        gold = goldbench.build(texts=PARAGRAPHS, queries=1, generator="simulated")
        gold.evaluate(lambda query, k: list(gold.corpus)[:k], ["ndcg@10"])
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    own = {code for code in entered if str(ROOT) in code.co_filename and ".venv" not in code.co_filename}
    functions = {
        code for code in own if not re.fullmatch(r"<(module|listcomp|genexpr|dictcomp|setcomp|lambda)>", code.co_name)
    }
    return len(functions), len({code.co_filename for code in functions})


def count_options() -> int:
    """Return the number of different options of all commands, as their reference pages list them."""
    page = (ROOT / "docs/reference/commands.md").read_text(encoding="utf-8")
    return len(set(re.findall(r"(?<=`)--[a-z][a-z-]*", page)))


def count_tests() -> int:
    """Return the number of cases that pytest collects, slow ones among them."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-m", "slow or not slow", "-o", "addopts="]
    printed = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True).stdout
    match = re.search(r"(\d+) tests? collected", printed)
    assert match, printed[-500:]
    return int(match[1])


def write_ceilings() -> None:
    """Lower the ceiling of each room to what it has; no ceiling rises."""
    text = ROOMS_FILE.read_text(encoding="utf-8")
    for name, (lines, _) in measure_rooms().items():
        ceiling = min(lines, read_rooms()[name].get("ceiling", lines))
        text = re.sub(rf"^({name} = .*?budget = \d+).*$", rf"\1, ceiling = {ceiling} }}", text, flags=re.MULTILINE)
    ROOMS_FILE.write_text(text, encoding="utf-8")


def main() -> None:
    if sys.argv[1:] == ["write"]:
        write_ceilings()
    rooms, sizes = read_rooms(), measure_rooms()
    print(f"{'room':<12}{'code lines':>12}{'ceiling':>10}{'budget':>10}{'files':>8}")
    for name, (lines, files) in sizes.items():
        print(f"{name:<12}{lines:>12,}{rooms[name].get('ceiling', lines):>10,}{rooms[name]['budget']:>10,}{files:>8,}")
    own = [size for name, size in sizes.items() if name != "tests"]
    budget = sum(room["budget"] for name, room in rooms.items() if name != "tests")
    code_lines = sum(lines for lines, _ in own)
    print(f"{'all but tests':<14}{code_lines:>10,}{'':>10}{budget:>10,}{sum(files for _, files in own):>8,}")
    functions, files = trace_one_query()
    print(f"From one paragraph to one score: {functions:,} functions in {files} files")
    print(f"Options: {count_options()}; tests: {count_tests():,}")


if __name__ == "__main__":
    main()
