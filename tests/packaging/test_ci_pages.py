"""docs/how_to/gate_in_ci.md and track_results.md: their commands, recipes and output are run as they stand."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml

from tests.conftest import IMPORT_PATH, ROOT, SETTINGS, python_of
from tests.packaging.action_job import ACTION

GATE, TRACK = (
    (ROOT / "docs" / "how_to" / name).read_text(encoding="utf-8") for name in ("gate_in_ci.md", "track_results.md")
)


def block(page: str, kind: str, place: int = 0) -> str:
    """A code block of a page."""
    return re.findall(rf"^(`{{3,}}){kind}\n(.*?)^\1$", page, re.MULTILINE | re.DOTALL)[place][1]  # type: ignore[no-any-return]


def commands(page: str) -> list[tuple[list[str], int]]:
    """The commands of a page, and the exit code that it names."""
    lines = [line.partition(" # exits ") for line in block(page, "sh").splitlines()]
    return [(shlex.split(command), int(code or 0)) for command, _, code in lines]


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if name not in {*SETTINGS, "CI", "PYTEST_ADDOPTS"}}
    return subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=folder,
        env={**kept, "PYTHONPATH": IMPORT_PATH, "COLUMNS": "120"},
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "data" / "example", tmp_path / "data" / "example")
    return tmp_path


@pytest.mark.slow
def test_the_page_shows_what_the_gate_and_pytest_write(checkout: Path) -> None:
    for arguments, code in commands(GATE):
        done = run(checkout, *arguments)
        assert done.returncode == code, (arguments, done.stderr)
    assert (checkout / "gate.md").read_text(encoding="utf-8") == block(GATE, "markdown")
    (checkout / "test_search.py").write_text(block(GATE, "python"), encoding="utf-8")
    quick = [part for name in ("asyncio", "xdist", "langsmith", "hypothesispytest") for part in ("-p", f"no:{name}")]
    written = run(checkout, "pytest", *quick, "--goldbench-write-baselines", "-k", "before")
    assert "1 passed" in written.stdout, written.stdout
    done = run(checkout, "pytest", *quick)
    assert "1 failed, 1 passed" in done.stdout, done.stdout
    shown = [
        line.replace(str(checkout), "/home/me/search") for line in done.stdout.splitlines() if line[:2] in {"> ", "E "}
    ]
    assert "\n".join(shown) + "\n" == block(GATE, "text")


def test_the_workflow_of_the_page_uses_the_action_as_it_is() -> None:
    workflow = yaml.safe_load(block(GATE, "yaml"))
    (job,) = workflow["jobs"].values()
    (step,) = (one for one in job["steps"] if one["uses"].endswith("/.github/actions/gate@REF"))
    assert set(step["with"]) <= set(ACTION["inputs"])
    assert {name for name, one in ACTION["inputs"].items() if one.get("required")} <= set(step["with"])
    assert workflow["permissions"]["pull-requests"] == "write"


class Recorder:
    """A server that keeps what is posted to it."""

    def __init__(self) -> None:
        self.posts: list[tuple[str, bytes]] = []
        recorder = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                recorder.posts.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
                reply = b"" if "otel" in self.path else b'{"id": "x"}'
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(reply)))
                self.end_headers()
                self.wfile.write(reply)

            def log_message(self, *_: object) -> None:
                """Print nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def posted_to(self, path: str) -> str:
        """Return what was posted to a path, as one text."""
        return "\n".join(body.decode(errors="replace") for posted, body in self.posts if posted == path)


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    recorder = Recorder()
    thread = threading.Thread(target=recorder.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield recorder
    recorder.server.shutdown()
    thread.join()
    recorder.server.server_close()


def paste(number: int, folder: Path, python: str | Path, **environment: str) -> None:
    """Run a recipe of the page on trackers with one interpreter."""
    settings = ("MLFLOW_", "WANDB_", "LANGFUSE_", "OTEL_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(settings)}
    done = subprocess.run(
        [python, "-c", block(TRACK, "python", number)],
        cwd=folder,
        env={**kept, "PYTHONPATH": IMPORT_PATH, "HOME": str(folder), **environment},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture
def scored(checkout: Path) -> Path:
    """A folder in which the commands of the page on trackers were run."""
    for arguments, code in commands(TRACK):
        done = run(checkout, *arguments)
        assert done.returncode == code, (arguments, done.stderr)
    return checkout


def test_the_recipe_for_a_chat_posts_the_alerts(scored: Path, recorder: Recorder) -> None:
    paste(3, scored, sys.executable, WEBHOOK_URL=f"{recorder.url}/hook")
    assert json.loads(recorder.posted_to("/hook"))["text"].startswith("bm25: r@10 0.")


@pytest.mark.slow
def test_the_recipes_for_trackers_log_the_scores_and_no_text(scored: Path, recorder: Recorder) -> None:
    python = python_of("evaluation")
    store = {"MLFLOW_TRACKING_URI": f"file:{scored / 'store'}", "MLFLOW_ALLOW_FILE_STORE": "true"}
    paste(0, scored, python, **store)
    assert {path.name for path in (scored / "store").rglob("*_at_10")} == {"ndcg_at_10", "r_at_10"}
    assert list((scored / "store").rglob("per_query.csv"))
    paste(1, scored, python, WANDB_MODE="offline")
    (run_file,) = scored.glob("wandb/offline-run-*/*.wandb")
    assert b"ndcg@10" in run_file.read_bytes()
    assert not list(scored.glob("wandb/offline-run-*/files/requirements.txt"))
    keys = {"LANGFUSE_PUBLIC_KEY": "pk", "LANGFUSE_SECRET_KEY": "sk", "LANGFUSE_BASE_URL": recorder.url}
    paste(2, scored, python, **keys)
    posted = recorder.posted_to("/api/public/scores")
    assert '"ndcg@10"' in posted
    assert '"r@10"' in posted
    query = next(
        iter(json.loads((scored / "sets/manual/dataset.json").read_text(encoding="utf-8"))["queries"].values())
    )
    written = [
        path.read_bytes() for folder in ("store", "wandb") for path in (scored / folder).rglob("*") if path.is_file()
    ]
    assert not [content for content in (*written, posted.encode()) if query.encode() in content]
