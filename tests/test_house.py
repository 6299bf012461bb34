"""The tree keeps its own rules: the map is true, errors carry parameters as data, functions can be read."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from string import Formatter
from typing import Any

from tests.sizes import measure_rooms, read_rooms

ROOT = Path(__file__).parent.parent
SOURCES = ROOT / "pipeline" / "goldbench"
PAGE = (ROOT / "docs" / "explanation" / "architecture.md").read_text(encoding="utf-8")
SETTINGS: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
CONTRACTS: list[dict[str, Any]] = SETTINGS["tool"]["importlinter"]["contracts"]
TREES = {path.relative_to(SOURCES): ast.parse(path.read_text(encoding="utf-8")) for path in SOURCES.rglob("*.py")}


def test_the_map_lists_every_folder_with_code_and_nothing_else() -> None:
    folders = {f"pipeline/goldbench/{path.parent.as_posix()}".removesuffix("/.") for path in TREES}
    assert sorted(re.findall(r"^\| `([\w/]+)/` \|", PAGE, re.MULTILINE)) == sorted(folders)


def test_the_picture_of_the_packages_shows_the_layers_of_the_import_contract() -> None:
    (layers,) = (contract["layers"] for contract in CONTRACTS if contract.get("exhaustive"))
    picture = re.findall(r"```mermaid\n(.*?)```", PAGE, re.DOTALL)[0]
    drawn = [re.findall(r"^\s+(\w+)\[", block, re.MULTILINE) for block in picture.split("subgraph")[1:]]
    assert drawn == [re.findall(r"\w+", layer) for layer in layers]


def options_of_commands() -> set[str]:
    """Return the options of all commands, groups among them."""
    from goldbench.cli.app import COMMANDS, built

    def walk(command: Any) -> Iterator[Any]:
        yield command
        for nested in getattr(command, "commands", {}).values():
            yield from walk(nested)

    commands = [command for name in COMMANDS for command in walk(built(name))]
    return {option for command in commands for parameter in command.params for option in parameter.opts}


def test_only_the_command_line_spells_options_and_messages_name_options_that_exist() -> None:
    options = options_of_commands()
    foreign = {"--no-deps", "--max-model-len", "--goldbench-set", "--goldbench-write-baselines"}  # of other programs
    wrong = []
    for path, tree in TREES.items():
        docstrings = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in docstrings:
                spelled = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", node.value)) - foreign
                if spelled and path.parts[0] not in {"cli", "prompts"}:
                    wrong.append(f"{path}:{node.lineno}: {node.value[:60]}")
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Message":
                template = node.args[0]
                text = template.value if isinstance(template, ast.Constant) else ""
                names = [field for _, field, _, _ in Formatter().parse(text) if field]
                if {f"--{name.partition('=')[0].replace('_', '-')}" for name in names} - options:
                    wrong.append(f"{path}:{node.lineno}: {text[:60]}")
    assert wrong == []


def test_no_room_grows_beyond_its_ceiling() -> None:
    rooms = read_rooms()
    grown = {name: lines for name, (lines, _) in measure_rooms().items() if lines > rooms[name]["ceiling"]}
    assert grown == {}, "delete as much as you add"


def test_functions_can_be_read_at_a_glance() -> None:
    functions = (
        (path, node)
        for path, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    long = [f"{path}: {node.name}" for path, node in functions if (node.end_lineno or 0) - node.lineno >= 80]
    assert long == []
