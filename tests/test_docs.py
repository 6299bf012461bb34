"""The README is true: every command in it is run, in the order it stands there."""

from __future__ import annotations

import importlib.util
import itertools
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from goldbench.pipeline.offline.notice import COLLECTIONS, PEOPLE, TAU
from goldbench.pipeline.stages.check.single_checks import CHECKS
from goldbench.pipeline.stages.critique import Critic
from goldbench.pipeline.stages.select.eligibility import RULES
from goldbench.pipeline.stages.select.page_kinds import PAGE_RULES
from tests.conftest import ROOT, SETTINGS
from tests.model_server.fixture import ServerHandle, start_server

README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
COMMANDS = [line.split(" #")[0].strip() for kind, block in BLOCKS if kind == "sh" for line in block.splitlines()]


def run(command: str, folder: Path, timeout_s: int = 110) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if name not in SETTINGS}
    path = f"{Path(sys.executable).parent}{os.pathsep}{kept['PATH']}"
    return subprocess.run(
        shlex.split(command),
        cwd=folder,
        env={**kept, "PATH": path},
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )


def commands_of(section: str) -> list[str]:
    """The goldbench commands of one part of the README."""
    blocks = re.findall(r"^```sh\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    lines = [line.split(" #")[0].strip() for block in blocks for line in block.splitlines()]
    return [line for line in lines if line.startswith("goldbench ")]


SECTIONS = {part.split("\n")[0]: found for part in README.split("\n## ")[1:] if (found := commands_of(part))}
FIRST = [
    command
    for command in itertools.chain.from_iterable(SECTIONS.values())
    if command.startswith(("goldbench build data/example/documents --out runs/m", "goldbench retrieve runs/mine"))
    and not command.endswith(("--dry-run", "--replay"))
]
"""What later parts rest on: the sets and runs that earlier ones made."""


def work(command: str, folder: Path, server: ServerHandle) -> None:
    done = run(command.replace("http://127.0.0.1:11434/v1", server.base_url), folder)
    assert done.returncode == 0, (command, done.stderr)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("readme")
    shutil.copytree(ROOT / "data" / "example", folder / "data" / "example")
    (folder / "zh.toml").write_text(next(block for kind, block in BLOCKS if kind == "toml"), encoding="utf-8")
    server = start_server()
    try:
        for command in FIRST:
            work(command, folder, server)
    finally:
        server.stop()
    return folder


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("section", SECTIONS)
def test_every_goldbench_command_of_the_readme_works(
    section: str, made: Path, tmp_path: Path, model_server: ServerHandle
) -> None:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    gold = json.loads((made / "runs" / "model" / "dataset.json").read_text(encoding="utf-8"))
    relevant = {gold["queries"][q]: {gold["corpus"][d]: 3 for d in ids} for q, ids in gold["relevant_docs"].items()}
    model_server.script(judge={"truth": relevant})
    for command in SECTIONS[section]:
        if command not in FIRST:
            work(command, tmp_path, model_server)


def test_the_readme_shows_more_than_a_few_commands() -> None:
    assert len(SECTIONS) >= 5
    assert len(FIRST) >= 4


def test_the_reference_and_the_example_are_what_the_declarations_say() -> None:
    from docs.write_reference import EXAMPLE, OPTIONS, REFERENCE, example, reference, setting_options

    shown = EXAMPLE.read_text(encoding="utf-8")
    assert shown == example(tomllib.loads(shown)), "run make docs"
    assert REFERENCE.read_text(encoding="utf-8") == reference(), "run make docs"
    assert OPTIONS.read_text(encoding="utf-8") == setting_options(), "run make docs"


def test_the_reference_explains_every_rule_of_a_build() -> None:
    from docs import write_reference

    of_the_set = {"near-duplicate", "skipped", "duplicate", "overlap-quota", "held-out", "surplus", "difficulty"}
    of_kinds = {"one-passage-enough", "answered", "moment", "history", "self-contained", "kind-quota", "kind-dropped"}
    critics = {f"critic-{critic.value}" for critic in Critic}
    assert set(write_reference.RULES) == {
        *dict(RULES),
        *PAGE_RULES,
        *(check.name for check in CHECKS),
        *critics,
        *of_the_set,
        *of_kinds,
    }


def test_the_experiment_in_the_readme_is_one(tmp_path: Path) -> None:
    from goldbench.pipeline.bench.bench_file import load_bench

    block = next(block for kind, block in BLOCKS if kind == "toml" and block.startswith("# bench.toml"))
    (tmp_path / "bench.toml").write_text(block, encoding="utf-8")
    assert load_bench(tmp_path / "bench.toml", level=2)


def test_every_make_target_of_the_readme_exists() -> None:
    targets = [shlex.split(command)[1] for command in COMMANDS if command.startswith("make ")]
    assert {"dataset", "test"} <= set(targets)
    for target in targets:
        assert run(f"make --dry-run {target}", ROOT).returncode == 0, target


PAGES = {"README.md": README} | {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in sorted(ROOT.glob("docs/*.md"))
}
MEASURED = re.compile(r"python -m (tests\.benchmarks[\w.]*)((?: [\w./-]+)*)")
TESTED = re.compile(r"pytest -m slow (tests/[\w/]+\.py)")
SECTIONS_WITH_TABLES = {
    f"{name}: {part.splitlines()[0]}": part
    for name, page in PAGES.items()
    for part in (re.split(r"^## ", page, flags=re.MULTILINE) if name == "README.md" else [page])
    if re.search(r"^\|", part, re.MULTILINE)
}


@pytest.mark.parametrize("name", PAGES)
def test_every_measurement_that_a_page_names_can_be_made(name: str) -> None:
    from tests.benchmarks.__main__ import LONG, MEASUREMENTS

    for module, said in MEASURED.findall(PAGES[name]):
        assert importlib.util.find_spec(module), module
        words = said.split()
        if module == "tests.benchmarks":
            assert set(words) <= {"NAME"} | MEASUREMENTS.keys() | LONG.keys(), words
        else:
            code = (ROOT / f"{module.replace('.', '/')}.py").read_text(encoding="utf-8")
            assert [word for word in words if word.startswith("--") and f'"{word}"' not in code] == [], module
    for path in TESTED.findall(PAGES[name]):
        assert "pytest.mark.slow" in (ROOT / path).read_text(encoding="utf-8"), path


@pytest.mark.parametrize("section", SECTIONS_WITH_TABLES)
def test_a_table_of_figures_stands_beside_the_command_that_prints_it(section: str) -> None:
    text = SECTIONS_WITH_TABLES[section]
    rows = [line.split("|")[2:-1] for line in text.splitlines() if line.startswith("| ")]
    figures = sum(bool(re.match(r" *[−+-]?[.\d]", cell)) for row in rows for cell in row)
    if 4 * figures > sum(map(len, rows)):
        assert MEASURED.search(text), section


def test_the_figures_of_the_notice_are_those_of_the_pages() -> None:
    measured = PAGES["docs/simulated_queries.md"]
    assert f"on {COLLECTIONS} collections" in README
    for recipe, (mean, low, high) in TAU.items():
        row = next(line for line in README.splitlines() if line.startswith(f"| `{recipe}` | {mean} |"))
        assert row.endswith(f"| {low} | {high} |")
        line = next(line for line in measured.splitlines() if line.startswith(f"| `{recipe}` | ."))
        cells = [cell.strip() for cell in line.split("|")[2:-1]]
        assert len(cells) == COLLECTIONS + 1
        assert (min(cells[:-1]), max(cells[:-1]), cells[-1].split()[0]) == (low, high, mean)
    assert f"| people's queries, two full sets | {PEOPLE} |" in README


def test_there_is_no_other_kind_of_command() -> None:
    assert not [command for command in COMMANDS if command and not command.startswith(("goldbench ", "make "))]


@pytest.mark.slow
def test_the_python_of_the_readme_and_of_its_page_runs() -> None:
    page = re.findall(
        r"^```python\n(.*?)^```$", (ROOT / "docs" / "python.md").read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    assert page
    for code in [*[block for kind, block in BLOCKS if kind == "python"][1:], *page]:
        assert subprocess.run([sys.executable, "-W", "error", "-c", code], cwd=ROOT, check=False).returncode == 0, code


MADE = pytest.mark.skipif(not (ROOT / ".venv" / ".runtime").exists(), reason="made by make install")


@pytest.mark.slow
@MADE
@pytest.mark.timeout(300)
def test_make_dataset_without_the_model_simulates_and_says_so(tmp_path: Path) -> None:
    done = run(f"make dataset GENERATOR=simulated OUT={tmp_path / 'run'}", ROOT, timeout_s=280)
    assert done.returncode == 0, done.stderr
    assert f"60 queries in {tmp_path / 'run' / 'dataset.json'}" in " ".join(done.stdout.split())
    assert "simulated" in done.stderr


@MADE
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_make_dataset_gives_what_the_readme_shows(tmp_path: Path) -> None:
    """Processors round differently, so the model may choose a little otherwise on this one."""
    done = run(f"make dataset OUT={tmp_path / 'run'}", ROOT, timeout_s=500)
    assert done.returncode == 0, done.stderr
    printed = " ".join(done.stdout.split())
    shown = next(block for kind, block in BLOCKS if not kind and block.startswith("documents  "))
    for line in filter(None, shown.splitlines()):
        expected = re.escape(" ".join(line.replace("data/runs/example", str(tmp_path / "run")).split()))
        if line.startswith(("drawn", "candidates", "queries")):
            expected = re.sub(r"\d+", r"\\d+", expected)
        assert re.search(expected, printed), (line, done.stdout)
    python = next(block for kind, block in BLOCKS if kind == "python")
    code = python.replace("data/runs/example", str(tmp_path / "run"))
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    queries = json.loads((tmp_path / "run" / "dataset.json").read_text(encoding="utf-8"))["queries"]
    listed = re.findall(r"^\d+\. (.+)$", README, re.MULTILINE)
    assert len(listed) == 10
    assert len(set(listed) & set(queries.values())) >= 8
