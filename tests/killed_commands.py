"""Commands that end before one of their writing file operations: any moment of a write can be tried."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.conftest import ROOT

MOMENTS = 30

_NURSERY = """
import contextlib, importlib, json, os, resource, signal, sys
from goldbench.cli.process import main

def watched(job):
    place, last, sent, done = job["place"], job["operation"], job["sent"], 0
    def watch(event, arguments):
        nonlocal done
        if event == "open":
            writes = arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        else:
            writes = event in {"os.rename", "os.remove", "os.mkdir", "os.rmdir"}
        if not writes or os.getpid() != self or not any(place in str(one) for one in arguments[:2]):
            return
        done += 1
        if done == last:
            os.kill(self, sent)
    self = os.getpid()
    sys.addaudithook(watch)
    return lambda: done

for line in sys.stdin:
    job = json.loads(line)
    for name in job.get("modules", ()):
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    child = os.fork()
    if child:
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
        continue
    said = os.open(job["said"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    for stream, number in ((os.open(os.devnull, os.O_RDONLY), 0), (said, 1), (said, 2)):
        os.dup2(stream, number)
    os.chdir(job["folder"])
    if job["most"] is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (job["most"], job["most"]))
    told = watched(job)
    sys.argv = ["goldbench", *job["command"]]
    try:
        main()
    finally:
        if job["tally"]:
            loaded = [name for name in sys.modules if not name.startswith("_")]
            with open(job["tally"], "w") as file:
                json.dump({"operations": told(), "modules": loaded}, file)
    break
else:
    os._exit(0)
"""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended: its exit code, and what it printed on both streams."""

    code: int
    said: str


@dataclass(slots=True)
class Nursery:
    """A process that has the commands loaded and forks for each run, which takes a tenth of a new interpreter's time.

    Args:
        home: A folder for what it notes.
        folder: The working folder of the commands.
        place: The folder whose writing operations are counted: a part of their paths.
    """

    home: Path
    folder: Path
    place: Path
    _process: subprocess.Popen[str] = field(init=False)
    _modules: list[str] = field(init=False, default_factory=list)

    def __enter__(self) -> Self:
        self.home.mkdir(parents=True, exist_ok=True)
        self._process = subprocess.Popen(
            [sys.executable, "-c", _NURSERY], cwd=ROOT, text=True, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )  # fmt: skip
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(100)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def count(self, *command: object) -> int:
        """Run a command to its end, and return how many writing operations below the place it did."""
        tally = self.home / "tally.json"
        ended = self._run(command, tally=str(tally))
        assert ended.code == 0, ended.said
        found = json.loads(tally.read_text(encoding="utf-8"))
        self._modules = found["modules"]
        return int(found["operations"])

    def run(
        self, *command: object, operation: int = 0, sent: signal.Signals = signal.SIGKILL, most: int | None = None
    ) -> Ended:
        """Run a command.

        Args:
            command: Its words.
            operation: The writing operation, counted from 1, before which it gets a signal; 0 for none.
            sent: The signal.
            most: The most bytes that a file may have; more is refused, as on a full disk.
        """
        return self._run(command, operation=operation, sent=int(sent), most=most)

    def _run(self, command: tuple[object, ...], **told: Any) -> Ended:
        said = self.home / "said.txt"
        job = {
            "place": str(self.place), "folder": str(self.folder), "said": str(said), "command": [*map(str, command)],
            "modules": self._modules, "operation": 0, "sent": int(signal.SIGKILL), "most": None, "tally": None,
        }  # fmt: skip
        self._modules = []
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps({**job, **told}), file=self._process.stdin, flush=True)
        code = int(self._process.stdout.readline())
        return Ended(code, said.read_text(encoding="utf-8"))


def moments(count: int, most: int = MOMENTS) -> Iterator[int]:
    """Yield some of so many operations, evenly spread from the first to the last.

    Args:
        count: How many operations there are.
        most: How many are tried; all if there are fewer.
    """
    if count <= most:
        yield from range(1, count + 1)
    else:
        yield from sorted({round(1 + number * (count - 1) / (most - 1)) for number in range(most)})
