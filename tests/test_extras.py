"""Without any extra: in an environment with nothing but the base requirements, all but what extras bring works."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sysconfig
import tomllib
import venv
from collections.abc import Iterable
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.conftest import ROOT, SETTINGS, Goldbench
from tests.generate.test_build import corpus

pytestmark = pytest.mark.slow

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def brought_by(requirements: Iterable[str]) -> set[str]:
    """Return the names of the packages that these requirements bring, directly or not."""
    found: set[tuple[str, str]] = set()
    waiting = [(Requirement(text), "") for text in requirements]
    while waiting:
        requirement, extra = waiting.pop()
        if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
            new = {(requirement.name, one) for one in ("", *requirement.extras)} - found
            found |= new
            further = importlib.metadata.requires(requirement.name) or ()
            waiting += [(Requirement(text), one) for _, one in new for text in further]
    return {name for name, _ in found}


@pytest.fixture(scope="session")
def bare_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment with the base requirements and this checkout."""
    home = tmp_path_factory.mktemp("bare")
    venv.EnvBuilder(symlinks=os.name != "nt").create(home)
    places = {"base": str(home), "platbase": str(home)}
    site = Path(sysconfig.get_path("purelib", "venv", places))
    for name in {"goldbench", *brought_by(PROJECT["dependencies"])}:
        for file in importlib.metadata.distribution(name).files or ():
            top = file.parts[0]
            if top not in {"..", "__pycache__"} and not top.endswith(".pth") and not (site / top).exists():
                source = Path(file.locate()).parents[len(file.parts) - 1] / top
                (site / top).symlink_to(source, target_is_directory=source.is_dir())
    (site / "checkout.pth").write_text(f"{ROOT / 'pipeline'}\n", encoding="utf-8")
    return Path(sysconfig.get_path("scripts", "venv", places), "python")


@pytest.fixture
def bare(bare_python: Path, tmp_path: Path) -> Goldbench:
    """Run the command in that environment, in an empty folder."""

    def run(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
        kept = {name: value for name, value in os.environ.items() if name not in {*SETTINGS, "PYTHONPATH"}}
        command = [str(bare_python), "-m", "goldbench", *map(str, arguments)]
        return subprocess.run(
            command,
            cwd=tmp_path,
            env={**kept, "COLUMNS": "200", **environment},
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )

    return run


HINT = "is not installed: run pip install -e '.[{}]' in the checkout of goldbench"


def test_every_module_can_be_imported_but_those_of_an_extra(bare_python: Path) -> None:
    code = """
import importlib, pathlib, sys
from goldbench.errors import MissingExtra
for path in sorted(pathlib.Path(sys.argv[1]).glob("*/**/*.py")):
    parts = path.relative_to(sys.argv[1]).with_suffix("").parts
    if parts[-1] != "__main__":
        try:
            importlib.import_module(".".join(["goldbench", *parts]).removesuffix(".__init__"))
        except MissingExtra as error:
            print(parts[0], error)
        except ModuleNotFoundError as error:
            print(*parts, error.name)
print("done")
"""
    done = subprocess.run(
        [bare_python, "-c", code, ROOT / "pipeline" / "goldbench"],
        capture_output=True,
        text=True,
        timeout=100,
        check=True,
    )
    *missing, last = done.stdout.splitlines()
    assert last == "done"
    assert set(missing) == {
        f"review jinja2 {HINT.format('review')}",
        f"workbench jinja2 {HINT.format('review')}",
        "api pytest_plugin pytest",  # pytest imports it, and it the other
        "api tested_set pytest",
        "exports standalone ir_dataset ir_datasets",  # these are read by the tools, from an exported folder
        "exports standalone mteb_task mteb",
        "formats documents html_text bs4",  # these are imported by the worker that reads files
        "formats documents main_content bs4",
        "formats documents rst_text docutils",
        "formats documents office bs4",
        "formats documents pdf bs4",
    }


@pytest.fixture
def scored(goldbench: Goldbench, tmp_path: Path) -> Path:
    """A gold set with a run and a history."""
    corpus(tmp_path / "docs")
    for arguments in (
        ("build", "docs", "--out", "run", "--queries", 6),
        ("retrieve", "run", "-o", "bm25.trec"),
        ("monitor", "run", "--run", "bm25.trec", "--history", "history.jsonl"),
    ):
        done = goldbench(*arguments)
        assert done.returncode == 0, done.stderr
    return tmp_path


def test_a_feature_without_its_extra_is_refused_in_one_line_and_writes_nothing(bare: Goldbench, scored: Path) -> None:
    (scored / "vectors.toml").write_text(
        "[systems.mine]\nkind = 'vectors'\npassages = 'a.parquet'\nqueries = 'a.parquet'\n"
        "[systems.sentences]\nkind = 'sentence-transformers'\nmodel = 'm'\n"
        "[systems.fast]\nkind = 'fastembed'\nmodel = 'm'\n"
    )
    (scored / "a.parquet").write_bytes(b"any")
    before = files_of(scored)
    for extra, package, arguments in (
        ("review", "jinja2", ("review", "run")),
        ("review", "jinja2", ("score", "run", "--run", "bm25.trec", "--calibrated")),
        ("report", "jinja2", ("monitor", "plot", "history.jsonl")),
        ("cjk", "jieba", ("retrieve", "run", "--analyzer", "jieba", "-o", "jieba.trec")),
        ("dense", "pyarrow", ("retrieve", "run", "-c", "vectors.toml", "--system", "mine", "-o", "mine.trec")),
        (
            "sentence-transformers",
            "sentence-transformers",
            ("retrieve", "run", "-c", "vectors.toml", "--system", "sentences", "-o", "s.trec"),
        ),
        ("fastembed", "fastembed", ("retrieve", "run", "-c", "vectors.toml", "--system", "fast", "-o", "fast.trec")),
        ("local", "xllamacpp", ("build", "docs", "--out", "asked", "--model", "local")),
        ("ray", "ray", ("build", "docs", "--out", "spread", "--engine", "ray")),
        ("benchmarks", "datasets", ("import", "hf", "owner/set", "--out", "hf")),
    ):
        done = bare(*arguments)
        assert done.returncode == 2, (arguments, done.stderr)
        assert done.stderr == f"goldbench: {package} {HINT.format(extra)}\n"
        assert done.stdout == ""
    assert files_of(scored) == before


def files_of(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
