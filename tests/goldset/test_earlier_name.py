"""Files from when the project was called goldset: every command reads them, nothing is lost, only names change.

``earlier_files.zip`` was written by the last commit of that name (with the model server of the tests and two people):
a graded set with card, experiment, run and ledger of a review (``run``), the same set with the review applied
(``applied``) and on another chunking (``rechunked``), its documents, settings and store of answers, a scorecard, a
baseline, a history, the agreement of labels, and the review exported as native, CSV, Argilla and Label Studio files.
"""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest

from goldbench.pipeline.goldset.folder import GoldFolder
from goldbench.pipeline.goldset.integrity import validate
from goldbench.schemas.agreement_report import Agreement
from goldbench.schemas.earlier_name import EARLIER_NAME, by_either_name, with_present_name
from goldbench.schemas.manifest import Manifest
from goldbench.schemas.scorecard import Baseline, Scorecard
from goldbench.schemas.set_card import Card
from tests.conftest import Goldbench
from tests.model_server.fixture import ServerHandle

ZIP = Path(__file__).parent / "earlier_files.zip"
CHECKS_SINCE = 6
"""Judge checks that a grading asks today beside those of before."""


@pytest.fixture
def earlier(tmp_path: Path) -> Path:
    with zipfile.ZipFile(ZIP) as archive:
        archive.extractall(tmp_path)
    return tmp_path


@pytest.fixture
def goldbench(goldbench_inside: Goldbench) -> Goldbench:
    def run(*arguments: object, **environment: str) -> Any:
        done = goldbench_inside(*arguments, **environment)
        assert done.returncode == 0, (arguments, done.stdout, done.stderr)
        return done

    return run


NEW_FILES = {"beir/README.md", "beir/qrels/test.jsonl", "3-versions.jsonl", "changelog.md"}


@pytest.fixture
def server(model_server: ServerHandle) -> tuple[str, ...]:
    """A judge that knows the evidence of the old set's queries and no other text."""
    known = [json.loads(line) for line in original("run/3-queries.jsonl").splitlines()]
    model_server.script(judge={"truth": {one["text"]: {item["quote"]: 3 for item in one["evidence"]} for one in known}})
    return ("--base-url", model_server.base_url, "--model", "m")


def original(name: str) -> bytes:
    with zipfile.ZipFile(ZIP) as archive:
        return archive.read(name)


def renamed(old: bytes) -> bytes:
    return old.replace(b'"goldset', b'"goldbench').replace(b'\\"goldset', b'\\"goldbench')


def comparable(name: str, content: bytes) -> bytes:
    """Return a file without the ranks that LSI gave: where all cosines are almost 0, they depend on the processor.

    Nor with the reference answers, versions and people's random sample by grade, which sets from before did not have,
    and judge checks, which were fewer.
    """
    if name == "dataset.json":
        unversioned = re.sub(rb'("content_sha256": "\w+", )|(, "version": "1\.0\.0")', b"", content)
        unsampled = re.sub(rb', "random_sample": \{.*?\}', b"", unversioned)
        return re.sub(rb'"answers": \{\n.*?\n\},\n', b"", unsampled, flags=re.DOTALL)
    if name == "beir/queries.jsonl":
        return re.sub(rb', "answer": \{"text".*?\]\}', b"", content)
    if name == "4-judgments.jsonl":
        return b"".join(line for line in content.splitlines(keepends=True) if b'"canary"' not in line)
    return re.sub(rb'"lsi":\d+', b'"lsi"', content) if name == "4-pool.jsonl" else content


def with_present_ids(new: Path, old: bytes) -> bytes:
    """Return an earlier file with the ids that passages have today, which no longer name their places."""
    for chunk in GoldFolder(new).chunks.read():
        place = f"{chunk.span.doc_id}:{chunk.span.start}-{chunk.span.end}"
        old = re.sub(rf"{re.escape(place)}(?!\d)".encode(), chunk.chunk_id.encode(), old)
    return old


def in_any_order(name: str, content: bytes) -> object:
    """Return the contents of a file without the order of its lines, and of the passages of a query."""
    if name != "dataset.json":
        return sorted(content.splitlines())
    read = json.loads(content)
    return {**read, "relevant_docs": {one: sorted(found) for one, found in read["relevant_docs"].items()}}


def check_same_set(old: str, new: Path) -> None:
    """Check that a set is the earlier one, byte for byte but for the name, and has today's files beside.

    The order of passages with one grade, which their ids decide, is left aside.
    """
    before = Manifest.model_validate_json(original(f"{old}/manifest.json"))
    after = GoldFolder(new).manifest()
    assert after.files.keys() - before.files.keys() == NEW_FILES
    assert before.files.keys() <= after.files.keys()
    for name in before.files:
        was = with_present_ids(new, renamed(original(f"{old}/{name}")))
        pair = [in_any_order(name, comparable(name, content)) for content in ((new / name).read_bytes(), was)]
        assert pair[0] == pair[1], name
    changing = {"created", "seconds", "files", "goldbench", "usage", "packages", "generators", "versions"}
    assert before.packages.keys() == after.packages.keys()
    told = [one.model_dump(exclude=changing) for one in (before, after)]
    for one in told:
        for name in ("canaries", "canary_findings", "guardrails"):
            one["grading"].pop(name, None)
    assert told[0] == told[1]
    assert "goldset" not in (new / "manifest.json").read_text(encoding="utf-8")
    assert validate(new).problems == ()


def test_sets_are_valid_and_scored_gated_watched_and_compared_as_before(earlier: Path, goldbench: Goldbench) -> None:
    for name in ("run", "applied", "rechunked"):
        assert "every reference and span holds" in goldbench("validate", name).stdout
    run = ("run", "--run", "bm25=run/runs/bm25.trec")
    goldbench("score", *run, "--html", "page.html")
    card = json.loads((earlier / "scorecard.json").read_bytes())
    assert [card["gold"].pop(name) for name in ("version", "content_sha256")] == [None, None]
    verdict, before = card.pop("verdict"), json.loads(renamed(original("scorecard.json")))
    assert verdict["level"] == "smoke"
    for one in (card, before):  # the interval of so few queries is wider today
        del one["systems"][0]["scores"]["ndcg@10"]["low"], one["systems"][0]["scores"]["ndcg@10"]["high"]
    assert card == before
    assert "passed" in goldbench("gate", "run", "--run", "run/runs/bm25.trec", "--baseline", "baseline.json").stdout
    goldbench("monitor", *run, "--history", "history.jsonl")
    entries = (earlier / "history.jsonl").read_bytes().splitlines(keepends=True)
    assert entries[:-1] == [original("history.jsonl")]
    assert json.loads(entries[-1])["goldbench"]
    assert "2 entries" in goldbench("monitor", "plot", "history.jsonl").stdout
    goldbench("score", *run, "--calibrated")


def test_records_are_read_under_the_earlier_name_and_written_under_the_present_one() -> None:
    kinds = {"baseline.json": Baseline, "scorecard.json": Scorecard, "agreement.json": Agreement, "run/card.json": Card}
    for name, kind in kinds.items():
        record = kind.model_validate_json(original(name))
        assert record.goldbench == "0.1.0"
        assert EARLIER_NAME not in json.loads(record.model_dump_json())
    assert by_either_name({"goldset": 1, "goldbench": 2}) == 2
    assert list(with_present_name({"a": 1, "goldset": 2, "b": 3}).items()) == [("a", 1), ("goldbench", 2), ("b", 3)]


@pytest.mark.slow
def test_a_card_is_written_anew_in_place_of_the_earlier_one(earlier: Path, goldbench: Goldbench) -> None:
    goldbench("card", "run")
    before, after = json.loads(original("run/card.json")), json.loads((earlier / "run/card.json").read_text("utf-8"))
    assert {figure["name"] for figure in before["figures"]} <= {figure["name"] for figure in after["figures"]}
    for name in ("card.json", "card.md"):
        assert "goldset" not in (earlier / "run" / name).read_text(encoding="utf-8")


def test_runs_of_an_experiment_are_not_searched_again(
    earlier: Path, goldbench: Goldbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("goldbench.pipeline.bench.fingerprints.version", lambda _: "0.1.0")
    assert "Cached: words" in goldbench("bench", "run", "-c", "bench.toml").stderr
    assert (earlier / "run/bench/runs/words.trec").read_bytes() == original("run/bench/runs/words.trec")


def test_grading_again_from_the_store_gives_the_same_set_and_a_build_draws_anew(
    earlier: Path, goldbench: Goldbench, server: tuple[str, ...], model_server: ServerHandle
) -> None:
    goldbench("grade", "run", *server)
    assert model_server.stats()["requests"] == CHECKS_SINCE
    check_same_set("run", earlier / "run")
    (earlier / "untitled.toml").write_bytes((earlier / "goldset.toml").read_bytes() + b'[corpus]\ntitle = "none"\n')
    goldbench("topup", "run", "--run", "more=other.trec", *server)
    assert validate(earlier / "run").problems == ()
    goldbench("build", "docs", "--out", "anew", "--config", "untitled.toml", *server)
    assert validate(earlier / "anew").problems == ()


def test_cutting_again_gives_the_same_set(earlier: Path, goldbench: Goldbench) -> None:
    goldbench("rechunk", "run", "--chunk-size", "150", "--out", "again")
    check_same_set("rechunked", earlier / "again")
    goldbench("rechunk", "rechunked", "--chunk-size", "1000", "--out", "back")
    assert (earlier / "back/trec/topics.tsv").read_bytes() == original("run/trec/topics.tsv")


def test_a_folder_of_before_is_not_overwritten_by_other_settings(
    earlier: Path, goldbench_inside: Goldbench, goldbench: Goldbench
) -> None:
    refused = goldbench_inside("build", "docs", "--out", "run", "--queries", 3)
    assert refused.returncode == 2
    assert "other settings" in refused.stderr
    assert (earlier / "run/manifest.json").read_bytes() == original("run/manifest.json")
    shutil.copytree(earlier / "rechunked", earlier / "docs" / "an earlier run")
    assert "5 in " in goldbench("build", "docs", "--out", "new", "--queries", 3).stderr  # its files are no documents


def test_a_review_goes_on_is_exported_and_applied_as_before(earlier: Path, goldbench: Goldbench) -> None:
    goldbench("review", "report", "run")
    goldbench("review", "export", "run", "--format", "csv", "--out", "new-people.csv")
    assert (earlier / "new-people.csv").read_bytes() == renamed(original("people.csv"))
    goldbench("review", "export", "run", "--format", "native", "--out", "new-native.jsonl")
    head, *lines = (earlier / "new-native.jsonl").read_bytes().splitlines()
    head_before, *events_before = renamed(original("native.jsonl")).splitlines()
    assert json.loads(head) == {**json.loads(head_before), "version": 2}
    assert [line for line in lines if not line.startswith(b'{"texts"')] == events_before
    for form in ("argilla", "label-studio"):
        goldbench("review", "export", "run", "--format", form, "--out", f"new-{form}")
        for path in (earlier / f"new-{form}").iterdir():
            assert path.read_bytes() == renamed(original(f"{form}/{path.name}")), path
    goldbench("review", "apply", "applied", "--ledger", "run/review.sqlite")
    check_same_set("applied", earlier / "applied")
    goldbench("review", "apply", "run", "--out", "elsewhere")
    check_same_set("applied", earlier / "elsewhere")


@pytest.mark.parametrize(
    ("form", "file"),
    [
        ("native", "native.jsonl"),
        ("csv", "people.csv"),
        ("argilla", "argilla/records.jsonl"),
        ("label-studio", "label-studio/tasks.json"),
    ],
)
def test_exported_judgments_of_before_are_imported(earlier: Path, goldbench: Goldbench, form: str, file: str) -> None:
    (earlier / "run/review.sqlite").unlink()
    read, new = (
        int(word)
        for word in goldbench("review", "import", "run", file, "--format", form).stdout.split()
        if word.isdigit()
    )
    assert read == new > 12
    again = goldbench("review", "import", "run", file, "--format", form).stdout
    assert "0 new" in again
    goldbench("review", "export", "run", "--format", "csv", "--out", "again.csv")
    columns = [line.split(",")[:4] for line in original("people.csv").decode().splitlines()]
    assert [line.split(",")[:4] for line in (earlier / "again.csv").read_text("utf-8").splitlines()] == columns


def test_answers_of_before_are_listed_and_moved(
    earlier: Path, goldbench: Goldbench, server: tuple[str, ...], model_server: ServerHandle
) -> None:
    assert "replies" in goldbench("answers", "stats", "answers.sqlite").stdout
    goldbench("answers", "export", "answers.sqlite", "answers.jsonl")
    goldbench("answers", "import", "copy.sqlite", "answers.jsonl")
    goldbench("grade", "run", *server, "--answers", "copy.sqlite")
    assert model_server.stats()["requests"] == CHECKS_SINCE
    check_same_set("run", earlier / "run")
