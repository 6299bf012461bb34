"""A job of GitHub Actions that uses the action: its inputs, the files and variables of a runner, its steps in bash."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.conftest import ROOT, SETTINGS

FOLDER = ROOT / ".github" / "actions" / "gate"
ACTION: dict[str, Any] = yaml.safe_load((FOLDER / "action.yml").read_text(encoding="utf-8"))
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]
EXPRESSION = re.compile(r"\$\{\{(.*?)\}\}")


@dataclass
class Job:
    """What a runner gives the steps. ``outputs`` are those of the action, ``failed`` is the name of the failed step."""

    folder: Path
    api: str = "http://127.0.0.1:9"
    event: Mapping[str, Any] = field(default_factory=dict)
    code: int = 0
    failed: str | None = None
    log: str = ""
    outputs: dict[str, str] = field(default_factory=dict)
    steps: dict[str, dict[str, str]] = field(default_factory=dict)

    @property
    def temporary(self) -> Path:
        return self.folder / "temp"

    @property
    def summary(self) -> str:
        return (self.folder / "summary").read_text(encoding="utf-8")

    def prepare(self) -> None:
        """Make the runner's folders; what the install step makes stands already, newer than what it is made of."""
        for name in ("summary", "env", "path"):
            (self.folder / name).write_text("", encoding="utf-8")
        (self.folder / "event.json").write_text(json.dumps(self.event), encoding="utf-8")
        programs = self.temporary / "goldbench-venv" / "bin"
        programs.mkdir(parents=True)
        for name in ("python", "goldbench"):
            (programs / name).symlink_to(Path(sys.executable).parent / name)
        for stamp in (".uv", ".runtime"):
            (programs.parent / stamp).touch()

    def run(self, inputs: Mapping[str, str]) -> Job:
        """Run every step as GitHub does, until one fails; those with a condition of their own run also then."""
        given = {name: str(one.get("default", "")) for name, one in ACTION["inputs"].items()} | dict(inputs)
        given["token"] = "a-token"
        for step in STEPS:
            condition = step.get("if", "success()")
            if "cancelled()" not in condition and self.failed:
                continue
            if self._value(condition, given) in {"false", ""}:
                continue
            if "uses" in step:
                self.steps[step["id"]] = {"python-path": sys.executable}
            else:
                self._step(step, given)
        outputs = ACTION["outputs"].items()
        self.outputs = {name: self._value(one["value"], given) for name, one in outputs}
        return self

    def _step(self, step: Mapping[str, Any], inputs: Mapping[str, str]) -> None:
        output = self.folder / "output"
        output.write_text("", encoding="utf-8")
        script = self.folder / "step.sh"
        script.write_text(step["run"], encoding="utf-8")
        assert step["shell"] == "bash"
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", script],  # as a runner starts `shell: bash`
            cwd=self.folder,
            env=self._environment(output) | {name: self._value(text, inputs) for name, text in step["env"].items()},
            capture_output=True,
            text=True,
            timeout=110,
            check=False,
        )
        self.log += done.stdout + done.stderr
        lines = output.read_text(encoding="utf-8").splitlines()
        self.steps[step.get("id", "")] = dict(line.partition("=")[::2] for line in lines)
        if done.returncode and not self.failed:
            self.code, self.failed = done.returncode, step["name"]

    def _environment(self, output: Path) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name not in {*SETTINGS, "COLUMNS"}}
        added = (self.folder / "path").read_text(encoding="utf-8").splitlines()
        return {
            **kept,
            "PATH": os.pathsep.join([*reversed(added), "/usr/local/bin", "/usr/bin", "/bin"]),
            "GITHUB_ACTION_PATH": str(FOLDER),
            "GITHUB_API_URL": self.api,
            "GITHUB_EVENT_PATH": str(self.folder / "event.json"),
            "GITHUB_OUTPUT": str(output),
            "GITHUB_PATH": str(self.folder / "path"),
            "GITHUB_REPOSITORY": "owner/name",
            "GITHUB_RUN_ID": "42",
            "GITHUB_SERVER_URL": "https://github.example",
            "GITHUB_SHA": "f" * 40,
            "GITHUB_STEP_SUMMARY": str(self.folder / "summary"),
            "RUNNER_TEMP": str(self.temporary),
        }

    def _value(self, text: str, inputs: Mapping[str, str]) -> str:
        if "${{" not in text:
            return self._found(text, inputs) if text.endswith("()") else text
        return EXPRESSION.sub(lambda found: self._found(found[1].strip(), inputs), text)

    def _found(self, expression: str, inputs: Mapping[str, str]) -> str:
        """Return the value of an expression of the kinds that the action uses."""
        parts = [part.strip() for part in expression.split("&&")]
        if len(parts) > 1:
            return "true" if all(self._found(part, inputs) == "true" for part in parts) else "false"
        if expression in {"!cancelled()", "success()"}:
            return "true"
        if comparison := re.fullmatch(r"(\S+) (==|!=) '(.*)'", expression):
            equal = self._found(comparison[1], inputs) == comparison[3]
            return "true" if equal == (comparison[2] == "==") else "false"
        if expression.startswith("inputs."):
            return inputs[expression.removeprefix("inputs.")]
        step, name = re.fullmatch(r"steps\.(\w+)\.outputs\.([\w-]+)", expression).groups()  # type: ignore[union-attr]
        return self.steps.get(step, {}).get(name, "")
