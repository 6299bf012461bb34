"""What people do with a page that nobody planned: two links in one browser, tabs, other sets, other keyboards."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from goldbench.review.state import fold
from tests.review.conftest import Person, Process, Site, events_of, only, start_process
from tests.review.review_set import write_set

Sites = Callable[..., Site]
People = Callable[..., Person]
Servers = Callable[..., Process]

pytestmark = pytest.mark.slow

PRESS = """([key, code]) => document.body.dispatchEvent(new KeyboardEvent('keydown', {key, code, bubbles: true}))"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_set(tmp_path / "set", queries=3, passages=4)


@pytest.fixture
def process(folder: Path) -> Iterator[Servers]:
    running: list[Process] = []

    def start(port: int = 0) -> Process:
        running.append(start_process(folder, "--lanes", "A", "--overlap", "0", "--annotator", "anna", port=port))
        return running[-1]

    yield start
    for one in running:
        end(one)
        if one.process.stdout:
            one.process.stdout.close()


def end(served: Process) -> None:
    served.process.kill()
    served.process.wait()


def alarmed(one: Person, words: str) -> None:
    one.page.wait_for_function("words => document.getElementById('alarm').textContent.includes(words)", arg=words)


def test_two_people_in_one_browser_never_judge_in_each_others_name(site: Sites, person: People) -> None:
    served = site(queries=2, passages=3, annotators=("anna", "bob"), queue=only("A", overlap=1.0))
    anna = person(served.links["anna"])
    anna.offline = True  # the browser itself complains of what is refused here
    anna.page.context.new_page().goto(served.links["bob"])
    anna.press("2")
    alarmed(anna, "This browser now belongs to bob: open your own link again")
    assert served.events() == []
    anna.page.context.new_page().goto(served.links["anna"])
    anna.saved()
    assert [(event.annotator, event.grade) for event in served.events()] == [("anna", 2)]


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


def test_a_connection_that_breaks_twice_and_a_killed_server_store_once(
    process: Servers, person: People, folder: Path
) -> None:
    served = process()
    anna = person(served.links["anna"])
    anna.page.wait_for_function("() => items.length === 12")
    anna.offline = True
    end(served)
    for i in range(12):
        anna.press(str(i % 4), moves=i < 11)
    assert "The next ones come when the server is back" in anna.text("asks")
    lost = []

    def cut(route: Any) -> None:  # the server stores it, and the answer is lost
        if len(lost) < 3:
            lost.append(route.fetch().status)
            route.abort()
        else:
            route.continue_()

    anna.page.route("**/api/event", cut)
    second = process(port=served.port)
    anna.page.wait_for_function("() => queue.length <= 6")
    end(second)
    process(port=served.port)
    anna.page.wait_for_function("() => queue.length === 0")
    assert lost == [200, 200, 200]
    assert [event.grade for event in events_of(folder)] == [i % 4 for i in range(12)]
    assert anna.text("count") == "You: 12 · Everyone: 12 of 12 · Left: 0"


def test_another_program_at_the_address_takes_no_decision(process: Servers, person: People, folder: Path) -> None:
    served = process()
    anna = person(served.links["anna"])
    anna.page.wait_for_function("() => items.length === 12")
    anna.offline = True
    end(served)

    answers = [(404, {"detail": "Not Found"}), (200, {}), (400, {"detail": "no"})]
    answered = threading.Event()

    class Other(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            status, body = answers.pop(0)
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(json.dumps(body).encode())
            if not answers:
                answers.append((status, body))
                answered.set()

        def log_message(self, *_: object) -> None:
            pass

    http.server.HTTPServer.allow_reuse_address = True
    with http.server.HTTPServer(("127.0.0.1", served.port), Other) as other:
        threading.Thread(target=other.serve_forever).start()
        anna.press("3")
        alarmed(anna, "Something else than this review answers. 1 not saved yet")
        assert answered.wait(60)
        other.shutdown()
    process(port=served.port)
    anna.saved()
    assert [event.grade for event in events_of(folder)] == [3]


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


def test_a_page_whose_browser_keeps_nothing_says_so_and_goes_on(process: Servers, person: People) -> None:
    served = process()
    anna = person(served.links["anna"])
    anna.page.wait_for_function("() => items.length === 12")
    anna.page.evaluate(
        "() => { Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError') } }"
    )
    anna.offline = True
    end(served)
    anna.press("1")
    anna.press("2")
    alarmed(anna, "2 not saved yet: this browser cannot keep them. Do not close this page.")


def test_on_the_page_of_disagreements_a_double_press_settles_one_and_undo_leaves_judgments_alone(
    site: Sites, person: People
) -> None:
    served = site(queries=1, passages=3, annotators=("anna", "bob", "carl"), queue=only("A", overlap=1.0))
    for name, grade in (("anna", "0"), ("bob", "3")):
        one = person(served.links[name])
        for _ in range(3):
            one.press(grade)
        one.saved()
    anna = person()
    anna.page.goto(served.links["anna"])
    anna.page.goto(served.base + "adjudicate")
    anna.page.locator("#others li").wait_for()
    assert anna.page.locator("#undo").is_disabled()
    anna.page.keyboard.press("u")
    carl = person()
    carl.page.goto(served.links["carl"])
    carl.page.goto(served.base + "adjudicate")
    carl.page.locator("#dispute").wait_for()
    assert carl.text("left") == "3 disagreements left"
    carl.page.wait_for_function("() => performance.now() - shownAt > TOO_SOON_MS")
    carl.page.evaluate(
        "() => { for (const key of ['2', '2'])"
        " document.body.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true})) }"
    )
    carl.page.wait_for_function("() => document.getElementById('left').textContent === '2 disagreements left'")
    carl.page.wait_for_timeout(100)
    assert carl.text("left") == "2 disagreements left"
    carl.page.keyboard.press("u")
    carl.page.wait_for_function("() => document.getElementById('left').textContent === '3 disagreements left'")
    assert carl.page.locator("#undo").is_disabled()
    state = fold(served.events())
    assert len(state.reviews()) == 6
    assert state.adjudicated() == {}
