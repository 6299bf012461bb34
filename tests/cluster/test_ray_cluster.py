"""``--engine ray``: the bytes of a run on one machine, whatever is killed, and nothing of Ray is seen or left."""

from __future__ import annotations

import contextlib
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import psutil
import pytest

from goldbench.cluster.ray_cluster import cluster
from goldbench.errors import UsageError
from tests.conftest import IMPORT_PATH, ROOT, SETTINGS, needs, posix

pytestmark = [pytest.mark.slow, posix, pytest.mark.timeout(600)]

SANDBOX = "goldbench.formats.documents.worker"
CLOCK = re.compile(rb'"(created|at|seconds)": [^\n]*')


@pytest.fixture(autouse=True)
def installed() -> None:
    needs("ray")


def environment(**others: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in {*SETTINGS, "RAY_ADDRESS"}}
    return {**kept, "PYTHONPATH": IMPORT_PATH, "COLUMNS": "200", **others}


def started(folder: Path, *arguments: object, **others: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "goldbench", *map(str, arguments)]
    return subprocess.Popen(
        command, cwd=folder, env=environment(**others), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def done(folder: Path, *arguments: object, code: int = 0, **others: str) -> tuple[str, str]:
    process = started(folder, *arguments, **others)
    out, err = process.communicate(timeout=500)
    assert process.returncode == code, err
    return out, err


def below(pid: int) -> list[psutil.Process]:
    with contextlib.suppress(psutil.Error):
        return psutil.Process(pid).children(recursive=True)
    return []


def is_sandbox(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.Error):
        return process.cmdline()[-1:] == [SANDBOX]
    return False


def files_of(folder: Path) -> dict[str, bytes]:
    found = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return {name: CLOCK.sub(b"", data) if name == "manifest.json" else data for name, data in found.items()}


def with_jobs(folder: Path, jobs: int) -> Path:
    path = folder / f"jobs{jobs}.toml"
    path.write_text(f"[documents]\njobs = {jobs}\n")
    return path


def simulated(folder: Path, documents: object, out: str, *more: object, **others: str) -> tuple[str, str]:
    return done(folder, "build", documents, "--out", out, "--generator", "simulated", "--queries", 20, *more, **others)


def notes(folder: Path, count: int) -> Path:
    draw = random.Random(2)
    words = ["".join(draw.choices("abcdefghilmnoprstu", k=draw.randrange(2, 9))) for _ in range(5_000)]
    folder.mkdir()
    for number in range(count):
        body = ". ".join(" ".join(draw.choices(words, k=12)).capitalize() for _ in range(40))
        (folder / f"{number:05}.md").write_text(f"# Note {number}\n\n{body}.\n")
    rows = "".join(f"Row {number} of the table is short.\n" for number in range(9_000))
    (folder / "rows.csv").write_text(f"text\n{rows}")
    return folder


def meanwhile(process: subprocess.Popen[str], root: int, is_victim: Callable[[psutil.Process], bool], most: int) -> int:
    """Kill processes below ``root`` while a command runs; return how many."""
    killed = 0
    while process.poll() is None and killed < most:
        for victim in filter(is_victim, below(root)):
            with contextlib.suppress(psutil.Error):
                victim.kill()
                killed += 1
                break
        time.sleep(0.4)
    return killed


@pytest.fixture(scope="module")
def head(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, int]]:
    """A running cluster of two nodes on this machine: its address, and the process above all of its processes."""
    needs("ray")
    script = (
        "import logging, sys; logging.getLogger('ray').setLevel(50)\n"
        "from ray.cluster_utils import Cluster\n"
        "nodes = Cluster(initialize_head=True, head_node_args={'num_cpus': 1, 'include_dashboard': False})\n"
        "nodes.add_node(num_cpus=1)\n"
        "print(nodes.address, flush=True)\n"
        "sys.stdin.read()\n"
        "nodes.shutdown()\n"
    )
    loopback = environment(RAY_AUTH_MODE="disabled", RAY_USAGE_STATS_ENABLED="0", RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER="0")
    with subprocess.Popen(
        [sys.executable, "-c", script],
        env=loopback,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        address = process.stdout.readline().strip()
        assert address, "the cluster did not start"
        yield address, process.pid
        process.stdin.close()
        process.wait(200)


def connected(address: str) -> dict[str, str]:
    return {"RAY_ADDRESS": address, "RAY_AUTH_MODE": "disabled", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}


def left_after(pids: Iterable[int], seconds: float) -> list[int]:
    end = time.monotonic() + seconds
    while (left := [pid for pid in pids if psutil.pid_exists(pid)]) and time.monotonic() < end:
        time.sleep(0.1)
    return left


def test_the_example_is_the_same_and_nothing_of_ray_is_seen_or_left(tmp_path: Path) -> None:
    example = ROOT / "data" / "example" / "documents"
    calm = [simulated(tmp_path, example, f"local{jobs}", "--config", with_jobs(tmp_path, jobs)) for jobs in (1, 2)]
    temporary = tmp_path / "t"
    temporary.mkdir()
    with tempfile.TemporaryDirectory(prefix="x", dir="/tmp") as short:
        arguments = ("--generator", "simulated", "--queries", 20, "--engine", "ray")
        command = ("build", example, "--out", "ray", *arguments)
        process = started(tmp_path, *command, TMPDIR=short, OPENAI_API_KEY="sk-secret", HF_TOKEN="hf-secret")
        seen: dict[int, dict[str, str]] = {}
        while process.poll() is None:
            for one in below(process.pid):
                with contextlib.suppress(psutil.Error):
                    seen[one.pid] = one.environ()
            time.sleep(0.2)
        out, err = process.communicate()
        assert process.returncode == 0, err
        assert list(Path(short).iterdir()) == []
    assert any("RAY_JOB_ID" in one for one in seen.values())
    assert [pid for pid, one in seen.items() if "secret" in " ".join(one.values())] == []
    assert left_after(seen, seconds=100) == []  # Ray's workers end by themselves once their node has ended
    assert {files_of(tmp_path / name) == files_of(tmp_path / "local1") for name in ("local2", "ray")} == {True}
    assert out.replace("ray", "local1") == calm[0][0]
    assert "ray" not in without_first_line(err)


def without_first_line(err: str) -> str:
    """What a command said after its first line, which names the cluster as a place where text goes."""
    return err.partition("\n")[2].lower()


def test_a_cluster_that_runs_gives_the_same_whatever_is_killed(tmp_path: Path, head: tuple[str, int]) -> None:
    address, root = head
    notes(tmp_path / "docs", 3_000)
    simulated(tmp_path, "docs", "local", "--config", with_jobs(tmp_path, 2))
    arguments = ("--generator", "simulated", "--queries", 20, "--engine", "ray")
    process = started(tmp_path, "build", "docs", "--out", "ray", *arguments, **connected(address))
    # A document whose reader dies three times is skipped, and three kills in a row may fall on the same one.
    assert meanwhile(process, root, is_worker, 2) == 2
    _, err = process.communicate(timeout=500)
    assert process.returncode == 0, err
    assert "ray" not in without_first_line(err)
    assert files_of(tmp_path / "ray") == files_of(tmp_path / "local")
    told = []
    for engine in ("local", "ray"):
        out = ("-o", f"{engine}.trec", "--engine", engine)
        told.append(done(tmp_path, "retrieve", "local", *out, **connected(address)))
    assert told[0][0].replace("local.trec", "ray.trec") == told[1][0]
    assert without_first_line(told[1][1]) == without_first_line(told[0][1]) == ""
    assert (tmp_path / "ray.trec").read_bytes() == (tmp_path / "local.trec").read_bytes()


def is_worker(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.Error):
        return process.name().startswith("ray::Holder") or is_sandbox(process)
    return False


def test_a_command_that_is_interrupted_leaves_no_process(tmp_path: Path) -> None:
    notes(tmp_path / "docs", 3_000)
    process = started(tmp_path, "chunk", "docs", "--out", "out.jsonl", "--engine", "ray")
    while process.poll() is None and not any(map(is_sandbox, below(process.pid))):
        time.sleep(0.2)
    everyone = below(process.pid)
    assert len(everyone) > 3
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=200)
    assert process.returncode == 130
    assert err.splitlines()[-1] == "goldbench: interrupted; run the same command again to continue"
    assert psutil.wait_procs(everyone, timeout=100)[1] == []


def test_addresses_that_cannot_be_used_are_refused_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "ray://10.0.0.1:10001")
    with pytest.raises(UsageError, match="RAY_ADDRESS: not a valid address"):
        cluster()
    (tmp_path / "a.md").write_text("# A\n\nText.\n")
    _, err = done(tmp_path, "chunk", "a.md", "--engine", "ray", code=2, RAY_ADDRESS="127.0.0.1:9")
    (line,) = err.splitlines()
    assert line.startswith("goldbench: the Ray cluster at 127.0.0.1:9 cannot be reached")
