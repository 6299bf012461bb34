"""What a page of scores says of the gold set behind it."""

from __future__ import annotations

from pathlib import Path

import pytest
from lxml import html

from goldbench.agreement import agree
from goldbench.agreement.judgment_files import Labels
from goldbench.records.scorecard import Method
from goldbench.records.set_card import Card, Figure, State
from goldbench.report.trust import Trust
from goldbench.score.page_data import trust_in, write_report
from goldbench.score.runs import load_gold, load_run
from tests.card.sets import write_dataset

EVIL = "<script>window.broken=1</script>"


def card_for(sha: str) -> Card:
    figures = [
        Figure(section="judge", name="canaries", value=0.3, state=State.FAIL, threshold="<= 0.1", meaning=EVIL),
        Figure(section="holes", name="hole@10 of runs", state=State.ABSENT, meaning="no run is beside the set"),
        Figure(section="provenance", name="provenance", value="x", values={"judgments sha256": sha}, meaning="made"),
    ]
    return Card(goldbench="0", name=EVIL, queries=2, passages=3, figures=figures)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    queries, relevant = {"q": "one", "r": "two"}, {"q": ["a"], "r": ["b"]}
    return write_dataset(tmp_path / "s", queries=queries, corpus={"a": "x", "b": "y", "c": "z"}, relevant_docs=relevant)


def test_the_page_shows_the_card_and_the_confusion(folder: Path, tmp_path: Path) -> None:
    gold = load_gold(folder)
    (folder / "card.json").write_text(card_for(gold.fingerprint()).model_dump_json())
    people = Labels("people", folder, {"p": {"q": {"a": 3, "b": 0}, "r": {"b": 1}}})
    found = agree(people, Labels(EVIL, folder, {"m": {"q": {"a": 3, "b": 2}, "r": {"b": 1}}}), resamples=100)
    (folder / "agreement.json").write_text(found.model_dump_json())
    (tmp_path / "r.trec").write_text("q Q0 a 1 1 t\nr Q0 c 1 1 t\n")
    from goldbench.measures.names import parse_measure

    write_report(
        tmp_path / "p.html",
        gold,
        {"r": load_run(tmp_path / "r.trec")},
        [parse_measure("ndcg@10")],
        match="id",
        method=Method(missing="zero", scores="float64", resamples=100),
    )
    shown = html.fromstring((tmp_path / "p.html").read_bytes())
    row = shown.xpath("//table[@class='card']//tr[@class='fail']")[0]
    assert [cell.text_content() for cell in row][1:3] == ["0.3", "<= 0.1"]
    assert EVIL in row.text_content()
    assert not shown.xpath("//script[contains(text(), 'window.broken')]")
    cells = [[cell.text_content() for cell in row] for row in shown.xpath("//table[@id='confusion']/tbody/tr")]
    assert cells[0] == ["0", "00%", "00%", "1100%", "00%"]
    assert "absent" in shown.xpath("//tr[@class='absent']")[0].text_content()


def test_a_card_of_other_judgments_is_not_shown(folder: Path) -> None:
    (folder / "card.json").write_text(card_for("0" * 64).model_dump_json())
    found = trust_in(load_gold(folder))
    assert found.card is None
    told = f"card.json was made for another state of this set; make it again: goldbench card {folder}."
    assert found.remarks == (told,)


def test_damaged_files_are_said_to_be_so(folder: Path) -> None:
    (folder / "card.json").write_text("{")
    (folder / "agreement.json").write_text("[]")
    remarks = trust_in(load_gold(folder / "dataset.json")).remarks
    assert remarks == ("card.json cannot be read; make it again.", "agreement.json cannot be read; make it again.")


def test_judgments_that_stand_alone_have_no_card(tmp_path: Path) -> None:
    (tmp_path / "q.txt").write_text("q 0 a 1\n")
    (tmp_path / "card.json").write_text("{")
    assert trust_in(load_gold(tmp_path / "q.txt")) == Trust()
