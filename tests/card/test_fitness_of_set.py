"""The first line of the card: what the set is good for."""

from __future__ import annotations

from pathlib import Path

import pytest

from goldbench.pipeline.card import make_card
from goldbench.pipeline.card.baselines import run_baselines
from goldbench.pipeline.card.described_set import read_described
from goldbench.pipeline.card.figures import figure
from goldbench.pipeline.card.fitness_of_set import AGREEMENT, verdict_of
from goldbench.pipeline.report.card_text import markdown, plain
from goldbench.schemas.set_card import Card, State
from tests.card.sets import topical, write_dataset


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    queries, corpus, relevant = topical(12)
    metadata = {"evidence_level": "human", "grades": {}}
    made = tmp_path_factory.mktemp("fitness")
    return write_dataset(made, queries=queries, corpus=corpus, relevant_docs=relevant, metadata=metadata)


@pytest.fixture(scope="module")
def card(folder: Path) -> Card:
    return make_card(folder)


def test_the_verdict_is_the_first_line_in_every_form(card: Card) -> None:
    assert card.verdict is not None
    assert plain(card).startswith(f"Verdict: {card.verdict.sentence}.\n")
    title, empty, first, *_ = markdown(card).splitlines()
    assert (title[:10], empty, first[:14]) == ("# Card of ", "", "**Verdict:** g")
    assert list(Card.model_fields)[2] == "verdict"
    assert Card.model_validate_json(card.model_dump_json()) == card


def test_without_runs_it_is_about_the_baselines(card: Card) -> None:
    assert card.verdict is not None
    assert "the 8 built-in baselines, not your systems" in card.verdict.sentence


def test_runs_in_the_folder_take_the_place_of_the_baselines(folder: Path) -> None:
    (folder / "runs").mkdir()
    for name, place in (("one", 0), ("two", 1)):
        lines = [f"q{n} Q0 d{n + place * (n != 1)} 1 1.0 x\nq{n} Q0 none 2 0.5 x\n" for n in range(12)]
        (folder / "runs" / f"{name}.trec").write_text("".join(lines), "utf-8")
    (folder / "runs" / "other.trec").write_text("elsewhere Q0 d1 1 1.0 x\n", "utf-8")
    material = read_described(folder)
    found = verdict_of(folder, material, run_baselines(material), [])
    assert found is not None
    assert found.sentence.startswith("ranks the 2 runs in its folder by ndcg@10")
    (folder / "runs" / "two.trec").unlink()
    alone = verdict_of(folder, read_described(folder), run_baselines(material), [])
    assert alone is not None
    assert alone.sentence.startswith("good for regressions of one system; every query has the same ndcg@10")


@pytest.mark.parametrize(("state", "refused"), [(State.FAIL, True), (State.WARN, False), (State.INFO, False)])
def test_a_set_is_unusable_by_its_agreement_only_where_that_figure_fails(
    folder: Path, *, state: State, refused: bool
) -> None:
    material = read_described(folder)
    limit = (None if state is State.INFO else ">= 0.3", state)
    told = [figure("validity", AGREEMENT, 0.04, "Tau of the two recipes.", limit=limit)]
    found = verdict_of(folder, material, run_baselines(material), told)
    assert found is not None
    unusable = "unusable: independent sources of queries do not agree on the order of systems"
    assert (found.sentence == unusable) is refused
