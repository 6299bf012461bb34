"""``goldbench score --to``: each tracker's own client keeps the figures, and no text that nobody asked for."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from goldbench.pipeline.cli import tracker_options
from goldbench.pipeline.cli.tracker_options import log
from goldbench.pipeline.errors import OutputError
from goldbench.pipeline.measures.names import parse_measure
from goldbench.pipeline.score.runs import load_gold, load_run, score_run
from goldbench.pipeline.score.trackers.logged_scores import Logged, logged, logging_to, refusal
from tests.conftest import ROOT, SETTINGS, Goldbench, python_of

MEASURES = ("--measure", "ndcg@10,recall@5")
SECRET, ASKED = "the secret passage about valves", "which query text is asked for"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A set of 12 queries, and a run that finds every second passage."""
    (tmp_path / "set").mkdir()
    gold = {
        "queries": {f"q{n}": f"{ASKED} {n}?" for n in range(12)},
        "corpus": {f"d{n}": f"{SECRET} {n}" for n in range(12)},
        "relevant_docs": {f"q{n}": [f"d{n}"] for n in range(12)},
        "metadata": {"evidence_level": "human"},
    }
    (tmp_path / "set" / "dataset.json").write_text(json.dumps(gold), encoding="utf-8")
    lines = (f"q{n} Q0 {f'd{n}' if n % 2 else 'd0'} 1 1.0 x\n" for n in range(12))
    (tmp_path / "bm25.trec").write_text("".join(lines), encoding="utf-8")
    return tmp_path


def test_figures_facts_and_table_are_logged_and_no_text(files: Path) -> None:
    gold, run = load_gold(files / "set"), load_run(files / "bm25.trec")
    result = score_run(gold, run, [parse_measure("ndcg@10"), parse_measure("map")])
    found = logged(gold, "bm25", run, result, texts=False)
    assert list(found.figures) == ["ndcg@10", "ndcg@10.low", "ndcg@10.high", "map", "map.low", "map.high"]
    assert found.figures["ndcg@10"] == pytest.approx(7 / 12)
    assert found.figures["ndcg@10.low"] < found.figures["ndcg@10"] < found.figures["ndcg@10.high"]
    assert found.facts["run_file"] == "bm25.trec"
    assert (found.facts["k"], found.facts["queries"], found.facts["evidence_level"]) == ("10", "12", "human")
    assert found.table.splitlines()[:2] == ["query_id,ndcg@10,map", "q0,1.0,1.0"]
    assert ASKED not in found.table
    assert f"{ASKED} 3?" in logged(gold, "bm25", run, result, texts=True).table


def test_a_failure_shows_no_password_of_the_trackers_address() -> None:
    said = (
        f"request to http://anna:se@cret@host:5000/api failed\nwith a\tdatabase postgresql://bob:hidden@db/x{'y' * 500}"
    )
    told = str(refusal("mlflow", "bm25", said))
    assert told.startswith("--to mlflow: bm25 cannot be logged (request to http://host:5000/api failed with a database")
    assert "postgresql://db/x" in told
    assert len(told) < 400
    assert not [word for word in ("anna", "cret", "bob", "hidden") if word in told]


def test_what_a_tracker_prints_is_a_note_without_a_password(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    class Chatty:
        def log(self, one: Logged) -> str:
            print(f"View run {one.system} at: http://anna:secret@host/run\x1b[2J")
            return "run 7"

    gold, run = load_gold(files / "set"), load_run(files / "bm25.trec")
    result = score_run(gold, run, [parse_measure("ndcg@10")])
    log(Chatty(), gold, {"bm25": run}, {"bm25": result}, texts=False)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "View run bm25 at: http://host/run\N{REPLACEMENT CHARACTER}[2J",
        "Logged: bm25 as run 7",
    ]


def test_texts_without_a_tracker_are_refused(goldbench_inside: Goldbench, files: Path) -> None:
    done = goldbench_inside("score", "set", "--run", "bm25.trec", "--log-texts")
    assert (done.returncode, done.stderr) == (
        2,
        "goldbench: --log-texts: needs --to, which says where scores are logged\n",
    )


@pytest.mark.parametrize(
    ("raised", "told"),
    [
        (OSError("GET http://me:pass%40word@host:5000/api failed"), "GET http://host:5000/api failed"),
        (KeyError("no member"), "'no member'"),
        (ValueError("Illegal header value b'Bearer a-secret-key'"), "Illegal header value b'Bearer ***'"),
        (RuntimeError(), "RuntimeError"),
        (RuntimeError("two\nlines"), "two lines"),
    ],
)
def test_why_a_client_fails_is_one_line_without_keys(
    monkeypatch: pytest.MonkeyPatch, raised: Exception, told: str
) -> None:
    monkeypatch.setenv("WANDB_API_KEY", "a-secret-key")
    monkeypatch.setenv("LANGFUSE_PUBLIC_KEY", "pk")  # too short to be looked for in every word
    with pytest.raises(OutputError) as failed, logging_to("mlflow", "bm25"):
        raise raised
    assert str(failed.value) == f"--to mlflow: bm25 cannot be logged ({told})"


def test_what_a_client_prints_goes_beside_the_scores_without_keys(
    goldbench_inside: Goldbench, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Talking:
        def log(self, one: Logged) -> str:
            print(f"View run {one.system} at: http://me:pass@host:5000/#/runs/1")
            return "run 1"

    monkeypatch.setattr(tracker_options, "tracker_of", lambda _: Talking())
    done = goldbench_inside("score", "set", "--run", "bm25.trec", "--to", "mlflow")
    assert (done.returncode, "View run" in done.stdout) == (0, False)
    assert "View run bm25 at: http://host:5000/#/runs/1\n" in done.stderr
    assert "pass" not in done.stderr


def python(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run Python with every tracker, without settings of this machine."""
    apart = ("MLFLOW_", "WANDB_", "LANGFUSE_", "OTEL_")
    kept = {name: one for name, one in os.environ.items() if name not in SETTINGS and not name.startswith(apart)}
    return subprocess.run(
        [python_of("evaluation"), *arguments],
        cwd=folder,
        env={**kept, "PYTHONPATH": str(ROOT), "HOME": str(folder), "COLUMNS": "200", **environment},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def score(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = ("-m", "goldbench", "score", "set", "--run", "bm25.trec", *MEASURES, "--format", "json", *arguments)
    return python(folder, *command, **environment)


def everything(folder: Path) -> bytes:
    """All bytes that a tracker wrote below a folder."""
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


READ_MLFLOW = """
import json, mlflow
(run,) = mlflow.MlflowClient().search_runs(["0"])
table = mlflow.artifacts.load_text(run.info.artifact_uri + "/per_query.csv")
print(json.dumps([run.info.run_name, run.data.metrics, run.data.params, table, run.info.status]))
"""


@pytest.mark.slow
def test_mlflow_holds_a_run_with_metrics_parameters_and_the_table(files: Path) -> None:
    store = {"MLFLOW_TRACKING_URI": f"file:{files / 'store'}", "MLFLOW_ALLOW_FILE_STORE": "true"}
    done = score(files, "--to", "mlflow", **store)
    assert done.returncode == 0, done.stderr
    means = json.loads(done.stdout)["runs"]["bm25"]["means"]
    assert "Logged: bm25 as MLflow run " in done.stderr
    name, metrics, params, table, status = json.loads(python(files, "-c", READ_MLFLOW, **store).stdout)
    assert (name, status, params["system"], params["run_file"]) == ("bm25", "FINISHED", "bm25", "bm25.trec")
    assert (metrics["ndcg_at_10"], metrics["r_at_5"]) == (means["ndcg@10"], means["r@5"])
    assert metrics["ndcg_at_10.low"] < metrics["ndcg_at_10"] < metrics["ndcg_at_10.high"]
    assert len(list(csv.DictReader(io.StringIO(table)))) == 12
    assert SECRET.encode() not in everything(files / "store")
    assert ASKED.encode() not in everything(files / "store")


READ_WANDB = """
import json, pathlib, sys
from wandb.proto import wandb_internal_pb2 as pb
data, place, found = pathlib.Path(sys.argv[1]).read_bytes(), 7, {}
assert len(data) < 2**15  # a longer one has blocks
while place + 7 <= len(data):  # checksum, length, kind, record
    size = int.from_bytes(data[place + 4 : place + 6], "little")
    record = pb.Record.FromString(data[place + 7 : place + 7 + size])
    place += 7 + size
    for item in record.summary.update:
        found[item.key or ".".join(item.nested_key)] = json.loads(item.value_json)
    for item in record.run.config.update:
        found["config " + item.key] = json.loads(item.value_json)
    if record.run.display_name:
        found["name"], found["git"] = record.run.display_name, record.run.git.remote_url
    for artifact in (record.artifact, record.request.log_artifact.artifact):
        for entry in artifact.manifest.contents:
            found["artifact " + entry.path] = entry.size
print(json.dumps(found))
"""


@pytest.mark.slow
def test_wandb_holds_a_run_with_summary_configuration_and_the_table(files: Path) -> None:
    done = score(files, "--to", "wandb", "--log-texts", WANDB_MODE="offline")
    assert done.returncode == 0, done.stderr
    means = json.loads(done.stdout)["runs"]["bm25"]["means"]
    assert "Logged: bm25 as Weights & Biases run " in done.stderr
    (store,) = files.glob("wandb/offline-run-*/*.wandb")
    read = python(files, "-c", READ_WANDB, str(store))
    assert read.returncode == 0, read.stderr
    found = json.loads(read.stdout)
    assert (found["name"], found["git"]) == ("bm25", "")
    assert (found["ndcg@10"], found["r@5"]) == (means["ndcg@10"], means["r@5"])
    assert found["ndcg@10.low"] < found["ndcg@10"]
    assert found["config run_file"] == "bm25.trec"
    assert found["artifact per_query.csv"] > 12 * len(ASKED)
    assert SECRET.encode() not in everything(files / "wandb")


class Langfuse:
    """What a server of Langfuse was sent: path and body, unpacked."""

    def __init__(self, status: int) -> None:
        self.status, self.url = status, ""
        self.sent: list[tuple[str, bytes]] = []

    def scores(self) -> dict[str, Any]:
        bodies = [json.loads(body) for path, body in self.sent if path == "/api/public/scores"]
        return {one["name"]: one for body in bodies for one in (body if isinstance(body, list) else [body])}


@pytest.fixture
def langfuse(request: pytest.FixtureRequest) -> Iterator[Langfuse]:
    state = Langfuse(getattr(request, "param", 200))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            state.sent.append((self.path, gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body))
            told = b"" if "otel" in self.path else b'{"id": "x"}'
            self.send_response(state.status)
            self.send_header("Content-Type", "application/x-protobuf" if "otel" in self.path else "application/json")
            self.send_header("Content-Length", str(len(told)))
            self.end_headers()
            self.wfile.write(told)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    state.url = f"http://127.0.0.1:{server.server_address[1]}"
    yield state
    server.shutdown()
    server.server_close()


def keys(langfuse: Langfuse) -> dict[str, str]:
    return {"LANGFUSE_PUBLIC_KEY": "pk", "LANGFUSE_SECRET_KEY": "sk-secret", "LANGFUSE_BASE_URL": langfuse.url}


@pytest.mark.slow
def test_langfuse_is_sent_a_trace_with_the_table_and_a_score_per_figure(files: Path, langfuse: Langfuse) -> None:
    done = score(files, "--to", "langfuse", **keys(langfuse))
    assert done.returncode == 0, done.stderr
    means = json.loads(done.stdout)["runs"]["bm25"]["means"]
    trace = done.stderr.split("Logged: bm25 as Langfuse trace ")[1].split()[0]
    scores = langfuse.scores()
    assert {name: one["value"] for name, one in scores.items() if "." not in name} == means
    assert {"ndcg@10.low", "ndcg@10.high"} <= set(scores)
    assert {one["traceId"] for one in scores.values()} == {trace}
    spans = b"".join(body for path, body in langfuse.sent if "otel" in path)
    assert bytes.fromhex(trace) in spans
    assert b"goldbench score: bm25" in spans
    assert b"query_id,ndcg@10,r@5" in spans
    assert b"bm25.trec" in spans
    assert SECRET.encode() not in spans
    assert ASKED.encode() not in spans


@pytest.mark.slow
@pytest.mark.parametrize("langfuse", [401], indirect=True)
def test_what_cannot_be_logged_is_one_line_after_the_scores(files: Path, langfuse: Langfuse) -> None:
    done = score(files, "--to", "langfuse", **keys(langfuse))
    assert done.returncode == 2
    assert json.loads(done.stdout)["runs"]["bm25"]
    (line,) = (line for line in done.stderr.splitlines() if line.startswith("goldbench: "))
    assert line.startswith("goldbench: --to langfuse: bm25 cannot be logged (")
    assert "sk-secret" not in done.stderr
    without = score(files, "--to", "langfuse")
    assert (without.returncode, without.stdout) == (2, "")
    assert without.stderr.splitlines()[-1].startswith(
        "goldbench: --to langfuse: LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET"
    )
    off = score(files, "--to", "langfuse", **keys(langfuse), LANGFUSE_TRACING_ENABLED="False")
    assert (off.returncode, off.stdout, "the client sends nothing; unset it" in off.stderr) == (2, "", True)
    server = score(files, "--to", "mlflow", MLFLOW_TRACKING_URI=langfuse.url, MLFLOW_HTTP_REQUEST_MAX_RETRIES="0")
    assert server.returncode == 2
    assert "goldbench: --to mlflow: bm25 cannot be logged (" in server.stderr
