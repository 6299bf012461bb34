"""``import goldbench``: what it offers, that it loads nothing heavy, and that type checkers see it."""

from __future__ import annotations

import doctest
import importlib
import subprocess
import sys
from enum import Enum
from importlib.metadata import version
from pathlib import Path
from typing import Literal, get_args, get_type_hints

import pytest

import goldbench
from goldbench import errors
from goldbench.api.gold_set import Kind
from goldbench.api.keywords import BuildOptions, GradeOptions
from goldbench.config import settings_in
from goldbench.formats.benchmarks.kinds import READERS
from tests.conftest import ROOT

HEAVY = ["aiohttp", "jinja2", "openai", "pandas", "plotly", "polars", "pyarrow", "sklearn", "starlette", "typer"]


def test_importing_what_people_call_loads_no_large_library() -> None:
    line = "from goldbench import GoldSet, build, compare, evaluate"
    code = f"{line}; import sys; print(sorted(set(sys.modules) & set(sys.argv[1:])))"
    done = subprocess.run([sys.executable, "-c", code, *HEAVY], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_importing_it_alone_loads_none_of_its_own_modules() -> None:
    code = "import goldbench, sys; print([name for name in sys.modules if name.startswith('goldbench.')])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_name_is_there_and_no_other() -> None:
    for name in goldbench.__all__:
        assert getattr(goldbench, name) is not None
        assert name in dir(goldbench)
    assert goldbench.__version__ == version("goldbench")
    with pytest.raises(AttributeError, match="has no attribute 'bulid'"):
        _ = goldbench.bulid  # type: ignore[attr-defined]


def test_every_error_is_a_public_name() -> None:
    kinds = {name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, Exception)}
    assert kinds <= set(goldbench.__all__)
    assert {"GoldbenchError", "InputError"} <= kinds


@pytest.mark.parametrize(
    ("options", "tables"),
    [
        (BuildOptions, ("documents", "chunk", "generate", "model", "machines")),
        (GradeOptions, ("grade", "model", "machines")),
    ],
)
def test_every_option_of_a_command_is_a_typed_keyword(options: type, tables: tuple[str, ...]) -> None:
    typed = get_type_hints(options)
    known = settings_in(*tables)
    assert typed.keys() == known.keys()
    for name, one in known.items():
        plain = one.type in {bool, int, float, str}
        assert not plain or typed[name] == one.type | None, name
        if isinstance(one.type, type) and issubclass(one.type, Enum):
            assert typed[name] == Literal[tuple(str(choice.value) for choice in one.type)] | None, name  # type: ignore[misc]  # of the code


def test_the_benchmarks_that_are_offered_are_those_that_can_be_read() -> None:
    assert get_args(Kind) == tuple(READERS)


PUBLIC = ("", *(f".api.{path.stem}" for path in sorted((ROOT / "pipeline" / "goldbench" / "api").glob("[a-z]*.py"))))


@pytest.mark.parametrize("name", PUBLIC)
def test_the_examples_of_the_documentation_run(name: str) -> None:
    module = importlib.import_module(f"goldbench{name}")
    found = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    assert found.failed == 0


def test_the_functions_that_people_call_have_examples() -> None:
    for thing in (
        goldbench.build,
        goldbench.compare,
        goldbench.evaluate,
        goldbench.Evaluations,
        goldbench.RunComparison,
        goldbench.GoldSet,
        goldbench.Evaluation,
        goldbench.CostPlan,
        goldbench.Frames,
        goldbench.GoldCard,
        goldbench.GoldSet.card,
        goldbench.GoldSet.grade,
    ):
        assert ">>> " in (thing.__doc__ or ""), thing
        assert "+SKIP" not in (thing.__doc__ or ""), thing


def test_type_checkers_find_the_types() -> None:
    """What they find is asserted in ``typed_calls``, which ``make lint`` checks."""
    assert (ROOT / "pipeline" / "goldbench" / "py.typed").is_file()
    assert "tests.api.typed_calls" in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def test_without_a_checkout_the_packages_of_an_extra_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(errors, "__file__", str(tmp_path / "site-packages" / "goldbench" / "errors.py"))
    told = str(errors.MissingExtra("jinja2", "report"))
    assert told == (
        "jinja2 is not installed: run pip install 'jinja2>=3.1' 'markupsafe>=2.1' 'nh3>=0.3' "
        "'plotly>=7.0' 'pyromark>=0.10' (the extra report)"
    )
    for extra in ("documents", "review", "benchmarks", "cjk", "dense", "fastembed", "sentence-transformers"):
        told = str(errors.MissingExtra("a-package", extra))
        assert told.endswith(f"' (the extra {extra})")
        assert "goldbench" not in told
