"""A link to the workbench from a page on the disk, and a page that follows its set."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from goldbench.formats.runs.trec import write_run
from goldbench.review.apply import apply_review
from tests.workbench.conftest import Site, Visitor, serving
from tests.workbench.test_acts import act, judged
from tests.workbench.workbench_set import WORDS, write_workbench_set

Visitors = Callable[..., Visitor]


@pytest.mark.slow
def test_a_link_of_another_set_is_told_and_strangers_stay_outside(tmp_path: Path, visitor: Visitors) -> None:
    page = tmp_path / "page.html"
    with serving(write_workbench_set(tmp_path / "set")) as site:
        link = f"<a id=on href='{site.base}#set=other&query=q-ar&passage=ar2'>on</a>"
        page.write_text(f"<!doctype html><link rel=icon href='data:,'>{link}", encoding="utf-8")
        anna, stranger = visitor(site.links["anna"]), visitor()
        for one in (anna, stranger):
            one.page.goto(page.as_uri())
            one.page.locator("#on").click()
        anna.page.locator("#warnings p", has_text="about the set other; this page shows set").wait_for()
        anna.page.locator("[data-id=ar2] details.judge[open]").wait_for()
        stranger.page.locator("h1", has_text="Open this page with your link").wait_for()
        stranger.said.clear()  # the browser reports that the page is closed


@pytest.mark.slow
def test_an_open_page_follows_its_set_and_keeps_what_is_being_written(site: Site, visitor: Visitors) -> None:
    anna = visitor(f"{site.links['anna']}#query=q-de&first=vectors")
    client = site.client()
    judged(client, "de3", 3)
    anna.page.locator("#actions summary").click()
    anna.page.locator("#actions textarea").fill("Halb geschrieben")
    apply_review(site.folder, ledger=None)
    anna.page.locator("#renewed", has_text="The set was changed and read again at").wait_for()
    assert anna.page.locator("#actions textarea").input_value() == "Halb geschrieben"
    assert not anna.page.locator("#pending").is_visible()
    anna.page.locator("#actions textarea").fill("")
    anna.page.evaluate(
        "document.querySelector('#actions textarea').value = document.querySelector('#asks').textContent"
    )
    write_run(site.folder / "runs" / "third.trec", WORDS, tag="third")
    anna.page.locator("#figures tr", has_text="third").wait_for()
    act(client, 1, kind="edit_query", text="Welcher Wasserdruck gilt am Ventil?")
    apply_review(site.folder, ledger=None)
    anna.page.locator("#detail", has_text="Choose a query.").wait_for()  # the query has another id now


@pytest.mark.slow
def test_a_line_of_a_megabyte_is_shown_in_parts(tmp_path: Path, visitor: Visitors) -> None:
    from goldbench.goldset.folder import GoldFolder

    gold = write_workbench_set(tmp_path / "set")
    long = "Ventil " * 150_000
    for file in (gold / "dataset.json", gold / "beir" / "corpus.jsonl", GoldFolder(gold).chunks.path):
        text = file.read_text(encoding="utf-8")
        assert "保修期为两年。" in text
        file.write_text(text.replace("保修期为两年。", long), encoding="utf-8")
    with serving(gold) as site:
        anna = visitor(f"{site.links['anna']}#query=q-de&first=vectors&second=vectors")
        row = anna.page.locator(".system li[data-id=zh2]").first
        row.locator("details.whole > summary").click()
        row.locator(".passage").wait_for()
        assert len(row.locator(".passage").text_content()) == 60_000
        row.get_by_role("button", name="More text").click()
        assert len(row.locator(".passage").text_content()) == 120_000
        assert "characters left)" in row.get_by_role("button", name="More text").inner_text()
