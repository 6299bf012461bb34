"""People's decisions after their set was built again from edited documents, graded, or lost: nothing is stranded."""

from __future__ import annotations

import json
import random
import sqlite3
from pathlib import Path

import pytest

from tests.conftest import Goldbench
from tests.grade.graded_sets import write_set
from tests.model_server.fixture import ServerHandle

WORDS = "pump valve rotor gasket boiler turbine sensor filter nozzle piston bearing flange coupling manifold".split()  # noqa: SIM905


def write_documents(folder: Path, count: int) -> Path:
    folder.mkdir()
    rng = random.Random(3)
    for number in range(count):
        parts = []
        for part in range(6):
            one, other = rng.sample(WORDS, 2)
            parts.append(
                f"The {one} of station {number}-{part} was installed in {rng.randint(1900, 1999)} by the {other} team "
                f"of district {rng.randint(1, 99)}. It weighs {rng.randint(10, 999)} kilograms. Engineers found "
                f"that the {other} must be cleaned with warm water before the {one} is started again in winter."
            )
        (folder / f"s{number:02}.txt").write_text(f"Report of station {number}.\n\n" + "\n\n".join(parts) + "\n")
    return folder


def judge(gold: Path, goldbench: Goldbench, extra: int) -> int:
    """Judge one relevant passage of every query, and ``extra`` others as not relevant; return how many judgments."""
    found = json.loads((gold / "dataset.json").read_text())
    rows = [f"{query_id},{chunks[0]},anna,3" for query_id, chunks in found["relevant_docs"].items()]
    for query_id in list(found["queries"])[:extra]:
        other = next(one for one in found["corpus"] if one not in found["relevant_docs"][query_id])
        rows.append(f"{query_id},{other},anna,0")
    (gold.parent / "people.csv").write_text("query_id,chunk_id,annotator,grade\n" + "\n".join(rows) + "\n")
    done = goldbench("review", "import", gold.name, "people.csv", "--format", "csv")
    assert done.returncode == 0, done.stderr
    return len(rows)


def events(gold: Path) -> int:
    with sqlite3.connect(gold / "review.sqlite") as database:
        return int(database.execute("SELECT count(*) FROM goldbench_event").fetchone()[0])


def report(goldbench: Goldbench) -> dict[str, object]:
    done = goldbench("review", "report", "run", "--format", "json")
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def test_what_no_longer_applies_is_listed_and_a_lost_set_is_no_lost_ledger(
    goldbench_inside: Goldbench, tmp_path: Path
) -> None:
    docs = write_documents(tmp_path / "docs", 4)
    build = ("build", "docs", "--out", "run", "--queries", 4, "--generator", "simulated")
    assert goldbench_inside(*build).returncode == 0
    count = judge(tmp_path / "run", goldbench_inside, 0)
    assert goldbench_inside("review", "apply", "run").returncode == 0
    (docs / "s00.txt").write_text("Nothing of what stood here is left.\n" + "Other words follow now. " * 30)
    done = goldbench_inside(*build)
    assert done.returncode == 0
    assert "No longer applies: 1 decision of people; goldbench review report lists them" in done.stderr
    shown = goldbench_inside("review", "report", "run")
    assert "No longer applies: 1 decision" in shown.stdout
    assert "anna, judge 3: " in shown.stdout
    assert "No longer applies: 1 decision" in goldbench_inside("review", "apply", "run").stderr
    (tmp_path / "run" / "dataset.json").write_text("{")
    done = goldbench_inside("review", "export", "run", "--out", "all.jsonl")
    assert done.returncode == 0, done.stderr
    assert "the ledger is exported without its set" in done.stderr
    lines = [json.loads(line) for line in (tmp_path / "all.jsonl").read_text().splitlines()]
    assert sum("client_id" in line for line in lines) == count
    assert sum("query_id" in line.get("texts", {}) for line in lines) == count


@pytest.mark.slow
def test_a_reviewed_set_is_graded_again_with_what_people_decided(
    goldbench_inside: Goldbench, tmp_path: Path, model_server: ServerHandle
) -> None:
    known = write_set(tmp_path / "run", subjects=8)
    model_server.script(judge={"truth": known.truth})
    model = ("--base-url", model_server.base_url, "--model", "m")
    assert goldbench_inside("grade", "run", *model, "--force").returncode == 0
    count = judge(tmp_path / "run", goldbench_inside, 3)
    assert count > 5
    assert goldbench_inside("review", "apply", "run").returncode == 0
    before = json.loads((tmp_path / "run" / "dataset.json").read_text())
    done = goldbench_inside("grade", "run", *model, "--force")
    assert done.returncode == 0, done.stderr
    after = json.loads((tmp_path / "run" / "dataset.json").read_text())
    assert after["relevance_scores"] == before["relevance_scores"]
    assert after["metadata"]["review"]["judgments"]["people"] == count
    assert goldbench_inside("validate", "run").returncode == 0
    assert events(tmp_path / "run") == count
