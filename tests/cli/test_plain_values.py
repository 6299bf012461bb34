"""Values that the command line takes without typer's conversion are those that typer gives, and wrong ones are told."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from goldbench.pipeline.cli.app import built
from goldbench.pipeline.cli.plain_values import spare_conversions
from tests.conftest import Goldbench, posix

SCORE = ["gold", "--run", "a.trec"]
GATE = ["gold", "--run", "a.trec"]
LINES = (
    ("score", SCORE),
    ("score", [*SCORE, "--run", "B=b", "--measure", "mrr", "--measure", "p@5", "--k", "1,3", "--html", "x/y.html"]),
    ("score", [*SCORE, "--missing", "skip", "--scores", "float32", "--format", "json", "--calibrated"]),
    ("score", [*SCORE, "--weight", "traffic", "--per-query", "values.csv"]),
    ("gate", [*GATE, "--baseline", "b.json", "--init", "--junit", "-"]),
    ("gate", [*GATE, "--seed", "3", "--alpha", "0.1", "--permutations", "0x10"]),
    ("gate", [*GATE, "--seed", "1.0", "--alpha", "1", "--target", "general", "--max-drop", "5%"]),
    ("compare", ["gold", "--run", "a", "--run", "b", "--out", "c"]),
)


def parsed(name: str, arguments: list[str]) -> object:
    """Return what a command makes of arguments, or the message of a refusal; versions of typer differ in lists."""
    command = built(name)
    try:
        found = command.make_context(name, list(arguments)).params
        return {key: list(one) if isinstance(one, tuple) else _text(one) for key, one in found.items()}
    except Exception as error:  # noqa: BLE001  typer keeps its classes to itself
        return error.format_message() if hasattr(error, "format_message") else repr(error)


def _text(value: object) -> object:
    """Return the text of a path, which some versions of typer make of it only when the command is called."""
    return str(value) if isinstance(value, Path) else value


@pytest.mark.parametrize(("name", "arguments"), LINES)
def test_a_command_line_means_what_typer_makes_of_it(
    monkeypatch: pytest.MonkeyPatch, name: str, arguments: list[str]
) -> None:
    plain = parsed(name, arguments)
    monkeypatch.setattr("goldbench.pipeline.cli.options.spare_conversions", lambda _, parameters: parameters)
    assert plain == parsed(name, arguments)


def test_a_wrong_choice_is_refused_with_the_choices(goldbench_inside: Goldbench) -> None:
    done = goldbench_inside("score", "gold", "--run", "a", "--missing", "perhaps")
    assert done.returncode == 2
    assert "--missing: not a valid value: 'perhaps'; give zero, skip or error" in done.stderr


@posix
@pytest.mark.skipif(os.name == "posix" and os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_left_to_typer(tmp_path: Path, goldbench_inside: Goldbench) -> None:
    (tmp_path / "base.json").touch(mode=0)
    done = goldbench_inside("gate", "gold", "--run", "a", "--baseline", "base.json")
    assert "is not readable" in done.stderr


def test_parameters_are_prepared_once() -> None:
    command: Any = built("score")
    first = [one.process_value for one in command.params if "process_value" in vars(one)]
    assert [one.process_value for one in spare_conversions(command, command.params)][: len(first)] == first
