"""Passages on the page: Markdown rendered, raw text one key away, quotes exact, every script in its own order."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from goldbench.report.passage_html import passage_words
from tests.review.conftest import Person, Site
from tests.review.plain_sets import ARABIC, CHINESE, GERMAN, write_plain_set

Sites = Callable[..., Site]
People = Callable[..., Person]


PLACES = """([id, text]) => {
    const box = document.getElementById(id);
    const style = getComputedStyle(box);
    const [right, left, top] = ['paddingRight', 'paddingLeft', 'paddingTop'].map((side) => parseFloat(style[side]));
    const plain = document.createElement('div');
    plain.dir = 'rtl';
    plain.textContent = text;
    Object.assign(plain.style, {font: style.font, lineHeight: style.lineHeight, whiteSpace: 'pre-wrap',
        overflowWrap: 'anywhere', width: `${box.getBoundingClientRect().width - 2 * box.clientLeft - left - right}px`});
    document.body.append(plain);
    const places = (root, x, y) => {
        const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
        const corner = root.getBoundingClientRect();
        const found = [];
        for (let node = walker.nextNode(); node; node = walker.nextNode())
            for (let i = 0; i < node.data.length; i += 1) {
                const range = document.createRange();
                range.setStart(node, i);
                range.setEnd(node, i + 1);
                const at = range.getBoundingClientRect();
                found.push([Math.round(at.left - corner.left - x), Math.round(at.top - corner.top - y)]);
            }
        return found;
    };
    const both = [places(box, box.clientLeft + left, box.clientTop + top), places(plain, 0, 0)];
    plain.remove();
    return both;
}"""
SELECT = """([from, to]) => {
    const walker = document.createTreeWalker(document.getElementById('text'), NodeFilter.SHOW_TEXT);
    let first = null, last = null;
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        if (!first && node.data.includes(from)) first = [node, node.data.indexOf(from)];
        if (first && node.data.includes(to)) last = [node, node.data.indexOf(to) + to.length];
    }
    getSelection().setBaseAndExtent(...first, ...last);
}"""


def of_texts(site: Sites, path: Path, texts: dict[str, str], **more: Any) -> Site:
    asked = more.pop("asked", "Was?")
    return site(write_plain_set(path / "texts", texts, asked), **more)


def assert_as_plain(someone: Person, text: str) -> None:
    """Check that every character stands where the browser puts it in the plain text, from right to left."""
    here, plain = someone.page.evaluate(PLACES, ["text", text])
    assert len(here) == len(text)
    assert [i for i in range(len(here)) if max(abs(here[i][side] - plain[i][side]) for side in (0, 1)) > 1] == []


def test_arabic_stands_in_the_order_of_plain_arabic_rendered_raw_and_marked(
    site: Sites, person: People, tmp_path: Path
) -> None:
    served = of_texts(site, tmp_path, {"c1": ARABIC}, asked="متى تأسست المدينة؟ (Baghdad)")
    anna = person(served.links["anna"])
    anna.press("Escape", moves=False)
    assert anna.page.evaluate("getComputedStyle(document.getElementById('asks')).direction") == "rtl"
    assert_as_plain(anna, ARABIC)
    anna.press("h", moves=False)
    assert "المدينة" in anna.page.locator("#text mark").all_inner_texts()
    assert_as_plain(anna, ARABIC)
    anna.press("r", moves=False)
    assert_as_plain(anna, ARABIC)


def test_markdown_is_rendered_and_the_raw_text_is_one_key_away(site: Sites, person: People, tmp_path: Path) -> None:
    anna = person(of_texts(site, tmp_path, {"c1": GERMAN}).links["anna"])
    shown = anna.text("text")
    for syntax in ("##", "**", "|", "```", "](", "&amp;", "evil"):
        assert syntax not in shown.replace("D-17|b", ""), syntax
    rows = anna.page.locator("#text tr")
    assert [rows.nth(i).locator("th, td").all_inner_texts() for i in range(3)] == [
        ["Teil", "Nummer", "Größe"],
        ["Dichtung", "D-17|b", "12 mm"],
        ["Öl & Fett", "42", "–"],
    ]
    anna.press("r", moves=False)
    assert anna.page.evaluate("document.getElementById('text').textContent") == GERMAN
    assert anna.page.locator("[data-act=raw]").get_attribute("aria-pressed") == "true"
    anna.press("r", moves=False)
    assert anna.text("text") == shown


@pytest.mark.slow
@pytest.mark.parametrize(
    ("raw", "chosen", "stored"),
    [
        (False, ("Die Dichtung", "prüfen"), "Die Dichtung ist *alle 500 Stunden* zu prüfen"),
        (False, ("D-17", "12 mm"), "D-17\\|b` | 12 mm"),
        (True, ("**langsam**", "**langsam**"), "**langsam**"),
    ],
)
def test_a_quote_is_the_raw_text_behind_the_selection_and_is_marked_exactly(
    shared: Site, person: People, raw: bool, chosen: tuple[str, str], stored: str
) -> None:
    before = len(shared.events())
    anna = person()
    anna.page.goto(shared.links["anna"])
    anna.wait_for_passage(None)
    if raw:
        anna.press("r", moves=False)
    anna.page.evaluate(SELECT, list(chosen))
    anna.press("e", moves=False)
    anna.saved()
    (event,) = shared.events()[before:]
    assert event.evidence == stored
    assert GERMAN.count(stored) == 1
    seen = "".join(anna.page.locator("#text mark.evidence").all_text_contents())
    letters = "".join(char for char in stored.replace("&amp;", "&") if char.isalnum())
    assert "".join(char for char in seen if char.isalnum()) == letters
    anna.press("r", moves=False)
    other = "".join(anna.page.locator("#text mark.evidence").all_text_contents())
    assert other == (stored if not raw else "langsam")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Any:
    from tests.review.conftest import serving

    place = tmp_path_factory.mktemp("quotes")
    with serving(place) as start:
        yield start(write_plain_set(place / "texts", {"c1": GERMAN}))


HOSTILE = (
    "<img src=http://evil.example/a.png onerror=window.broken=1> ![x](http://evil.example/b.png)\n\n"
    "<script>window.broken=2</script>\n\n<svg onload=window.broken=3>\n\n[go](javascript:window.broken=4) "
    "<iframe src=//evil.example></iframe>\n\n<style>body{display:none}</style> <base href=//evil.example>\n"
)


def test_a_hostile_passage_and_a_hostile_rubric_neither_run_nor_load(
    site: Sites, person: People, tmp_path: Path
) -> None:
    served = of_texts(site, tmp_path, {"c1": HOSTILE, "c2": HOSTILE}, rubric=f"# Rules\n\n{HOSTILE}")
    anna = person(served.links["anna"])
    anna.press("r", moves=False)
    anna.press("r", moves=False)
    anna.press("2")
    assert anna.page.evaluate("window.broken") is None
    assert anna.page.locator("main :is(img, script, svg, iframe, style, base, a)").count() == 0
    assert "window.broken=2" in anna.page.locator("#rubric").inner_text()
    assert not [url for url in anna.asked if "evil" in url]  # the fixture checks every address, too


@pytest.mark.slow
@pytest.mark.parametrize("text", [ARABIC, CHINESE], ids=["ar", "zh"])
def test_passages_of_other_scripts_are_shown_in_their_own_order_without_a_barrier(
    site: Sites, person: People, tmp_path: Path, text: str
) -> None:
    served = of_texts(site, tmp_path, {"c1": text})
    narrow: dict[str, Any] = {"viewport": {"width": 360, "height": 740}, "color_scheme": "dark"}
    look_at(person(served.links["anna"], **narrow), text, arabic=text == ARABIC)


def look_at(someone: Person, text: str, *, arabic: bool) -> None:
    from axe_playwright_python.sync_playwright import Axe

    someone.press("Escape", moves=False)
    assert someone.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    if arabic:
        assert_as_plain(someone, text)
    someone.press("h", moves=False)
    assert [one["id"] for one in Axe().run(someone.page).response["violations"]] == []


def test_the_beginning_of_a_passage_in_a_list_has_no_markdown() -> None:
    assert passage_words("# Head\n\n- one\n- `two`\n\n| a | b |\n|---|---|\n| 1 | 2 |\n") == "Head one two a b 1 2"
    assert passage_words("<b>x</b> &amp; [words](https://x.example)") == "<b>x</b> & words"
