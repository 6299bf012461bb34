"""Write what the commands of the pages print: ``python -m docs.write_outputs``.

A block ``console`` holds commands, each on a line that begins with ``$``, and below each what it prints on standard
output. The commands of a page run in one folder that holds the sample corpus, in the order of the page. A command that
must fail says so: ``# exits 1``.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = {"README.md": 96, "docs/tutorial.md": 86}
"""The pages with such blocks, and the width of the terminal, in characters, so that a line fits the page."""
TRANSLATED = {"docs/README.zh.md": "README.md"}
"""Pages that show the blocks of another one."""

_BLOCK = re.compile(r"(?<=^```console\n)(.*?)(?=^```$)", re.MULTILINE | re.DOTALL)


class CommandFailed(Exception):
    """A command of a page that did not end with the exit code that the page says, or 0."""


def printed(command: str, folder: Path, columns: int) -> str:
    """Return what a command prints on standard output.

    Args:
        command: The command line, with ``# exits N`` behind it if the exit code is not 0.
        folder: Where it runs.
        columns: The width of the terminal.

    Raises:
        CommandFailed: The exit code is another one.
    """
    typed, _, code = command.partition(" # exits ")
    own = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "GOLDBENCH_"))}
    path = f"{Path(sys.executable).parent}{os.pathsep}{own['PATH']}"
    done = subprocess.run(  # noqa: S603  a command of a page of this project
        shlex.split(typed),
        cwd=folder,
        env={**own, "PATH": path, "COLUMNS": str(columns), "NO_COLOR": "1"},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    if done.returncode != int(code or 0):
        raise CommandFailed(f"{command}: exit code {done.returncode}: {done.stderr}")
    return "".join(f"{line.rstrip()}\n" for line in done.stdout.strip().splitlines())


def with_outputs(page: str, folder: Path, columns: int) -> str:
    """Return the text of a page in which each command stands above what it prints now.

    Args:
        page: The text of the page.
        folder: A folder with the sample corpus.
        columns: The width of the terminal.

    Raises:
        CommandFailed: A command fails.
    """

    def run(block: re.Match[str]) -> str:
        commands = [line.removeprefix("$ ") for line in block[0].splitlines() if line.startswith("$ ")]
        return "\n".join(f"$ {command}\n{printed(command, folder, columns)}" for command in commands)

    return _BLOCK.sub(run, page)


def with_blocks_of(page: str, original: str) -> str:
    """Return the text of a page with the blocks of its original, in their order.

    Args:
        page: The text of the page.
        original: The text of the page that it translates.
    """
    blocks = iter(_BLOCK.findall(original))
    return _BLOCK.sub(lambda _: next(blocks), page)


def with_sample(folder: Path) -> Path:
    """Copy the sample corpus into a folder, and return the folder."""
    shutil.copytree(ROOT / "data" / "example", folder / "data" / "example")
    return folder


def main() -> None:
    """Write the pages."""
    for name, columns in PAGES.items():
        path = ROOT / name
        with tempfile.TemporaryDirectory() as folder:
            text = with_outputs(path.read_text(encoding="utf-8"), with_sample(Path(folder)), columns)
        path.write_text(text, encoding="utf-8", newline="\n")
    for name, original in TRANSLATED.items():
        text = with_blocks_of((ROOT / name).read_text("utf-8"), (ROOT / original).read_text("utf-8"))
        (ROOT / name).write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
