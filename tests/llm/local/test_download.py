"""Downloads of models, from a server on loopback that plays the Hugging Face Hub."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.conftest import IMPORT_PATH, Goldbench, needs

MODEL = b"GGUF" + bytes(range(256)) * 94_000  # the client of the Hub keeps what came in pieces of 10 MiB
REPOSITORY, FILE = "Qwen/Qwen2.5-0.5B-Instruct-GGUF", "qwen2.5-0.5b-instruct-q4_k_m.gguf"
PLACE = f"{REPOSITORY}/{FILE}"
TOKEN = "hf_of_the_tests"


@dataclass
class Hub:
    """A Hub with one file; what it gives can be cut short or altered."""

    url: str = ""
    announces: bytes = MODEL
    sends: bytes = MODEL
    pieces: list[int] = field(default_factory=list)
    """How many bytes the next responses bring before the connection ends; whole files after those."""
    asked: list[tuple[str, str, str]] = field(default_factory=list)
    """Method and path, range, and authorization of each request."""
    has_ranges: bool = True


def _handler(hub: Hub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def _note(self) -> None:
            said = self.headers
            hub.asked.append((f"{self.command} {self.path}", said.get("Range", ""), said.get("Authorization", "")))

        def do_HEAD(self) -> None:
            self._note()
            if self.path != f"/{REPOSITORY}/resolve/main/{FILE}":
                self.send_error(404)
                return
            self.send_response(302)
            self.send_header("Location", f"{hub.url.replace('127.0.0.1', 'localhost')}/cdn/file")
            self.send_header("X-Repo-Commit", "c0ffee" * 6 + "c0ff")
            self.send_header("X-Linked-Etag", f'"{hashlib.sha256(hub.announces).hexdigest()}"')
            self.send_header("X-Linked-Size", str(len(MODEL)))
            self.send_header("Content-Length", "0")
            self.end_headers()

        def do_GET(self) -> None:
            self._note()
            if self.path != "/cdn/file":  # the Hub's client asks for more than the file
                self.send_error(404)
                return
            wanted = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
            begin = int(wanted[1]) if wanted and hub.has_ranges else 0
            body = hub.sends[begin:]
            self.send_response(206 if begin else 200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[: hub.pieces.pop(0)] if hub.pieces else body)
            self.close_connection = True

        def log_message(self, *_: object) -> None:
            pass

    return Handler


@pytest.fixture
def hub() -> Iterator[Hub]:
    needs("huggingface_hub")
    made = Hub()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(made))
    made.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield made
    server.shutdown()
    thread.join()
    server.server_close()


LISTED = f"""
import dataclasses
from goldbench.llm import catalogue
models = {{one.name: one for one in catalogue.CATALOGUE}}
models["qwen2.5-0.5b"] = dataclasses.replace(models["qwen2.5-0.5b"], sha256="{hashlib.sha256(MODEL).hexdigest()}")
catalogue.CATALOGUE = tuple(models.values())
from goldbench.__main__ import main
main()
"""


@pytest.fixture
def goldbench(tmp_path: Path) -> Goldbench:
    """Run the command with a catalogue that lists the digest of the tests' file for one model."""

    def run(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", LISTED, *map(str, arguments)]
        whole = {**os.environ, "PYTHONPATH": IMPORT_PATH, "COLUMNS": "200", **environment}
        return subprocess.run(
            command, cwd=tmp_path, env=whole, capture_output=True, text=True, timeout=100, check=False
        )

    return run


def at(hub: Hub, tmp_path: Path, **changes: str) -> dict[str, str]:
    return {
        "HF_ENDPOINT": hub.url, "HF_HOME": str(tmp_path / "hf"), "HF_HUB_OFFLINE": "0", "HF_TOKEN": TOKEN, **changes,
    }  # fmt: skip


def ranges(hub: Hub) -> list[str]:
    return [asked for request, asked, _ in hub.asked if request.startswith("GET /cdn")]


def files(tmp_path: Path) -> list[Path]:
    return [path for path in (tmp_path / "hf").rglob("*") if path.is_file() and path.stat().st_size > 1000]


def test_a_download_goes_on_where_a_connection_ended_and_the_model_has_its_name(
    hub: Hub, goldbench: Goldbench, tmp_path: Path
) -> None:
    hub.pieces = [11_000_000, 11_000_000]
    done = goldbench("models", "pull", "qwen2.5-0.5b", **at(hub, tmp_path))
    assert done.returncode == 0, done.stderr
    path, advice = done.stdout.splitlines()
    assert Path(path).read_bytes() == MODEL
    assert Path(path).name == FILE
    assert advice == "Use it with --model qwen2.5-0.5b"
    assert ranges(hub) == ["", f"bytes={10 * 2**20}-", f"bytes={20 * 2**20}-"]
    assert {key for request, _, key in hub.asked if "cdn" in request} == {""}, "the token is for the Hub alone"
    again = goldbench("models", "pull", "qwen2.5-0.5b", **at(hub, tmp_path))
    assert (again.stdout, len(ranges(hub))) == (done.stdout, 3)
    listed = goldbench("models", **at(hub, tmp_path)).stdout.splitlines()
    assert [line.split()[0] for line in listed if "downloaded" in line] == ["qwen2.5-0.5b"]


def test_a_file_with_another_digest_is_refused_and_deleted(hub: Hub, goldbench: Goldbench, tmp_path: Path) -> None:
    hub.sends = MODEL[:-1] + b"x"
    done = goldbench("models", "pull", "qwen2.5-0.5b", **at(hub, tmp_path))
    assert done.returncode == 2
    listed, came = (hashlib.sha256(content).hexdigest()[:12] for content in (MODEL, hub.sends))
    assert done.stderr.splitlines()[-1] == (
        f"goldbench: {PLACE}: the download is damaged: its SHA-256 begins with {came}, the catalogue's with {listed}; "
        "it was deleted: run the same command again"
    )
    assert files(tmp_path) == []


def test_a_file_that_is_not_the_one_of_the_catalogue_is_not_downloaded(
    hub: Hub, goldbench: Goldbench, tmp_path: Path
) -> None:
    hub.announces = hub.sends = MODEL[:-1] + b"x"
    done = goldbench("models", "pull", "qwen2.5-0.5b", **at(hub, tmp_path))
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"goldbench: {PLACE}: ")
    assert (ranges(hub), files(tmp_path)) == ([], [])


@pytest.mark.slow
def test_what_cannot_be_downloaded_ends_in_one_line(hub: Hub, goldbench: Goldbench, tmp_path: Path) -> None:
    refusal = "the Hub does not give the file ({}); check the network, HF_ENDPOINT and HF_HUB_OFFLINE; "
    refusal += "the part that came is kept: run the same command again to go on"
    for name, changes, problem in (
        ("qwen3-4b", {}, "unsloth/Qwen3-4B-Instruct-2507-GGUF/Qwen3-4B-Instruct-2507-Q4_K_M.gguf: " + refusal),
        ("qwen2.5-0.5b", {"HF_ENDPOINT": "http://127.0.0.1:9"}, f"{PLACE}: {refusal}"),
        ("qwen2.5-0.5b", {"HF_HUB_OFFLINE": "1"}, f"{PLACE}: {refusal}"),
        ("gpt-9", {}, "not a model of the catalogue: gpt-9; give one of local, qwen2.5-0.5b, qwen2.5-1.5b, "),
    ):
        done = goldbench("models", "pull", name, **at(hub, tmp_path, **changes))
        assert done.returncode == 2
        (said,) = done.stderr.splitlines()
        begin, _, end = problem.partition("{}")
        assert said.startswith(f"goldbench: {begin}"), said
        assert said.endswith(end) or not end, said
    assert ranges(hub) == []


@pytest.mark.slow
def test_a_model_that_is_not_downloaded_is_named_with_the_command(goldbench: Goldbench, tmp_path: Path) -> None:
    needs("huggingface_hub")
    (tmp_path / "a.md").write_text("A valve.\n", encoding="utf-8")
    empty = {"HF_HOME": str(tmp_path / "hf"), **({"HOME": os.environ["HOME"]} if "HOME" in os.environ else {})}
    done = goldbench("build", "a.md", "--out", "run", "--model", "qwen3-4b", **empty)
    assert done.returncode == 2
    assert done.stderr == "goldbench: --model qwen3-4b: not downloaded: run goldbench models pull qwen3-4b (2,497 MB)\n"
