"""The workbench as one file: opened from disk, silent on the network, below 10 MB."""

from __future__ import annotations

import json
import random
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
    target.write_text(exported(table, notice="A set for <tests>."), encoding="utf-8")
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


def test_the_same_set_makes_the_same_file(file: Path, tmp_path: Path) -> None:
    again = page_of(file.parent / "set", tmp_path / "again.html")
    assert again.read_bytes() == file.read_bytes()


def test_texts_that_do_not_fit_are_left_out_and_that_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, visitor: Visitors
) -> None:
    folder = write_workbench_set(tmp_path / "set")
    whole = page_of(folder, tmp_path / "whole.html").read_text(encoding="utf-8")
    data = whole.partition('id="data">')[2].partition("<")[0]
    monkeypatch.setattr(exported_page, "MAX_BYTES", len(data) - 100)
    page = page_of(folder, tmp_path / "page.html")
    anna = visitor(f"{page.as_uri()}#query=q-de")
    assert "left out of this file" in anna.text("#warnings")
    assert len(anna.page.locator("#list a").all()) == 6


@pytest.mark.slow
def test_two_thousand_queries_stay_below_ten_megabytes(tmp_path: Path) -> None:
    folder = _large_set(tmp_path / "set", queries=2_100, passages=6_000, systems=2)
    page = page_of(folder, tmp_path / "page.html", k=10)
    size = page.stat().st_size
    print(f"page of 2,000 queries, 2 systems: {size / 1e6:.1f} MB")
    assert size < 10_000_000
    assert size > 3_000_000  # the texts are there


def _large_set(folder: Path, *, queries: int, passages: int, systems: int) -> Path:
    """A dataset with texts that compress about as well as prose, and runs that agree in part."""
    from tests.benchmarks.synthetic_text import paragraphs

    chance = random.Random(5)
    texts = list(paragraphs(passages))
    corpus = {f"c{number:06}": text for number, text in enumerate(texts)}
    ids = list(corpus)
    asked = {f"q{number:05}": " ".join(corpus[ids[number]].split()[:8]) for number in range(queries)}
    relevant = {query_id: [ids[number]] for number, query_id in enumerate(asked)}
    folder.mkdir()
    dataset = {"queries": asked, "corpus": corpus, "relevant_docs": relevant, "mode": "text", "metadata": {}}
    (folder / "dataset.json").write_text(json.dumps(dataset), encoding="utf-8")
    (folder / "runs").mkdir()
    for system in range(systems):
        lines = []
        for number, query_id in enumerate(asked):
            found = dict.fromkeys([*chance.sample(ids, 20), ids[number]])
            lines += [f"{query_id} Q0 {one} 0 {chance.random()} s{system}" for one in found]
        (folder / "runs" / f"s{system}.trec").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def test_a_query_that_the_set_does_not_hold_is_refused_before_a_file_is_written(
    tmp_path: Path, goldbench_inside: Goldbench
) -> None:
    gold = write_workbench_set(tmp_path / "set")
    done = goldbench_inside("open", str(gold), "--query", "q-as", "--html", "page.html")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "--query q-as: not a query of " in done.stderr
    assert not (tmp_path / "page.html").exists()
