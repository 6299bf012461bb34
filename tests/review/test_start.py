"""A reserve for times without the server, a port that is taken, the first minute, the rubric, every page's look."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from goldbench.errors import InputError, UsageError
from goldbench.goldset.folder import LONGEST_RUBRIC, GoldFolder
from goldbench.prompts.rubric import DEFAULT, Rubric
from goldbench.review.server import Place, listening
from goldbench.review.team import Team, team_of
from tests.conftest import Goldbench
from tests.review.conftest import Person, Site, events_of, only, start_process
from tests.review.review_set import write_set

Sites = Callable[..., Site]
People = Callable[..., Person]
RESERVE = "() => items.slice(at).filter((item) => !item.said).length > 50 && !fetching"


@pytest.mark.slow
def test_fifty_passages_judged_while_the_server_is_away_arrive_once_each(person: People, tmp_path: Path) -> None:
    folder = write_set(tmp_path / "set", queries=12, passages=6)
    options = ("--lanes", "A", "--overlap", "0", "--repeats", "0", "--annotator", "anna")
    served = start_process(folder, *options)
    anna = person(served.links["anna"])
    anna.press("3")
    anna.saved()
    anna.page.wait_for_function(RESERVE)
    served.process.kill()
    served.process.wait()
    anna.offline = True
    seen = []
    for i in range(50):
        seen.append(anna.pair)
        anna.press(str(i % 4))
    assert len(set(seen)) == 50
    anna.page.locator("#alarm", has_text="50 not saved yet").wait_for()
    assert anna.text("count") == "You: 51 · Everyone: 51 of 72 · Left: 21"
    again = start_process(folder, *options, port=served.port)
    anna.saved()
    events = events_of(folder)
    assert [event.grade for event in events] == [3, *(i % 4 for i in range(50))]
    assert set(Counter((event.query_id, event.chunk_id) for event in events).values()) == {1}
    assert anna.text("count") == "You: 51 · Everyone: 51 of 72 · Left: 21"
    again.process.kill()
    again.process.wait()
    for one in (served, again):
        one.process.stdout.close()  # type: ignore[union-attr]


@pytest.mark.slow
def test_a_page_drops_what_others_took_over_from_its_reserve(site: Sites, person: People) -> None:
    served = site(annotators=("anna", "bob"), queries=1, passages=13, queue=only("A"))
    anna = person(served.links["anna"])
    anna.page.wait_for_function("() => items.length === 13")
    bob = person(served.links["bob"])
    bob.page.wait_for_function("() => items.length > 0")
    for one in (anna, bob) * 12:
        if one.pair:
            one.press("1")
            one.saved()
    events = served.events()
    assert len(events) == 13
    assert set(Counter(event.chunk_id for event in events).values()) == {1}
    assert {event.annotator for event in events} == {"anna", "bob"}


def test_a_taken_port_moves_on_only_if_asked() -> None:
    from goldbench.errors import OutputError

    notes: list[str] = []
    with listening(Place((), 0), complain=notes.append) as first:
        port = first.getsockname()[1]
        taken = listening(Place((), port), complain=notes.append)
        with pytest.raises(OutputError, match=f"port {port} of .* cannot be used"), taken:
            pass
        assert notes == []
        with listening(Place((), port, elsewhere=True), complain=notes.append) as second:
            assert port < second.getsockname()[1] <= port + 20
        assert len(notes) == 1


@pytest.mark.slow
def test_without_a_port_the_next_free_one_is_used_and_told_and_a_given_one_is_not_left(tmp_path: Path) -> None:
    folder = write_set(tmp_path / "set", queries=1, passages=2)
    command = [sys.executable, "-m", "goldbench", "review", str(folder), "--annotator", "anna"]
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            taken.bind(("127.0.0.1", 8808))
        except OSError:
            pytest.skip("port 8808 is taken by another program")
        taken.listen()
        refused = subprocess.run([*command, "--port", "8808"], capture_output=True, text=True, timeout=60, check=False)
        assert refused.returncode != 0
        assert "port 8808 of 127.0.0.1 cannot be used" in refused.stderr
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
            assert process.stdout is not None
            said = ""
            started = time.monotonic()
            while "token=" not in said and time.monotonic() - started < 60:
                said += process.stdout.readline()
            process.kill()
    moved = re.search(r"port 8808 is taken by another program; the page is at port (\d+)", said)
    assert moved, said
    assert f"anna: http://127.0.0.1:{moved[1]}/?token=" in said


def test_the_first_minute_is_explained_once_and_again_by_a_key(site: Sites, person: People) -> None:
    served = site(queries=1, passages=4)
    anna = person(served.links["anna"])
    welcome = anna.page.locator("#welcome")
    assert "the passage alone" in welcome.inner_text()
    anna.press("Escape", moves=False)
    assert not welcome.is_visible()
    anna.page.reload()
    anna.wait_for_passage(None)
    assert not welcome.is_visible()
    anna.press("?", moves=False)
    assert "the passage alone" in anna.page.locator("#help").inner_text()
    assert "raw text" in anna.page.locator("#help").inner_text()
    anna.press("Escape", moves=False)
    anna.press("2")
    anna.saved()
    other = person(served.links["anna"])
    assert not other.page.locator("#welcome").is_visible(), "who has judged knows the page"


def test_a_rubric_is_the_file_in_the_folder_the_built_in_one_or_refused(tmp_path: Path) -> None:
    assert GoldFolder(tmp_path).rubric() == DEFAULT
    path = tmp_path / "rubric.md"
    path.write_text("# Ours \r\n\r\nBe strict.\r\n", encoding="utf-8-sig", newline="")
    ours = GoldFolder(tmp_path).rubric()
    path.write_text("# Ours\n\nBe strict.", encoding="utf-8")
    assert GoldFolder(tmp_path).rubric().sha == ours.sha != DEFAULT.sha
    for text in (b" \n", b"\xff\xfe", b"x" * (LONGEST_RUBRIC + 1)):
        path.write_bytes(text)
        with pytest.raises(InputError):
            GoldFolder(tmp_path).rubric()


def test_people_see_the_rubric_of_the_set_and_its_digest_goes_with_every_judgment(site: Sites, person: People) -> None:
    import sqlite3

    ours = Rubric.of("## Ours\n\n- A **recall** notice is *always* grade 3.\n")
    served = site(queries=1, passages=2, rubric=ours.text)
    anna = person(served.links["anna"])
    assert anna.page.locator("#rubric li").inner_text() == "A recall notice is always grade 3."
    anna.press("1")
    anna.saved()
    assert [event.rubric_sha for event in served.events()] == [ours.sha]
    with sqlite3.connect(served.folder / "review.sqlite") as database:
        texts = [text for (text,) in database.execute("SELECT text FROM goldbench_text")]
    database.close()
    assert ours.text in texts


@pytest.mark.parametrize(
    ("targets", "found"),
    [(["50"], {"anna": 50, "bob": 50}), (["50", "bob=7"], {"anna": 50, "bob": 7}), (["carl=3"], {"carl": 3}), ([], {})],
)
def test_targets_are_for_one_person_or_for_everybody_who_judges(targets: list[str], found: dict[str, int]) -> None:
    assert team_of(("anna", "bob"), ("carl",), targets) == Team(("anna", "bob", "carl"), frozenset({"carl"}), found)


@pytest.mark.parametrize("target", ["0", "x", "anna=", "anna=-1", "anna=1.5", "zoe=3", "9999999999999"])
def test_a_target_that_makes_no_sense_is_refused(target: str) -> None:
    with pytest.raises(UsageError, match="--target"):
        team_of(("anna",), (), [target])


@pytest.mark.slow
def test_the_command_refuses_a_lead_without_a_name(goldbench: Goldbench, tmp_path: Path) -> None:
    folder = write_set(tmp_path / "set", queries=1, passages=1)
    done = goldbench("review", folder, "--annotator", "anna", "--lead", " ")
    assert done.returncode == 2
    assert "--lead: give a name" in done.stderr


SCREENS = [
    {},
    {"color_scheme": "dark"},
    {"viewport": {"width": 360, "height": 740}},
    {"viewport": {"width": 360, "height": 740}, "color_scheme": "dark"},
]


@pytest.mark.slow
@pytest.mark.parametrize("options", SCREENS, ids=["light", "dark", "360", "360-dark"])
def test_no_page_has_a_barrier(site: Sites, person: People, options: dict[str, Any]) -> None:
    from axe_playwright_python.sync_playwright import Axe

    ours = "## Ours\n\n| a | b |\n|---|---|\n| 1 | `2` |\n\n> quoted\n\n```\ncode\n```\n"
    team = Team(("anna", "bob"), frozenset({"bob"}), {"anna": 1})
    served = site(
        annotators=team.annotators, team=team, rubric=ours, queries=2, passages=3, queue=only("B", overlap=1.0)
    )
    bob = person(served.links["bob"])
    for _ in range(6):
        bob.press("0")
    bob.saved()
    anna = person(served.links["anna"], **options)

    def check(what: str) -> None:
        assert anna.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), what
        found = Axe().run(anna.page).response["violations"]
        assert [(what, one["id"], one["nodes"][0]["html"]) for one in found] == []

    check("first minute")
    anna.press("Escape", moves=False)
    anna.press("n", moves=False)
    anna.page.keyboard.type("a note")
    anna.press("Enter", moves=False)
    anna.press("h", moves=False)
    anna.press("c", moves=False)
    anna.page.locator("[data-act=context][aria-pressed=true]").wait_for()
    check("judging")
    anna.press("3")
    anna.saved()
    check("judged")
    anna.press("?", moves=False)
    check("help")
    for path in ("history", "progress", "adjudicate"):
        anna.visit(served.base + path)
        check(path)
