"""The workbench as one file: opened from disk, silent on the network, below 10 MB."""

from __future__ import annotations

from collections.abc import Callable
from html import unescape
from pathlib import Path

import pytest

from goldbench.review.state import State
from goldbench.score.runs import load_gold
from goldbench.workbench import exported_page
from goldbench.workbench.exported_page import exported
from goldbench.workbench.workbench_server import load_table, reviewable
from tests.conftest import Goldbench
from tests.workbench.conftest import Visitor, wanted
from tests.workbench.workbench_set import ARABIC, write_workbench_set

Visitors = Callable[..., Visitor]


def page_of(folder: Path, target: Path, k: int = 3) -> Path:
    state = State()
    table = load_table(load_gold(folder), wanted(folder, k=k), lambda: state, reviewable(folder))
    table.notice = "A set for <tests>."
    target.write_text(exported(table), encoding="utf-8")
    return target


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("exported")
    return page_of(write_workbench_set(place / "set"), place / "page.html")


def test_the_file_shows_everything_and_asks_for_nothing(file: Path, visitor: Visitors) -> None:
    anna = visitor(f"{file.as_uri()}#query=q-ar&first=vectors")
    assert anna.text("#asks") == ARABIC
    assert anna.page.locator("#detail .passage mark.evidence").count() > 0
    anna.query("q-de")
    row = anna.page.locator(".system li[data-id=de3]").first
    row.locator("details.whole summary").click()
    row.locator(".passage mark.word").first.wait_for()
    assert anna.page.locator("#detail button", has_text="Save wording").count() == 0
    assert anna.page.locator("details.judge").count() == 0
    anna.page.locator("#find").fill("Dichtung prüfen")
    anna.page.wait_for_function("() => document.querySelectorAll('#list a').length === 1")
    anna.page.locator("#find").fill("")
    anna.query("grading q-dropped")
    assert "Rule: judge-check" in anna.text("#detail")
    assert {url for url in anna.asked if not url.startswith("data:")} == {f"{file.as_uri()}"}


def test_the_file_holds_no_text_that_could_run(file: Path) -> None:
    html = file.read_text(encoding="utf-8")
    assert "window.broken" not in html  # texts are packed
    policy = unescape(html).partition('http-equiv="Content-Security-Policy" content="')[2].partition('"')[0]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy


def test_a_script_put_into_the_file_does_not_run(file: Path, tmp_path: Path, visitor: Visitors) -> None:
    changed = tmp_path / "changed.html"
    html = file.read_text(encoding="utf-8")
    changed.write_text(html.replace("</body>", "<script>window.broken = 1</script></body>"), encoding="utf-8")
    anna = visitor(changed.as_uri())
    assert anna.page.evaluate("window.broken") is None
    anna.said.clear()  # the browser reports the script that it refused


def test_texts_that_do_not_fit_are_left_out_and_that_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, visitor: Visitors
) -> None:
    folder = write_workbench_set(tmp_path / "set")
    whole, page = page_of(folder, tmp_path / "whole.html"), tmp_path / "page.html"
    data = whole.read_text(encoding="utf-8").partition('id="data">')[2].partition("<")[0]
    monkeypatch.setattr(exported_page, "MAX_BYTES", len(data) - 100)
    page_of(folder, page)
    assert page.stat().st_size <= whole.stat().st_size - 100
    anna = visitor(f"{page.as_uri()}#query=q-de")
    assert "left out of this file" in anna.text("#warnings")
    assert len(anna.page.locator("#list a").all()) == 6


def test_a_query_that_the_set_does_not_hold_is_refused_before_a_file_is_written(
    tmp_path: Path, goldbench_inside: Goldbench
) -> None:
    gold = write_workbench_set(tmp_path / "set")
    done = goldbench_inside("open", str(gold), "--query", "q-as", "--html", "page.html")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "--query q-as: not a query of " in done.stderr
    assert not (tmp_path / "page.html").exists()
