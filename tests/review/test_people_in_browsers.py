"""Harder days: the server dies and comes back, two people at once, small screens, slow eyes, two hundred keys."""

from __future__ import annotations

import http.server
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from goldbench.review.state import fold
from tests.review.conftest import Person, Process, Site, events_of, only, start_process
from tests.review.review_set import write_set

Sites = Callable[..., Site]
People = Callable[..., Person]

pytestmark = pytest.mark.slow


@pytest.fixture
def process(tmp_path: Path) -> Iterator[Callable[..., Process]]:
    running: list[Process] = []
    folder = write_set(tmp_path / "set", queries=3, passages=4)

    def start(*options: str, port: int = 0) -> Process:
        running.append(start_process(folder, "--lanes", "A", "--overlap", "0", *options, port=port))
        return running[-1]

    yield start
    for one in running:
        one.process.kill()
        one.process.wait()
        if one.process.stdout:
            one.process.stdout.close()


def test_while_the_server_is_away_decisions_wait_and_are_sent_once(
    process: Any, person: People, tmp_path: Path
) -> None:
    served = process("--annotator", "anna")
    anna = person(served.links["anna"])
    anna.press("3")
    anna.saved()
    anna.page.wait_for_function("() => items.length === 12 && !fetching")
    served.process.kill()
    served.process.wait()
    anna.offline = True
    anna.press("1")
    anna.press("2")
    anna.page.locator("#alarm", has_text="2 not saved yet").wait_for()
    assert (
        anna.page.evaluate("getComputedStyle(document.getElementById('alarm')).backgroundColor") == "rgb(165, 18, 18)"
    )
    assert anna.page.evaluate(
        "() => { const e = new Event('beforeunload', {cancelable: true}); dispatchEvent(e); return e.defaultPrevented }"
    ), "leaving is asked about"
    process("--annotator", "anna", port=served.port)
    anna.page.wait_for_function("() => document.getElementById('alarm').hidden")
    anna.saved()
    anna.offline = False
    assert [event.grade for event in events_of(tmp_path / "set")] == [3, 1, 2]


def test_while_its_ledger_is_gone_decisions_wait_and_are_sent_once(
    process: Any, person: People, tmp_path: Path
) -> None:
    served, home, away = process("--annotator", "anna"), tmp_path / "set", tmp_path / "away"
    anna = person(served.links["anna"])
    anna.press("3")
    anna.saved()
    away.mkdir()
    ledger = [path.name for path in home.glob("review.sqlite*")]
    for name in ledger:
        (home / name).rename(away / name)
    anna.offline = True
    anna.press("1")
    anna.page.wait_for_function("() => !document.getElementById('alarm').hidden")
    said = anna.text("alarm")
    assert "The ledger was deleted or moved away while it was open; put it back" in said
    assert "1 not saved yet: kept in this browser" in said
    assert not list(home.glob("review.sqlite*")), "a new ledger was made in its place"
    for name in ledger:
        (away / name).rename(home / name)
    anna.page.wait_for_function("() => document.getElementById('alarm').hidden")
    anna.saved()
    anna.offline = False
    assert [event.grade for event in events_of(home)] == [3, 1]


def test_what_waited_survives_closing_the_page(process: Any, person: People, tmp_path: Path) -> None:
    served = process("--annotator", "anna")
    anna = person(served.links["anna"])
    served.process.kill()
    served.process.wait()
    anna.offline = True
    anna.press("2")
    context = anna.page.context
    anna.page.close(run_before_unload=False)
    again = process("--annotator", "anna", port=served.port)
    page = context.new_page()
    page.goto(f"http://127.0.0.1:{again.port}/")
    page.wait_for_function("() => document.getElementById('saved').textContent === 'saved ✓'")
    page.wait_for_selector("#text[data-pair]")
    assert [event.grade for event in events_of(tmp_path / "set")] == [2]


def test_two_people_in_two_browsers_judge_exactly_the_overlap_twice(site: Sites, person: People) -> None:
    served = site(annotators=("anna", "bob"), queries=4, passages=5, queue=only("A", overlap=0.2))
    both = [person(served.links[name]) for name in ("anna", "bob")]
    for _ in range(30):
        for one in both:
            if one.pair:
                one.press("2")
                one.saved()
    assert [one.pair for one in both] == ["", ""]
    assert {one.text("asks") for one in both} == {"Nothing is left to judge."}
    state = fold(served.events())
    assert Counter(len(state.judged_by(item.pair)) for item in served.queue) == {1: 16, 2: 4}
    assert all(len(state.judged_by(item.pair)) == item.wanted for item in served.queue)


def test_a_third_decision_settles_what_two_disagree_on(site: Sites, person: People) -> None:
    served = site(annotators=("anna", "bob", "carl"), queries=1, passages=2, queue=only("A", overlap=1))
    anna, bob = person(served.links["anna"]), person(served.links["bob"])
    for one, grade in ((anna, "0"), (bob, "3")):
        one.press("n", moves=False)
        one.page.keyboard.type(f"because {grade}")
        one.press("Enter", moves=False)
        one.press(grade)
        one.press("2")
        one.saved()
    carl = person()
    carl.page.goto(served.links["carl"])
    carl.page.goto(served.base + "adjudicate")
    carl.page.locator("#dispute").wait_for()
    told = carl.page.locator("main").inner_text()
    assert "because 0" in told
    assert "because 3" in told
    assert "anna" not in told
    assert "bob" not in told
    carl.page.keyboard.press("1")
    carl.page.wait_for_function("() => document.getElementById('left').textContent === 'No disagreements left.'")
    state = fold(served.events())
    first = next(item for item in served.queue if state.adjudication(item.pair))
    assert state.gold()[first.query_id][first.chunk_id] == 1
    assert state.adjudication(first.pair).annotator == "carl"


@pytest.mark.parametrize(
    "options",
    [
        {"viewport": {"width": 360, "height": 740}},
        {"viewport": {"width": 640, "height": 450}, "device_scale_factor": 2},  # 1280 by 900 at 200 %
    ],
    ids=["360", "zoom"],
)
def test_every_screen_fits_and_has_no_serious_barrier(site: Sites, person: People, options: dict[str, Any]) -> None:
    from axe_playwright_python.sync_playwright import Axe

    served = site(queries=2, passages=4, hostile=True, queue=only("B"))
    anna = person(**options)
    anna.page.context.add_init_script("Object.defineProperty(window, 'axeOnly', {value: true})")
    anna.open(served.links["anna"])
    anna.press("0")
    anna.saved()
    for path in ("", "progress", "adjudicate"):
        if path:
            anna.visit(served.base + path)
        assert anna.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
        found = Axe().run(anna.page).response["violations"]
        assert [(one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in {"serious", "critical"}] == []
    anna.page.goto(served.base)
    anna.wait_for_passage(None)
    small = anna.page.evaluate(
        "() => [...document.querySelectorAll('button')].filter(b => b.offsetParent)"
        ".map(b => b.getBoundingClientRect()).filter(r => r.height < 44 || r.width < 44).length"
    )
    assert small == 0
    for name in ("b", "g", "?"):
        anna.press(name, moves=False)
        anna.page.locator("dialog[open]").wait_for()
        found = Axe().run(anna.page).response["violations"]
        assert [one["id"] for one in found if one["impact"] in {"serious", "critical"}] == []
        anna.press("Escape", moves=False)


def test_a_normal_chunk_needs_no_scrolling(site: Sites, person: People) -> None:
    anna = person(site(queries=1, passages=2).links["anna"], viewport={"width": 1280, "height": 800})
    anna.press("Escape", moves=False)
    assert anna.page.evaluate("document.documentElement.scrollHeight <= innerHeight")


MEASURE = """() => {
    window.waits = [];
    let pressed = null;
    addEventListener('keydown', e => { pressed = e.timeStamp }, true);
    new MutationObserver(() => {
        if (pressed === null) return;
        const from = pressed;
        pressed = null;
        requestAnimationFrame(() => { const c = new MessageChannel();
            c.port1.onmessage = () => window.waits.push(performance.now() - from); c.port2.postMessage(0); });
    }).observe(document.getElementById('text'), {attributes: true, attributeFilter: ['data-pair']});
}"""


def test_the_next_passage_is_painted_within_a_tenth_of_a_second(site: Sites, person: People) -> None:
    served = site(queries=30, passages=7, queue=only("A", calibration=210), repeats=0)
    anna = person(served.links["anna"])
    anna.page.evaluate(MEASURE)
    for i in range(200):
        anna.press(str(i % 4))
    waits = anna.page.evaluate("window.waits")
    anna.saved()
    assert len(waits) == 200
    rounds = [sorted(waits[first : first + 50]) for first in range(0, 200, 50)]
    best = min(rounds, key=lambda one: one[47])  # the others may share the machine with something else
    print(f"key to painted: p50 {best[24]:.1f} ms, p95 {best[47]:.1f} ms")
    assert best[47] <= 100
    assert len(served.events()) == 200


def test_a_page_at_another_port_can_neither_read_nor_write(site: Sites, person: People) -> None:
    served = site(queries=1, passages=2)
    anna = person(served.links["anna"])
    pair = anna.pair

    class Elsewhere(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Elsewhere) as other:
        thread = threading.Thread(target=other.serve_forever)
        thread.start()
        anna.offline = True  # the browser itself complains of what is tried here
        page = anna.page.context.new_page()
        page.goto(f"http://127.0.0.1:{other.server_port}/")
        tried = page.evaluate(
            """async ([base, pair]) => {
                const body = JSON.stringify({client_id: 'client-evil', kind: 'judge', pair, grade: 0});
                const tries = [
                    fetch(base + 'api/event', {method: 'POST', credentials: 'include', body}),
                    fetch(base + 'api/event', {method: 'POST', credentials: 'include', mode: 'no-cors', body}),
                    fetch(base + 'api/event', {method: 'POST', credentials: 'include', body,
                        headers: {'Content-Type': 'application/json'}}),
                    fetch(base + 'api/next?n=3', {credentials: 'include'}),
                ];
                return (await Promise.allSettled(tries)).map(t => t.status === 'fulfilled' ? t.value.type : 'refused');
            }""",
            [served.base, pair],
        )
        page.set_content(
            f"<form method=post action='{served.base}api/event' enctype='text/plain'><input name=x></form>"
        )
        with page.expect_response("**/api/event"):
            page.evaluate("document.forms[0].submit()")
        other.shutdown()
        thread.join()
    assert set(tried) <= {"refused", "opaque"}
    assert served.events() == []


def test_lane_a_comes_in_the_order_of_the_seeded_sample(site: Sites, person: People) -> None:
    served = site(queries=12, passages=5, queue=only("A", calibration=20, seed=5))
    anna = person(served.links["anna"])
    for _ in range(20):
        anna.press("1")
    anna.saved()
    assert [(event.query_id, event.chunk_id) for event in served.events()] == [item.pair for item in served.queue]
    assert len(served.queue) == 20


def test_the_figures_shown_are_the_librarys(site: Sites, person: People) -> None:
    from sklearn.metrics import cohen_kappa_score

    from tests.review.review_set import judge_grades

    served = site(queries=20, passages=4, queue=only("A"), repeats=0)
    anna = person(served.links["anna"])
    for i in range(65):
        anna.press(str((i * i) % 4))
    anna.saved()
    anna.page.goto(served.base + "progress")
    anna.page.locator("text=The first 60 pairs").wait_for()
    judge = judge_grades(served.folder)
    events = served.events()[:60]
    mine = [int(event.grade) for event in events]
    theirs = [judge[event.query_id, event.chunk_id] for event in events]
    row = anna.page.locator("tr", has=anna.page.locator("th", has_text="kappa, quadratic")).first.inner_text()
    assert f"{cohen_kappa_score(mine, theirs, weights='quadratic'):.2f} [" in row.replace("−", "-")
    exact = anna.page.locator("tr", has=anna.page.locator("th", has_text="exact")).first.inner_text()
    assert f"{sum(a == b for a, b in zip(mine, theirs, strict=True)) / 60:.2f} [" in exact
    cells = [int(text) for text in anna.page.locator("table:has-text('Pairs by grade') td").all_inner_texts()]
    assert cells == [
        sum(m == h and t == j for m, t in zip(mine, theirs, strict=True)) for h in range(4) for j in range(4)
    ]


def test_a_second_look_is_neither_told_as_one_beforehand_nor_counted(site: Sites, person: People) -> None:
    served = site(queries=20, passages=3, queue=only("A"), repeats=2)
    anna = person(served.links["anna"])
    while anna.pair:
        anna.press("2")
    anna.saved()
    events = served.events()
    again = [event for event in events if event.repeat]
    assert len(events) == 62
    assert len(again) == 2
    assert len(fold(events).repeats()) == 2
    anna.press("u")
    assert anna.page.locator("#state").inner_text() == ""
