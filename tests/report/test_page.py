"""The page of a scorecard: self-contained, escaped, the same for the same input, and true to the scorecard."""

from __future__ import annotations

import base64
import dataclasses
import json
import zlib

import pytest
from lxml import html
from plotly.offline import get_plotlyjs

from goldbench.report import failure_browser
from goldbench.report.charts import library
from goldbench.report.failure_browser import Behind
from goldbench.report.scorecard_page import page
from goldbench.report.scorecard_text import leaderboard_rows
from tests.report.hostile import QUERIES, SCRIPT, SYSTEMS, hostile_card, hostile_details


@pytest.fixture(scope="module")
def made() -> str:
    return page(hostile_card(), hostile_details())


def test_no_hostile_text_becomes_an_element(made: str) -> None:
    tree = html.fromstring(made)
    assert made.count(SCRIPT) == 0
    assert tree.xpath("//img") == []
    assert tree.xpath("//textarea") == []
    assert len(tree.xpath("//style")) == 1
    assert [one for one in tree.xpath("//script") if "window.broken" in (one.text or "")[:50]] == []
    assert "49" not in tree.xpath("//td[@class='name']")[0].text_content()


def test_hostile_text_is_shown_as_it_is(made: str) -> None:
    tree = html.fromstring(made)
    assert f"Scores on gold {SCRIPT}" in tree.xpath("//h1")[0].text_content()
    assert SYSTEMS[0] in tree.xpath("//table[@id='leaderboard']")[0].text_content()


def test_the_leaderboard_is_that_of_the_scorecard(made: str) -> None:
    rows = html.fromstring(made).xpath("//table[@id='leaderboard']//tr")
    shown = [[cell.text_content().replace(" not beaten", "") for cell in row] for row in rows]
    assert shown == [list(row) for row in leaderboard_rows(hostile_card())]


def test_the_data_of_the_browser_is_whole(made: str) -> None:
    data = json.loads(html.fromstring(made).xpath("//script[@id='data']")[0].text)
    assert sorted(data["ids"]) == sorted(QUERIES)
    assert {query["id"] for query in data["queries"]} == set(QUERIES)
    assert data["queries"][0]["row"] == 0
    passages = hostile_details().behind.passages.items()
    assert data["passages"] == {name: text.encode("utf-8", "replace").decode() for name, text in passages}


def test_no_address_is_asked_for_anything(made: str) -> None:
    tree = html.fromstring(made)
    assert tree.xpath("//script/@src | //img/@src | //iframe | //object | //link[@rel='stylesheet']") == []
    assert tree.xpath("//link/@href") == ["data:,"]
    assert "default-src 'none'" in tree.xpath("//meta[@http-equiv='Content-Security-Policy']/@content")[0]


def test_the_library_is_there_once_packed_and_whole(made: str) -> None:
    assert made.count(library()[:200]) == 1
    (held,) = html.fromstring(made).xpath("//script[@id='plotly']")
    assert zlib.decompress(base64.b64decode(held.text)).decode() == get_plotlyjs()
    assert len(library()) < 2_100_000


def test_equal_input_gives_equal_bytes(made: str) -> None:
    assert page(hostile_card(), hostile_details()) == made


def test_a_page_that_grows_too_large_keeps_the_hardest_queries_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failure_browser, "MOST_BYTES", 10_000)
    cut = page(hostile_card(), hostile_details())
    data = json.loads(html.fromstring(cut).xpath("//script[@id='data']")[0].text)
    assert 0 < len(data["queries"]) < len(QUERIES)
    assert f"The {len(data['queries'])} hardest of 30 queries are here" in cut
    assert [len(values) for values in data["values"]["ndcg@10"]] == [30, 30]


def test_simulated_queries_bracket_no_system(made: str) -> None:
    assert "not beaten" in made
    card = hostile_card()
    smoke = card.model_copy(update={"gold": card.gold.model_copy(update={"evidence_level": "smoke"})})
    assert "not beaten" not in page(smoke, hostile_details())


def test_a_page_needs_nothing_but_values() -> None:
    details = hostile_details()
    bare = dataclasses.replace(
        details, curves={}, slicings=(), behind=Behind(query_ids=QUERIES, values=details.behind.values)
    )
    assert "Leaderboard" in page(hostile_card(), bare)


def test_texts_that_do_not_fit_are_cut_at_one_length_and_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    details = hostile_details()
    behind = dataclasses.replace(details.behind, passages={f"d{number}": "word " * 3_000 for number in range(5)})
    monkeypatch.setattr(failure_browser, "MOST_BYTES", 60_000)
    made = page(hostile_card(), dataclasses.replace(details, behind=behind))
    data = json.loads(html.fromstring(made).xpath("//script[@id='data']")[0].text)
    lengths = {(len(start), whole, rendered) for start, whole, rendered in data["passages"].values()}
    assert lengths == {(4_000, 15_000, "")}
    assert len(data["queries"]) == len(QUERIES)


def test_passages_that_do_not_fit_at_all_are_left_out_the_least_needed_first(monkeypatch: pytest.MonkeyPatch) -> None:
    details = hostile_details()
    shown = {one.doc_id for found in details.behind.retrieved.values() for top in found.values() for one in top}
    relevant = {doc_id for grades in details.behind.relevant.values() for doc_id in grades}
    behind = dataclasses.replace(details.behind, passages=dict.fromkeys(shown | relevant, "word " * 3_000))
    monkeypatch.setattr(failure_browser, "MOST_BYTES", 30_000)
    made = page(hostile_card(), dataclasses.replace(details, behind=behind))
    data = json.loads(html.fromstring(made).xpath("//script[@id='data']")[0].text)
    assert len(data["queries"]) == len(QUERIES)
    assert 0 < len(data["passages"]) < len(shown | relevant)
    assert data["lacking"]
    assert relevant <= data["passages"].keys()
