"""The card in a set's folder counts beside scores as long as the set is the same."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import goldbench
from goldbench.card import make_card, write_card
from goldbench.records.relevance import Relevance
from goldbench.records.review_event import EventKind
from goldbench.review.apply import apply_review
from goldbench.score.page_data import trust_in
from goldbench.score.runs import load_gold
from goldbench.score.set_makers import read_card
from tests.cli.sample_set import write_sample
from tests.conftest import Goldbench
from tests.review.made_set import event, ledger_of, make_set

RUNS = ("--run", "a=a.trec", "--run", "b=b.trec")
QUICK = ("--permutations", "100", "--resamples", "100")
STALE = "card.json was made for another state of this set; make it again: goldbench card"


@pytest.fixture(scope="module")
def carded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A simulated set with its card, and runs."""
    folder = tmp_path_factory.mktemp("carded")
    write_sample(folder)
    make(folder / "gold")
    return folder


@pytest.fixture
def files(carded: Path, tmp_path: Path) -> Path:
    shutil.copytree(carded, tmp_path, dirs_exist_ok=True)
    return tmp_path


def make(folder: Path) -> None:
    write_card(folder, make_card(folder))


def edit(folder: Path, **members: object) -> None:
    """Write some members of the data set anew."""
    file = folder / "dataset.json"
    file.write_text(json.dumps({**json.loads(file.read_text("utf-8")), **members}), encoding="utf-8")


def test_every_command_and_python_say_the_same_verdict(files: Path, goldbench_inside: Goldbench) -> None:
    scored = goldbench_inside("score", "gold", *RUNS, "--format", "json")
    assert scored.returncode == 0, scored.stderr
    verdict = json.loads(scored.stdout)["verdict"]
    assert verdict["level"] == "smoke"
    compared = goldbench_inside("compare", "gold", *RUNS, *QUICK, "--format", "json")
    assert json.loads(compared.stdout)["verdict"] == verdict
    gold, runs = goldbench.GoldSet.load(files / "gold"), {name: str(files / f"{name}.trec") for name in "ab"}
    several = gold.evaluate(runs, ["ndcg@10"])
    in_python = [
        several.verdict,
        several["a"].verdict,
        gold.compare(runs, ["ndcg@10"], permutations=100, resamples=100).verdict,
        goldbench.evaluate(files / "gold" / "dataset.json", runs["a"], ["ndcg@10"]).verdict,
    ]
    assert {one.sentence for one in in_python if one is not None} == {verdict["sentence"]}
    assert goldbench_inside("score", "gold", *RUNS, "--html", "page.html").returncode == 0
    assert verdict["sentence"] in (files / "page.html").read_text("utf-8")


def test_a_page_says_that_the_card_is_of_another_state(files: Path, goldbench_inside: Goldbench) -> None:
    relevant = json.loads((files / "gold" / "dataset.json").read_text("utf-8"))["relevance_scores"]
    edit(files / "gold", relevance_scores={**relevant, "q00": {**relevant["q00"], "lamp-0": 1}})
    assert goldbench_inside("score", "gold", *RUNS, "--html", "page.html").returncode == 0
    assert f"{STALE} gold" in (files / "page.html").read_text("utf-8")


def test_a_changed_text_is_another_state_though_the_judgments_are_the_same(tmp_path: Path) -> None:
    write_sample(tmp_path)
    gold = tmp_path / "gold"
    edit(gold, metadata={"evidence_level": "smoke", "content_sha256": "a" * 64})
    make(gold)
    assert trust_in(load_gold(gold)).card is not None
    edit(gold, metadata={"evidence_level": "smoke", "content_sha256": "b" * 64})
    assert read_card(load_gold(gold))[1] == f"{STALE} {gold}"
    assert trust_in(load_gold(gold)).card is None


def test_a_review_that_is_applied_makes_the_card_one_of_another_state(tmp_path: Path) -> None:
    made = make_set(tmp_path / "gold", queries=12, pool=3)
    make(made.folder)
    material, ledger = ledger_of(made.folder)
    judged = {"chunk_id": "c001-1", "grade": Relevance((made.model["q001", "c001-1"] + 1) % 4)}
    with ledger:
        ledger.append_all([event(material, EventKind.JUDGE, "q001", **judged)])
    assert read_card(load_gold(made.folder))[1] == "", "the set itself has not changed"
    apply_review(made.folder, ledger=None)
    assert read_card(load_gold(made.folder))[1] == f"{STALE} {made.folder}"


@pytest.mark.parametrize("damage", [b'{\n "format": 1, "figures": [{"name": "agree', b"\xff\xfe\x00{"])
def test_a_damaged_card_never_stops_a_page_and_is_told(files: Path, goldbench_inside: Goldbench, damage: bytes) -> None:
    (files / "gold" / "card.json").write_bytes(damage)
    assert goldbench_inside("score", "gold", *RUNS, "--html", "page.html").returncode == 0
    assert "card.json cannot be read; make it again: goldbench card gold." in (files / "page.html").read_text("utf-8")
