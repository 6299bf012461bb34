"""Harder days: the server dies and comes back, answers are late, two people, two tabs, other sets, other keyboards."""

from __future__ import annotations

import http.server
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sklearn.metrics import cohen_kappa_score

from goldbench.review.state import fold
from tests.review.conftest import Person, Process, Site, events_of, only, start_process
from tests.review.late_answers import Late
from tests.review.review_set import judge_grades, write_set
from tests.review.test_http import client_of, judgment

Sites = Callable[..., Site]
People = Callable[..., Person]
Servers = Callable[..., Process]
PRESS = """([key, code]) => document.body.dispatchEvent(new KeyboardEvent('keydown', {key, code, bubbles: true}))"""

pytestmark = pytest.mark.slow


def test_two_people_in_two_browsers_judge_exactly_the_overlap_twice(site: Sites, person: People) -> None:
    served = site(annotators=("anna", "bob"), queries=2, passages=5, queue=only("A", overlap=0.2))
    both = [person(served.links[name]) for name in ("anna", "bob")]
    for _ in range(15):
        for one in both:
            if one.pair:
                one.press("2")
                one.saved()
    assert [one.pair for one in both] == ["", ""]
    assert {one.text("asks") for one in both} == {"Nothing is left to judge."}
    state = fold(served.events())
    assert Counter(len(state.judged_by(item.pair)) for item in served.queue) == {1: 8, 2: 2}
    assert all(len(state.judged_by(item.pair)) == item.wanted for item in served.queue)


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


def test_the_figures_shown_are_the_librarys(site: Sites, person: People) -> None:
    served = site(queries=20, passages=4, queue=only("A"), repeats=0)
    client = client_of(served)
    for number in range(65):
        client.post("/api/event", judgment(client, number, grade=(number * number) % 4))
    anna = person()
    anna.page.goto(served.links["anna"])
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


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_set(tmp_path / "set", queries=3, passages=4)


@pytest.fixture
def process(folder: Path) -> Iterator[Servers]:
    running: list[Process] = []

    def start(port: int = 0, *, folder: Path = folder) -> Process:
        options = ("--lanes", "A", "--overlap", "0", "--repeats", "0", "--annotator", "anna")
        running.append(start_process(folder, *options, port=port))
        return running[-1]

    yield start
    for one in running:
        end(one)
        if one.process.stdout:
            one.process.stdout.close()


def end(served: Process) -> None:
    served.process.kill()
    served.process.wait()


def alarmed(person: Person, words: str) -> None:
    person.page.wait_for_function("words => document.getElementById('alarm').textContent.includes(words)", arg=words)


def test_tabs_that_share_a_browser_lose_nothing_offline(process: Servers, person: People, folder: Path) -> None:
    served = process()
    anna = person(served.links["anna"])
    context = anna.page.context
    context.add_init_script("sessionStorage.tab = 'the same'")  # as in a duplicated tab
    anna.page.reload()
    anna.wait_for_passage(None)
    other = Person(context.new_page()).open(f"http://127.0.0.1:{served.port}/")
    for one in (anna, other):
        one.page.wait_for_function("() => items.length === 12")
        one.offline = True
    end(served)
    for one, grades in ((anna, "012"), (other, "2230")):
        for grade in grades:
            one.press(grade)
    kept = context.new_page()
    for one in (anna, other):
        one.page.close(run_before_unload=False)
    process(port=served.port)
    kept.goto(f"http://127.0.0.1:{served.port}/")
    kept.wait_for_selector("#text[data-pair]")
    kept.wait_for_function("() => document.getElementById('saved').textContent === 'saved ✓'")
    events = events_of(folder)
    assert sorted(event.grade for event in events) == [0, 0, 1, 2, 2, 2, 3]
    assert len({event.client_id for event in events}) == 7
    assert len(fold(events).reviews()) == 4
    assert kept.inner_text("#count") == "You: 4 · Everyone: 4 of 12 · Left: 8"


def test_fifty_passages_judged_while_the_server_is_away_arrive_once_each_over_a_bad_connection(
    process: Servers, person: People, tmp_path: Path
) -> None:
    folder = write_set(tmp_path / "large", queries=10, passages=5)
    served = process(folder=folder)
    anna = person(served.links["anna"])
    anna.page.wait_for_function("() => items.length === 50 && !fetching")
    anna.offline = True
    end(served)
    for number in range(50):
        anna.press(str(number % 4), moves=number < 49)
    alarmed(anna, "50 not saved yet")
    assert "The next ones come when the server is back" in anna.text("asks")
    lost: list[int] = []

    def cut(route: Any) -> None:  # the server stores it, and the answer is lost
        if len(lost) < 3:
            lost.append(route.fetch().status)
            route.abort()
        else:
            route.continue_()

    anna.page.route("**/api/event", cut)
    second = process(port=served.port, folder=folder)
    anna.page.wait_for_function("() => queue.length <= 40")
    end(second)
    process(port=served.port, folder=folder)
    anna.page.wait_for_function("() => queue.length === 0")
    assert lost == [200, 200, 200]
    assert [event.grade for event in events_of(folder)] == [number % 4 for number in range(50)]
    assert anna.text("count") == "You: 50 · Everyone: 50 of 50 · Left: 0"


def test_a_set_that_is_replaced_under_an_open_page_loses_no_decision(
    process: Servers, person: People, folder: Path
) -> None:
    served = process()
    anna = person(served.links["anna"])
    anna.page.wait_for_function("() => items.length === 12")
    anna.offline = True
    end(served)
    texts = []
    for grade in "32":
        texts.append(anna.page.evaluate("items[at].text"))
        anna.press(grade)
    before = {path.name: path.read_text() for path in folder.glob("*.json*")}
    for name, text in before.items():
        (folder / name).write_text(text.replace(texts[0][:40], "Another" + texts[0][7:40]))
    second = process(port=served.port)
    anna.saved()
    assert "this set does not hold that passage" in anna.text("state")
    assert [event.grade for event in events_of(folder)] == [2]
    end(second)
    for name, text in before.items():
        (folder / name).write_text(text)
    process(port=served.port)
    anna.page.reload()
    anna.wait_for_passage(None)
    anna.saved()
    assert sorted(event.grade for event in events_of(folder)) == [2, 3]
    assert anna.page.evaluate("Object.keys(localStorage).filter(key => / aside$/.test(key))") == []


def test_digits_and_letters_of_another_script_work(site: Sites, person: People) -> None:
    served = site(queries=1, passages=3)
    anna = person(served.links["anna"])
    first = anna.pair
    for key, code in (("٢", "Digit2"), ("३", "Numpad3")):
        before = anna.pair
        anna.page.evaluate(PRESS, [key, code])
        anna.wait_for_passage(before)
    for key, code in (("ع", "KeyU"), ("г", "KeyU")):
        before = anna.pair
        anna.page.evaluate(PRESS, [key, code])
        anna.wait_for_passage(before)
    assert anna.pair == first
    for key, code in (("é", "Digit2"), ("²", "Digit2"), ("ü", "KeyU")):  # not digits, and Latin
        anna.page.evaluate(PRESS, [key, code])
    anna.saved()
    assert [event.grade for event in served.events()] == [2, 3, None, None]


def test_a_note_goes_with_its_passage_and_is_not_lost(site: Sites, person: People) -> None:
    served = site(queries=1, passages=3)
    anna = person(served.links["anna"])
    anna.press("1")
    anna.press("n", moves=False)
    anna.page.keyboard.type("about the second")
    anna.page.evaluate("go(at - 1)")
    anna.press("n", moves=False)
    anna.page.keyboard.type("about the first")
    assert anna.page.evaluate(
        "() => { const e = new Event('beforeunload', {cancelable: true}); dispatchEvent(e); return e.defaultPrevented }"
    )
    anna.saved()
    notes = {(event.query_id, event.chunk_id): event.note for event in served.events() if event.note}
    pairs = [item.pair for item in served.queue]
    assert notes == {pairs[1]: "about the second", pairs[0]: "about the first"}


def test_a_grade_pressed_while_the_server_takes_one_back_is_for_no_other_passage(site: Sites, person: People) -> None:
    served = site(queries=2, passages=4)
    anna = person(served.links["anna"])
    for grade in "32":
        anna.press(grade)
    last = anna.pair
    anna.press("1")
    anna.saved().page.reload()  # only the server knows the three judgments now
    anna.wait_for_passage(None)
    late, here = Late(anna.page, "/api/event"), anna.pair
    anna.press("u", moves=False)
    late.wait()
    for key in ("0", "u", "Shift+U"):
        anna.press(key, moves=False)
    assert anna.pair == here
    late.let_go()
    anna.wait_for_passage(here)
    assert anna.pair == last
    anna.press("0")
    anna.saved()
    said = [(event.kind.value, event.grade) for event in served.events()]
    assert said == [("judge", 3), ("judge", 2), ("judge", 1), ("undo", None), ("judge", 0)]
    assert late.asked == 2
