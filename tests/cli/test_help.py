"""What ``--help`` shows: short summaries, options of one line under titles, every setting once."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from goldbench.cli.app import COMMANDS, built
from goldbench.cli.options import PANELS
from goldbench.config import SETTINGS
from goldbench.errors import Parameter
from goldbench.measures.statistics.agreement import RESAMPLES
from tests.conftest import Goldbench


def commands() -> Iterator[tuple[str, Any]]:
    for name in COMMANDS:
        command = built(name)
        yield name, command
        for inner, found in getattr(command, "commands", {}).items():
            yield f"{name} {inner}", found


@pytest.mark.parametrize(("name", "command"), list(commands()), ids=lambda one: one if isinstance(one, str) else "")
def test_summaries_and_options_are_short(name: str, command: Any) -> None:
    summary = command.help.partition("\n")[0]
    assert summary.endswith(".")
    assert len(summary) <= 45, summary
    for parameter in command.params:
        assert parameter.help, parameter.name
        assert len(parameter.help) <= 60, parameter.help
        assert parameter.help.endswith("."), parameter.help
        if parameter.param_type_name == "option":
            assert parameter.rich_help_panel in PANELS, parameter.name


def test_help_shows_options_under_titles(goldbench_inside: Goldbench) -> None:
    shown = goldbench_inside("grade", "--help").stdout
    titles = re.findall(r"^(\w+):$", shown, re.MULTILINE)
    assert titles == [title for title in PANELS if title in titles]
    assert {"Input", "Judging", "Model", "Limits", "Output"} <= set(titles)
    assert "Share of calls that test the judge (default: 0.05 = 5 %)." in " ".join(shown.split())


def test_the_figures_of_agreement_have_one_number_of_resamples() -> None:
    for command in (built("agreement"), built("review").commands["report"]):
        assert next(param.default for param in command.params if param.name == "resamples") == RESAMPLES


def test_the_list_of_commands_shows_every_summary(goldbench_inside: Goldbench) -> None:
    shown = goldbench_inside("--help").stdout
    for name in COMMANDS:
        summary = built(name).help.partition("\n")[0]
        assert re.search(rf"^  {name} +{re.escape(summary)}$", shown, re.MULTILINE), name


def test_the_list_of_commands_loads_nothing_heavy() -> None:
    heavy = ["numpy", "openai", "pandas", "polars", "pyarrow", "scipy", "sqlalchemy", "starlette"]
    script = "import sys; from goldbench.cli.app import command_line; command_line()(standalone_mode=False);"
    script += f"print(sorted(set(sys.modules) & set({heavy})), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", script, "--help"], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


@pytest.mark.parametrize(("name", "command"), list(commands()), ids=lambda one: one if isinstance(one, str) else "")
def test_nothing_is_cut_at_80_columns(name: str, command: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    context = command.context_class(command, info_name=f"goldbench {name}")
    shown = command.get_help(context)
    assert all(len(line) <= 80 for line in shown.splitlines() if "|" not in line)  # a choice is one word
    assert "…" not in shown
    words = " ".join(shown.split())
    told = [record for param in command.params if (record := param.get_help_record(context))]
    told += [(inner, one.help.partition("\n")[0]) for inner, one in getattr(command, "commands", {}).items()]
    for left, right in (*told, ("", command.help)):
        assert all(part.strip() in shown for part in re.split(r"[<>|]", left)), left  # choices may stand in the text
        assert " ".join(right.partition("  [")[0].split()) in words


@pytest.mark.parametrize(("name", "command"), list(commands()), ids=lambda one: one if isinstance(one, str) else "")
def test_no_help_shows_the_marks_of_docstrings(name: str, command: Any) -> None:
    assert "``" not in (command.help or ""), name


def test_every_option_of_a_setting_has_the_settings_help() -> None:
    told = {str(Parameter(one.setting.keyword)): one.option_help() for one in SETTINGS if one.setting.keyword}
    build = {parameter.opts[0]: parameter.help for parameter in built("build").params}
    grade = {parameter.opts[0]: parameter.help for parameter in built("grade").params}
    for option, help_text in told.items():
        assert help_text in {build.get(option), grade.get(option)}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            ("--chunk-size", 0, "--queries", 0),
            ("--chunk-size: not a valid value: 0", "--queries: not a valid value: 0"),
        ),
        (("--chunk-size", 50, "--chunk-overlap", 50), ("--chunk-size, --chunk-overlap: overlap 50 must be smaller",)),
        (("--config", "bad.toml", "--concurrency", 0), ("bad.toml: ", "unknown key model.nmae", "--concurrency: ")),
    ],
)
def test_every_wrong_value_is_named_with_its_option_or_key(
    goldbench_inside: Goldbench, tmp_path: Any, arguments: tuple[object, ...], says: tuple[str, ...]
) -> None:
    (tmp_path / "bad.toml").write_text('[model]\nnmae = "m"\n')
    done = goldbench_inside("build", "docs", "--out", "run", *arguments)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    for part in says:
        assert part in done.stderr
