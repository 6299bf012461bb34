"""What changed since an earlier version of a set: asked from the module, and seen in a real browser."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from goldbench.errors import InputError
from goldbench.review.apply import apply_review
from goldbench.score.runs import load_gold
from goldbench.workbench.earlier_version import LabelChange, earlier_version
from goldbench.workbench.exported_page import exported
from goldbench.workbench.workbench_server import decided, load_table, reviewable
from tests.workbench.conftest import Site, Visitor, serving, wanted
from tests.workbench.test_acts import act, judged
from tests.workbench.workbench_set import GERMAN, GERMAN_TEXT

ASKED = "Welcher Wasserdruck gilt am Ventil?"


def changed_set(site: Site, old: Path) -> None:
    """Keep the set as it is now in another folder, and change it: a grade, a wording, a query less, a passage."""
    shutil.copytree(site.folder, old)
    anna = site.client()
    judged(anna, "de2", 2)
    act(anna, 1, act="edit", text=ASKED)
    act(anna, 2, act="reject", reason="unclear", query="q-x")
    apply_review(site.folder, ledger=None)
    for file in (site.folder / "dataset.json", site.folder / "beir" / "corpus.jsonl"):
        text = file.read_text(encoding="utf-8")
        assert "Prüfen Sie die Dichtung." in text
        file.write_text(text.replace("Prüfen Sie die Dichtung.", "Prüfen Sie sie."), encoding="utf-8")


def test_wording_labels_and_texts_are_compared_query_by_query(site: Site, tmp_path: Path) -> None:
    changed_set(site, tmp_path / "old")
    found = earlier_version(tmp_path / "old", site.folder)
    assert found.name == "old"
    assert {one: found.status(one) for one in ("q-ar", "q-zh", "q-de.v2", "q-none")} == {
        "q-ar": "same",
        "q-zh": "same",
        "q-de.v2": "changed",
        "q-none": "new",
    }
    assert found.told(found.changes["q-de.v2"]) == {
        "status": "changed",
        "before": "q-de",
        "text": GERMAN,
        "fields": ["wording"],
        "labels": [{"before": "de2", "after": "de2", "was": 0, "now": 2}],
        "texts": [{"before": "de1", "after": "de1", "text": GERMAN_TEXT, "cut": False}],
    }
    assert list(found.removed) == ["q-x"]
    assert found.removed["q-x"].labels == (LabelChange("en1", None, 2, None), LabelChange("en2", None, 1, None))


def test_an_earlier_version_that_is_none_is_told(site: Site, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="give the folder of a gold set"):
        earlier_version(tmp_path / "nowhere", site.folder)


@pytest.mark.slow
def test_the_page_shows_what_changed_and_what_is_gone(
    site: Site, tmp_path: Path, visitor: Callable[..., Visitor]
) -> None:
    changed_set(site, tmp_path / "old")
    with serving(site.folder, asked=wanted(site.folder, against=tmp_path / "old")) as compared:
        anna = visitor(f"{compared.links['anna']}#since=removed")
        assert anna.page.eval_on_selector_all("#list a", "all => all.map(one => one.dataset.query)") == ["earlier q-x"]
        anna.page.locator("#list a").click()
        anna.page.locator("#detail h3", has_text="Since old").wait_for()
        assert "en1: grade 2 → no label" in anna.text("#detail")
        anna.page.locator("#since").select_option("")
        anna.query("q-ar")
        assert "the texts of its labelled passages are the same" in anna.text("#detail")
        anna.query("q-de.v2")
        for told in ("It had another id: q-de.", f"It was: {GERMAN}", "de2: grade 0 → grade 2"):
            assert told in anna.text("#detail")
        anna.page.locator("#detail summary", has_text="Earlier text of de1").click()
        assert "Prüfen Sie die Dichtung." in anna.text("#detail .earlier")
    state = decided(site.folder, None, reviewable(site.folder))
    asked = wanted(site.folder, against=tmp_path / "old")
    table = load_table(load_gold(site.folder), asked, lambda: state, reviewable(site.folder))
    (tmp_path / "page.html").write_text(exported(table, notice=None), encoding="utf-8")
    kept = visitor(f"{(tmp_path / 'page.html').as_uri()}#query=earlier%20q-x")
    kept.page.locator("#detail h3", has_text="Since old").wait_for()
    assert "The set does not have this query any more." in kept.text("#detail")
