"""The tree keeps its own rules: where things are, what they are called, who imports whom, how texts read."""

from __future__ import annotations

import ast
import os
import random
import re
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from string import Formatter
from typing import Any

import pytest

from tests.sizes import measure_rooms, read_rooms

ROOT = Path(__file__).parent.parent
SOURCES = ROOT / "pipeline" / "goldbench"
SETTINGS: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
CONTRACTS: list[dict[str, Any]] = SETTINGS["tool"]["importlinter"]["contracts"]

DRAWERS = {"util", "utils", "helper", "helpers", "common", "base", "misc", "core", "material", "opening", "products"}

SPOKEN = (
    r"\blanes? [ABC]\b",
    r"\bsurplus\b",
    r"\bdeixis\b",
    r"\bdeictic\b",
    r"(?<!-)\bcanar(y|ies)\b",
    r"\bthe books\b",
)
"""Words of the code that no help text shows a person; ``--canaries`` is an option's name."""


def modules() -> list[Path]:
    return sorted(path.relative_to(ROOT) for path in SOURCES.rglob("*.py"))


def folders() -> set[str]:
    return {path.parent.as_posix() for path in modules()}


def dotted(path: Path) -> str:
    return ".".join(path.with_suffix("").parts[1:]).removesuffix(".__init__")


def test_five_files_lie_loose_in_the_pipeline() -> None:
    loose = {path.stem for path in SOURCES.glob("*.py")}
    assert loose == {"__init__", "__main__", "config", "errors", "ports"}


def test_modules_are_called_by_nouns_or_by_their_command() -> None:
    names = {path.stem for path in modules()}
    assert [name for name in names if name.endswith("ing")] == []
    assert names & DRAWERS == set()


def test_tests_lie_where_the_code_lies() -> None:
    ours = {"benchmarks", "model_server", "packaging"}
    rooms = {path.name for path in (ROOT / "tests").iterdir() if path.is_dir() and not path.name.startswith("_")}
    known = {path.name for path in SOURCES.iterdir() if path.is_dir()}
    assert rooms - ours <= known


class TestTheMap:
    """``docs/explanation/architecture.md`` shows every folder, and nothing that is gone."""

    page = (ROOT / "docs" / "explanation" / "architecture.md").read_text(encoding="utf-8")

    def drawn(self, picture: int) -> str:
        return re.findall(r"```mermaid\n(.*?)```", self.page, re.DOTALL)[picture]

    def test_the_list_holds_every_folder_with_code_and_nothing_else(self) -> None:
        listed = re.findall(r"^\| `([\w/]+)/` \|", self.page, re.MULTILINE)
        assert sorted(listed) == sorted(folders())

    def test_the_picture_of_the_rooms_holds_every_room_on_the_floor_of_its_contract(self) -> None:
        house = next(contract for contract in CONTRACTS if contract.get("exhaustive"))
        floors = [re.findall(r"\w+", layer) for layer in house["layers"]]
        drawn = [re.findall(r"^\s+(\w+)\[", block, re.MULTILINE) for block in self.drawn(0).split("subgraph")[1:]]
        assert drawn == floors

    def test_the_picture_of_the_data_names_every_stage_in_order(self) -> None:
        from goldbench.generate.flow import STAGES

        boxes = re.findall(r"(\w+)\[", self.drawn(1))
        places = [boxes.index(stage.name) for stage in STAGES]
        assert places == sorted(places)

    def test_contributors_are_sent_there(self) -> None:
        assert "docs/explanation/architecture.md" in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


class TestTheDoors:
    """One door for each library: an import anywhere else breaks a contract."""

    def doors(self) -> dict[str, tuple[str, ...]]:
        """Who may import each library that has a door."""
        doors: dict[str, tuple[str, ...]] = {}
        for contract in CONTRACTS:
            if contract["type"] == "protected":
                doors |= dict.fromkeys(contract["protected_modules"], tuple(contract["allowed_importers"]))
            elif contract["type"] == "forbidden" and set(contract["source_modules"]) == {"goldbench"}:
                doors |= dict.fromkeys(contract["forbidden_modules"], ())
        return doors

    def test_every_library_of_the_design_has_one(self) -> None:
        wanted = (
            "openai starlette uvicorn sqlalchemy plotly jinja2 markitdown lxml pyarrow pandas polars "
            "langchain_text_splitters faiss sentence_transformers fastembed"
        )
        assert set(wanted.split()) <= self.doors().keys()

    @pytest.mark.slow
    def test_an_import_outside_its_door_is_found(self, tmp_path: Path) -> None:
        pytest.importorskip("importlinter", reason="a tool of make install-dev")
        self.copy_to(tmp_path)
        assert self.lint(tmp_path).returncode == 0
        seed = random.randrange(2**32)
        draw = random.Random(seed)
        doors = self.doors()
        for module, library in ((draw.choice(modules()), draw.choice(sorted(doors))) for _ in range(12)):
            allowed = any(f"{dotted(module)}.".startswith(f"{door}.") for door in doors[library])
            said = self.lint_with(tmp_path, module, library)
            pair = f"{dotted(module)} -> {library}"
            assert (said.returncode == 0) is allowed, (seed, pair, said.stdout)
            assert allowed or pair in said.stdout, (seed, pair, said.stdout)

    def test_an_import_at_its_door_is_let_in(self, tmp_path: Path) -> None:
        pytest.importorskip("importlinter", reason="a tool of make install-dev")
        self.copy_to(tmp_path)
        said = self.lint_with(tmp_path, Path("pipeline/goldbench/llm/store.py"), "openai")
        assert said.returncode == 0, said.stdout

    def copy_to(self, folder: Path) -> None:
        """Copy the package and the contracts."""
        shutil.copytree(ROOT / "pipeline", folder / "pipeline", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", folder)

    def lint(self, folder: Path) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as run; run()"]
        # the copy goes before the installed package; long names are not broken over lines
        wide = {**os.environ, "PYTHONPATH": str(folder / "pipeline"), "COLUMNS": "400"}
        command.append("--no-cache")
        return subprocess.run(command, cwd=folder, env=wide, capture_output=True, text=True, check=False)

    def lint_with(self, folder: Path, module: Path, library: str) -> subprocess.CompletedProcess[str]:
        path = folder / module
        before = path.read_text(encoding="utf-8")
        path.write_text(f"{before}\nimport {library}\n", encoding="utf-8")
        try:
            return self.lint(folder)
        finally:
            path.write_text(before, encoding="utf-8")


def test_each_file_of_the_run_folder_is_named_in_one_place() -> None:
    from goldbench.goldset import file_names

    spelled: Counter[str] = Counter()
    constants = {name: value for name, value in vars(file_names).items() if name.isupper() and isinstance(value, str)}
    names = {Path(value).name for value in constants.values() if "." in value}
    assert {"0-documents.jsonl", "1-chunks.jsonl", "3-queries.jsonl", "dataset.json", "manifest.json"} <= names
    for path in (path for path in modules() if path.parts[2] != "prompts"):
        text = (ROOT / path).read_text(encoding="utf-8")
        spelled.update({name: len(re.findall(rf'["/]{re.escape(name)}"', text)) for name in names})
    assert {name: count for name, count in spelled.items() if count != 1} == {}


def commands() -> Iterator[tuple[str, Any]]:
    """Every command with its words, groups among them."""
    from goldbench.cli.app import built
    from goldbench.cli.command_list import COMMANDS

    def walk(words: str, command: Any) -> Iterator[tuple[str, Any]]:
        yield words, command
        for name, inner in getattr(command, "commands", {}).items():
            yield from walk(f"{words} {name}", inner)

    for name in COMMANDS:
        yield from walk(f"goldbench {name}", built(name))


HELP = dict(commands())


@pytest.mark.parametrize("words", HELP)
def test_help_is_short_and_in_the_words_of_its_readers(words: str) -> None:
    command = HELP[words]
    summary = re.split(r"\n\s*\n|\.(?:\s|$)", command.help or "")[0].replace("\n", " ")
    assert 0 < len(summary) <= 80, summary
    for option in command.params:
        text = getattr(option, "help", None) or ""
        assert len(text) <= 60, (option.name, text)
        assert "\n" not in text
    told = " ".join([command.help or "", *(getattr(option, "help", None) or "" for option in command.params)])
    assert [phrase for phrase in SPOKEN if re.search(phrase, told)] == []


def test_only_the_command_line_spells_options_and_commands() -> None:
    """Everything else names parameters, see ``errors.Message``, and calls ``shell_command`` for a command.

    ``foreign`` are options of other programs; ``titles`` name what made a thing, and ask nobody to run it.
    """
    titles = (
        "goldbench gate",
        "::notice title=goldbench gate",
        "goldbench score",
        "# Settings of goldbench",
        "Retrieval systems that goldbench",
    )
    called = "|".join({name.split()[-1] for name, _ in commands()})
    foreign = {"--no-deps", "--max-model-len", "--goldbench-set", "--goldbench-write-baselines"}
    found = []
    for path in (path for path in modules() if path.parts[2] not in {"cli", "prompts"}):
        tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        docstrings = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in docstrings:
                options = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", node.value)) - foreign
                found += [f"{path}:{node.lineno}: {option}" for option in sorted(options)]
                if re.search(rf"goldbench (?:{called})\b", node.value) and not node.value.startswith(titles):
                    found.append(f"{path}:{node.lineno}: {node.value[:60]}")
    assert found == []


def test_messages_name_options_that_exist_and_have_a_value_for_each_field() -> None:
    options = {name for _, command in commands() for parameter in command.params for name in parameter.opts}
    wrong = []
    for path in modules():
        for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8"))):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Message"):
                continue
            template, *values = node.args
            if not isinstance(template, ast.Constant):
                continue
            fields = [field for _, field, _, _ in Formatter().parse(template.value) if field is not None]
            starred = [value.value.elts for value in values if isinstance(value, ast.Starred)]
            given = len(values) - len(starred) + sum(map(len, starred))
            named = {f"--{field.partition('=')[0].replace('_', '-')}" for field in fields if field}
            if fields.count("") != given or named - options:
                wrong.append(f"{path}:{node.lineno}")
    assert wrong == []


def test_no_room_grows_beyond_its_ceiling() -> None:
    rooms = read_rooms()
    grown = {name: lines for name, (lines, _) in measure_rooms().items() if lines > rooms[name]["ceiling"]}
    assert grown == {}, "delete as much as you add"


def test_functions_are_small() -> None:
    lengths = [
        (node.end_lineno or node.lineno) - node.lineno + 1
        for path in modules()
        for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    assert max(lengths) <= 80
