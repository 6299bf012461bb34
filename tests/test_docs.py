"""The pages are true: every command on them is run, in the order in which it stands there."""

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

from tests.conftest import ROOT, SETTINGS
from tests.forked_commands import start
from tests.model_server.fixture import ServerHandle, start_server

PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in (ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md")))
}
README = PAGES["README.md"]
BLOCK = re.compile(r"^```(\w*)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ELSEWHERE = {
    "docs/how_to/connect_a_retriever.md": "tests/systems/test_recipes.py",
    "docs/how_to/gate_in_ci.md": "tests/packaging/test_ci_pages.py",
    "docs/how_to/track_results.md": "tests/packaging/test_ci_pages.py",
    "docs/how_to/use_elsewhere.md": "tests/exports/test_use_elsewhere.py",
    "docs/README.zh.md": "tests/test_pages.py",  # its code is that of README.md
}
"""Pages whose commands and snippets another test runs, or holds to be those of a page."""


def blocks(page: str, kind: str) -> list[str]:
    """The code blocks of a page in one language; those with a title are files, which a test of their own runs."""
    return [body for found, title, body in BLOCK.findall(PAGES[page]) if found == kind and not title.strip()]


def commands_of(page: str) -> list[str]:
    lines = [line.split(" #")[0].strip() for block in blocks(page, "sh") for line in block.splitlines()]
    return [line for line in lines if line]


COMMANDS = {page: found for page in PAGES if page not in ELSEWHERE and (found := commands_of(page))}
SECTIONS = {
    page: inner
    for page, lines in COMMANDS.items()
    if (inner := [line for line in lines if line.startswith("goldbench ")])
}
FIRST = sorted(
    {
        command: None
        for command in itertools.chain.from_iterable(SECTIONS.values())
        if command.startswith(("goldbench build data/example/documents --out runs/m", "goldbench retrieve runs/mine "))
        and not command.endswith(("--dry-run", "--replay"))
    },
    key=lambda command: not command.startswith("goldbench build"),
)
"""What other pages rest on: the sets, and the runs on them."""


def environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in SETTINGS}
    return {**kept, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{kept['PATH']}"}


def run(command: str, folder: Path, timeout_s: int = 110) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        shlex.split(command),
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )


_STARTED: set[str] = set()


def work(command: str, folder: Path, server: ServerHandle) -> None:
    """Run a command of the pages: the first of each kind in a new interpreter as users do, later ones forked."""
    typed = command.replace("http://127.0.0.1:11434/v1", server.base_url)
    kind = shlex.split(command)[1]
    if kind in _STARTED:
        process = start(shlex.split(typed)[1:], folder, environment())
        said, code = process.communicate(timeout=110)[1], process.returncode
    else:
        done = run(typed, folder)
        said, code = done.stderr, done.returncode
    _STARTED.add(kind)
    finds_problems = command.startswith("goldbench doctor --try")  # the model of the tests is a poor judge
    assert code in ({0, 1} if finds_problems else {0}), (command, said)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("readme")
    shutil.copytree(ROOT / "data" / "example", folder / "data" / "example")
    (folder / "zh.toml").write_text(blocks("docs/how_to/your_documents.md", "toml")[0], encoding="utf-8")
    server = start_server()
    try:
        for command in FIRST:
            work(command, folder, server)
    finally:
        server.stop()
    return folder


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("page", SECTIONS)
def test_every_goldbench_command_of_the_pages_works(
    page: str, made: Path, tmp_path: Path, model_server: ServerHandle
) -> None:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    gold = json.loads((made / "runs" / "model" / "dataset.json").read_text(encoding="utf-8"))
    relevant = {gold["queries"][q]: {gold["corpus"][d]: 3 for d in ids} for q, ids in gold["relevant_docs"].items()}
    model_server.script(judge={"truth": relevant})
    for command in SECTIONS[page]:
        if command not in FIRST:
            work(command, tmp_path, model_server)


def test_the_reference_and_the_example_are_what_the_declarations_say() -> None:
    from docs.write_reference import EXAMPLE, REFERENCE, example, reference

    shown = EXAMPLE.read_text(encoding="utf-8")
    assert shown == example(tomllib.loads(shown)), "run make generated"
    for name, page in reference().items():
        assert (REFERENCE / name).read_text(encoding="utf-8") == page, f"{name}: run make generated"


def test_the_page_about_one_build_names_functions_that_exist() -> None:
    page = (ROOT / "docs/explanation/one_build.md").read_text(encoding="utf-8")
    steps = re.findall(r"`(\w+)` (?:\| |\()`([\w/]+\.py)`", page)
    assert len(steps) > 30
    for name, file in steps:
        source = (ROOT / "pipeline/goldbench" / file).read_text(encoding="utf-8")
        assert re.search(rf"^\s*(?:async )?(?:def|class) {name}\b", source, re.MULTILINE), (name, file)


def test_the_experiment_on_the_page_is_one(tmp_path: Path) -> None:
    from goldbench.bench.bench_file import load_bench

    [block] = blocks("docs/how_to/choose_a_retriever.md", "toml")
    (tmp_path / "bench.toml").write_text(block, encoding="utf-8")
    assert load_bench(tmp_path / "bench.toml", level=2)


MEASURED = re.compile(r"python -m (tests\.benchmarks[\w.]*)((?: [\w./-]+)*)")
TESTED = re.compile(r"pytest -m slow (tests/[\w/]+\.py)")


def test_every_measurement_that_a_page_names_can_be_made() -> None:
    from tests.benchmarks.__main__ import LONG, MEASUREMENTS

    text = "\n".join(PAGES.values())
    for module, said in MEASURED.findall(text):
        assert importlib.util.find_spec(module), module
        words = said.split()
        if module == "tests.benchmarks":
            assert set(words) <= {"NAME"} | MEASUREMENTS.keys() | LONG.keys(), words
        else:
            code = (ROOT / f"{module.replace('.', '/')}.py").read_text(encoding="utf-8")
            assert [word for word in words if word.startswith("--") and f'"{word}"' not in code] == [], module
    for path in TESTED.findall(text):
        assert "pytest.mark.slow" in (ROOT / path).read_text(encoding="utf-8"), path


PYTHON = {page: found for page in PAGES if page not in ELSEWHERE and (found := blocks(page, "python"))}


@pytest.mark.slow
@pytest.mark.parametrize("page", PYTHON)
def test_the_python_of_the_pages_runs(page: str, made: Path) -> None:
    for code in PYTHON[page]:
        done = subprocess.run([sys.executable, "-W", "error::FutureWarning", "-c", code], cwd=made, check=False)
        assert done.returncode == 0, code


MADE = pytest.mark.skipif(not (ROOT / ".venv" / ".runtime").exists(), reason="made by make install")


@MADE
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_make_dataset_gives_what_the_tutorial_shows(tmp_path: Path) -> None:
    """Processors round differently, so the model may choose a little otherwise on this one."""
    done = run(f"make dataset OUT={tmp_path / 'run'}", ROOT, timeout_s=500)
    assert done.returncode == 0, done.stderr
    printed = " ".join(done.stdout.split())
    [shown] = [block for block in blocks("docs/tutorial.md", "") if block.startswith("documents  ")]
    for line in filter(None, shown.splitlines()):
        expected = re.escape(" ".join(line.replace("data/runs/example", str(tmp_path / "run")).split()))
        if line.startswith(("drawn", "candidates", "queries")):
            expected = re.sub(r"\d+", r"\\d+", expected)
        assert re.search(expected, printed), (line, done.stdout)
    queries = json.loads((tmp_path / "run" / "dataset.json").read_text(encoding="utf-8"))["queries"]
    listed = re.findall(r"^\d+\. (.+)$", PAGES["docs/tutorial.md"], re.MULTILINE)
    assert len(listed) == 10
    assert len(set(listed) & set(queries.values())) >= 8
