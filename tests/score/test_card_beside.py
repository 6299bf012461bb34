"""What the card in a set's folder found against the set stands above every table, as long as the set is the same."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import goldbench
from goldbench.card import make_card, write_card
from goldbench.records.relevance import Relevance
from goldbench.records.review_event import EventKind
from goldbench.records.set_card import SOURCES, Card, Figure, State
from goldbench.review.apply import apply_review
from goldbench.score.page_data import trust_in
from goldbench.score.runs import Gold, load_gold
from goldbench.score.set_makers import read_card
from tests.cli.sample_set import write_sample
from tests.conftest import Goldbench
from tests.review.made_set import event, ledger_of, make_set

RUNS = ("--run", "a=a.trec", "--run", "b=b.trec")
QUICK = ("--permutations", "100", "--resamples", "100")
SMOKE = "good for smoke tests of one system only: its 12 queries are simulated or written by a tiny model"
OTHER = "card.json was made for another state of this set; make it again: goldbench card"


@pytest.fixture(scope="module")
def carded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A simulated set whose own card refuses it, and runs."""
    folder = tmp_path_factory.mktemp("carded")
    write_sample(folder)
    write_card(folder / "gold", make_card(folder / "gold"))
    return folder


@pytest.fixture
def files(carded: Path, tmp_path: Path) -> Path:
    shutil.copytree(carded, tmp_path, dirs_exist_ok=True)
    return tmp_path


def refuse(folder: Path, *, tau: float = 0.02, **digests: str | None) -> None:
    """Write a card that refuses the set as it is, or the one that these digests name."""
    gold = load_gold(folder)
    figures = [Figure(section="rankings", name=SOURCES, value=tau, state=State.FAIL, meaning="They differ.")]
    state = {"judgments_sha256": gold.fingerprint(), "content_sha256": gold.content_sha256(), **digests}
    card = Card(goldbench="0", name="x", queries=2, passages=2, figures=figures, **state)  # type: ignore[arg-type]
    (folder / "card.json").write_text(card.model_dump_json(indent=1), encoding="utf-8")


def finding_of(gold: Gold) -> tuple[float | None, str]:
    """Return the agreement by which the card refuses the set, and why the card does not count."""
    card, doubt = read_card(gold)
    return (None if card is None or doubt else card.refusal), doubt


def edit(folder: Path, **members: object) -> None:
    """Write some members of the data set anew."""
    file = folder / "dataset.json"
    file.write_text(json.dumps({**json.loads(file.read_text("utf-8")), **members}), encoding="utf-8")


def scored(goldbench_inside: Goldbench, *options: str) -> str:
    done = goldbench_inside("score", "gold", *RUNS, *options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_command_and_python_say_what_the_card_says(files: Path, goldbench_inside: Goldbench) -> None:
    told = json.loads((files / "gold" / "card.json").read_text("utf-8"))["verdict"]
    assert told["level"] == "unusable"
    compared = goldbench_inside("compare", "gold", *RUNS, *QUICK, "--format", "json")
    assert goldbench_inside("bench", "gold", "--system", "bm25", "--out", "bench").returncode == 0
    bench = json.loads((files / "bench" / "experiment.json").read_text("utf-8"))["card"]
    found = [json.loads(scored(goldbench_inside, "--format", "json")), json.loads(compared.stdout), bench]
    assert [one["verdict"] for one in found] == [told] * 3
    gold, runs = goldbench.GoldSet.load(files / "gold"), {name: str(files / f"{name}.trec") for name in "ab"}
    several = gold.evaluate(runs, ["ndcg@10"])
    in_python = [
        several.verdict,
        several["a"].verdict,
        gold.compare(runs, ["ndcg@10"], permutations=100, resamples=100).verdict,
        goldbench.evaluate(files / "gold" / "dataset.json", runs["a"], ["ndcg@10"]).verdict,
    ]
    assert {one.sentence for one in in_python if one is not None} == {told["sentence"]}
    assert scored(goldbench_inside).startswith(f"Verdict: {told['sentence']}.\n\n")
    assert goldbench_inside("score", "gold", *RUNS, "--html", "page.html").returncode == 0
    assert told["sentence"] in (files / "page.html").read_text("utf-8")


def test_a_card_of_an_earlier_state_is_left_out_and_told(files: Path, goldbench_inside: Goldbench) -> None:
    relevant = json.loads((files / "gold" / "dataset.json").read_text("utf-8"))["relevance_scores"]
    edit(files / "gold", relevance_scores={**relevant, "q00": {**relevant["q00"], "lamp-0": 1}})
    assert scored(goldbench_inside).startswith(f"Verdict: {SMOKE}.\nWarning: {OTHER} gold.\n\n")
    markdown = scored(goldbench_inside, "--format", "markdown")
    assert markdown.startswith(f"**Verdict:** {SMOKE}.\n\nWarning: {OTHER} gold.\n\n")
    found = json.loads(goldbench_inside("compare", "gold", *RUNS, *QUICK, "--format", "json").stdout)["verdict"]
    assert (found["level"], found["doubt"]) == ("smoke", f"{OTHER} gold")
    assert goldbench_inside("score", "gold", *RUNS, "--html", "page.html").returncode == 0
    assert f"{OTHER} gold" in (files / "page.html").read_text("utf-8")
    refuse(files / "gold")
    assert "Warning" not in scored(goldbench_inside)


def test_a_changed_text_is_another_state_though_the_judgments_are_the_same(tmp_path: Path) -> None:
    write_sample(tmp_path)
    gold = tmp_path / "gold"
    edit(gold, metadata={"evidence_level": "smoke", "content_sha256": "a" * 64})
    refuse(gold)
    assert finding_of(load_gold(gold))[0] == 0.02
    assert trust_in(load_gold(gold)).card is not None
    edit(gold, metadata={"evidence_level": "smoke", "content_sha256": "b" * 64})
    found = finding_of(load_gold(gold))
    assert found == (None, f"{OTHER} {gold}")
    assert trust_in(load_gold(gold)).card is None


def test_a_review_that_is_applied_makes_the_card_one_of_another_state(tmp_path: Path) -> None:
    made = make_set(tmp_path / "gold", queries=12, pool=3)
    refuse(made.folder)
    material, ledger = ledger_of(made.folder)
    judged = {"chunk_id": "c001-1", "grade": Relevance((made.model["q001", "c001-1"] + 1) % 4)}
    with ledger:
        ledger.append_all([event(material, EventKind.JUDGE, "q001", **judged)])
    assert finding_of(load_gold(made.folder))[0] == 0.02, "the set itself has not changed"
    apply_review(made.folder, ledger=None)
    found = finding_of(load_gold(made.folder))
    assert found == (None, f"{OTHER} {made.folder}")
    refuse(made.folder)
    assert finding_of(load_gold(made.folder))[0] == 0.02
    assert finding_of(load_gold(made.folder / "trec" / "qrels.txt"))[0] == 0.02, "a copy of its judgments"


DAMAGE = {"cut off": '{\n "format": 1,\n "goldbench": "0.1", "figures": [{"name": "agree', "deep": "[" * 100_000}


@pytest.mark.parametrize("text", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_card_never_stops_a_score_and_is_told(files: Path, goldbench_inside: Goldbench, text: str) -> None:
    (files / "gold" / "card.json").write_text(text, encoding="utf-8")
    told = f"Verdict: {SMOKE}.\nWarning: card.json cannot be read; make it again: goldbench card gold.\n\n"
    assert scored(goldbench_inside).startswith(told)


def test_a_card_that_is_not_text_or_not_a_file_never_stops_a_score(files: Path, goldbench_inside: Goldbench) -> None:
    path = files / "gold" / "card.json"
    path.write_bytes(b"\xff\xfe\x00{")
    assert "Warning: card.json cannot be read" in scored(goldbench_inside)
    path.unlink()
    path.mkdir()
    assert "Warning" not in scored(goldbench_inside)
