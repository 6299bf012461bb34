"""A port that is taken, the first minute, the rubric, every page's look."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from goldbench.errors import InputError, OutputError
from goldbench.goldset.folder import LONGEST_RUBRIC, GoldFolder
from goldbench.prompts.rubric import DEFAULT
from goldbench.review.assignment import Team
from goldbench.review.page_server import PageSettings, listening
from tests.review.conftest import Person, Site, only

Sites = Callable[..., Site]
People = Callable[..., Person]


def test_a_taken_port_moves_on_only_if_asked() -> None:
    notes: list[str] = []
    with listening(PageSettings((), 0), complain=notes.append) as first:
        port = first.getsockname()[1]
        taken = listening(PageSettings((), port), complain=notes.append)
        with pytest.raises(OutputError, match=f"port {port} of .* cannot be used"), taken:
            pass
        assert notes == []
        with listening(PageSettings((), port, elsewhere=True), complain=notes.append) as second:
            assert port < second.getsockname()[1] <= port + 20
        assert len(notes) == 1


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


SMALL_BUTTONS = """() => [...document.querySelectorAll('button')].filter(one => one.offsetParent)
    .map(one => one.getBoundingClientRect()).filter(box => box.height < 44 || box.width < 44).length"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {"viewport": {"width": 360, "height": 740}, "color_scheme": "dark"},
        {"viewport": {"width": 640, "height": 450}, "device_scale_factor": 2},  # 1280 by 900 at 200 %
    ],
    ids=["360-dark", "zoom"],
)
def test_no_page_has_a_barrier(site: Sites, person: People, options: dict[str, Any]) -> None:
    from axe_playwright_python.sync_playwright import Axe

    ours = "## Ours\n\n| a | b |\n|---|---|\n| 1 | `2` |\n\n> quoted\n\n```\ncode\n```\n"
    team = Team(("anna", "bob"), frozenset({"bob"}))
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
    assert anna.page.evaluate(SMALL_BUTTONS) == 0
    for key in ("b", "g", "?"):
        anna.press(key, moves=False)
        anna.page.locator("dialog[open]").wait_for()
        check(key)
        anna.press("Escape", moves=False)
    for path in ("history", "progress", "adjudicate"):
        anna.visit(served.base + path)
        check(path)
