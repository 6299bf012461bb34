"""Passages as HTML: Markdown rendered, anchors on every character, nothing hostile, nothing hidden, bounded work."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from bs4 import BeautifulSoup, Tag
from hypothesis import given
from hypothesis import strategies as st

from goldbench.report.passage_html import passage_html

TAGS = set(
    "blockquote code em hr li ol p pre s span strong table tbody td th thead tr ul".split()  # noqa: SIM905
)
ATTRIBUTES = {
    "class": "plain|h[1-6]|image|link",
    "data-at": r"\d+",
    "data-to": r"\d+",
    "dir": "auto|ltr|rtl",
    "value": r"\d+",
}

TABLE = "| Taste | Wert |\n|---|--:|\n| `a\\|b` | **12** kg |\n| Öl &amp; Gas | 7 |\n"
GUIDE = f"""# Häufige *Fragen*

Das **Gerät** [öffnen](http://evil.example/x "Titel") \\*nicht\\* ziehen 😀 &lt;so&gt;.
Zweite Zeile mit `code  span`.

{TABLE}
3. drei
7. sieben
   - darunter

> zitiert
> ```sh
> rm -rf "$x"
> ```
"""


def soup(text: str, **more: object) -> BeautifulSoup:
    html = f"<div>{passage_html(text, **more)}</div>"  # type: ignore[arg-type]
    return BeautifulSoup(html, "html.parser", preserve_whitespace_tags={"div"})


def marked(text: str, span: tuple[int, int]) -> str:
    """Return the visible characters that stand for a stretch of the passage."""
    start, end = span
    return "".join(char for char, at, to in visible(text) if max(at, start) < min(to, end))


def span_of(text: str, words: str) -> tuple[int, int]:
    assert text.count(words) == 1
    return text.index(words), text.index(words) + len(words)


def units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def visible(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield every visible character with the stretch of the passage that it stands for, by the anchors."""
    place = {units(text[:i]): i for i in range(len(text) + 1)}
    for one in soup(text, anchors=True).select("[data-at]"):
        start, said = place[int(one["data-at"])], one.get_text()
        if one.get("data-to"):
            yield from ((char, start, place[int(one["data-to"])]) for char in said)
        else:
            yield from ((char, start + i, start + i + 1) for i, char in enumerate(said))


def test_headings_tables_lists_code_and_emphasis_become_elements() -> None:
    found = soup(GUIDE)
    assert found.find("p", class_="h1").get_text() == "Häufige Fragen"
    assert [[cell.get_text() for cell in row.find_all(["th", "td"])] for row in found.find_all("tr")] == [
        ["Taste", "Wert"],
        ["a|b", "12 kg"],
        ["Öl & Gas", "7"],
    ]
    assert [(item["value"], item.contents[0].get_text()) for item in found.select("ol > li")] == [
        ("3", "drei"),
        ("7", "sieben"),
    ], "numbers are those of the passage, not counted anew"
    assert found.select("ol li ul li")[0].get_text() == "darunter"
    assert 'rm -rf "$x"' in found.find("blockquote").find("pre").get_text()
    assert "*nicht* ziehen 😀 <so>." in found.get_text()
    assert found.find("code").get_text() == "code  span"


@pytest.mark.parametrize("text", ["***", "```\n```", "~~~\n\n~~~\n"])
def test_a_passage_of_markup_alone_is_shown_as_it_is(text: str) -> None:
    assert soup(text).get_text() == text


def test_a_link_is_its_words_and_a_passage_with_a_definition_is_shown_as_it_is() -> None:
    found = soup(GUIDE)
    assert found.find("span", class_="link").get_text() == "öffnen"
    assert not found.find_all(["a", "img"])
    definition = "**Words**\n\n[1]: http://evil.example/definition\n"
    assert soup(definition).find("pre", class_="plain").get_text() == definition
    assert soup("![Plan *A*](http://evil.example/p.png)").find("span", class_="image").get_text() == "Plan A"


def test_a_passage_of_which_something_would_not_be_seen_is_shown_as_plain_text() -> None:
    extra = "| a | b |\n|---|---|\n| 1 | 2 | the third cell has no column |\n"
    assert soup(extra).get_text() == extra
    assert soup(extra).find("pre", class_="plain")
    definition = "> [note]: hidden\n> text"
    assert "hidden" in soup(definition).get_text()


@pytest.mark.parametrize(
    ("words", "seen"),
    [
        ('**Gerät** [öffnen](http://evil.example/x "Titel") \\*nicht', "Gerät öffnen *nicht"),
        ("😀 &lt;so", "😀 <so"),
        ("`a\\|b` | **12** kg", "a|b12 kg"),
        ("Öl &amp; Gas", "Öl & Gas"),
        ("ziehen 😀 &lt;so&gt;.\nZweite Zeile mit `code  span`", "ziehen 😀 <so>.\nZweite Zeile mit code  span"),
        ("sieben\n   - darunter", "siebendarunter"),
    ],
)
def test_anchors_give_exactly_the_visible_characters_of_the_evidence(words: str, seen: str) -> None:
    assert marked(GUIDE, span_of(GUIDE, words)) == seen


def test_line_ends_of_windows_and_null_characters_keep_every_place() -> None:
    text = "eins\r\nzwei **drei**\r\n\r\n```\r\nvier\r\nfünf\r\n```\r\nse\0chs"
    for word in ("zwei", "drei", "vier", "fünf", "chs"):
        assert marked(text, span_of(text, word)) == word


PLAIN_WORDS = st.sampled_from(["Öl", "alpha", "بيت", "中文", "x9", "😀q", "straße", "𝒳y"])
WRAPS = ["{}", "**{}**", "*{}*", "`{}`", "~~{}~~", "**a *{}* b**", "{} &amp; \\*"]
TABLE_OF_TWO = "| {} | {} |\n|-|-|\n| {} | z |\n\n"
BLOCKS = ["{}\n\n", "## {}\n\n", "- {}\n- {}\n\n", "> {}\n> {}\n\n", "```\n{}\n```\n\n", TABLE_OF_TWO]


@st.composite
def passages(draw: st.DrawFn) -> str:
    """A passage of known words in all sorts of markup, none of which holds letters of its own."""

    def line() -> str:
        return " ".join(draw(st.sampled_from(WRAPS)).format(draw(PLAIN_WORDS)) for _ in range(draw(st.integers(1, 3))))

    blocks = draw(st.lists(st.sampled_from(BLOCKS), min_size=1, max_size=4))
    return "".join(block.format(*(line() for _ in range(block.count("{}")))) for block in blocks)


def letters(text: str) -> str:
    return "".join(char for char in text if char.isalnum()).replace("amp", "")


@given(passages(), st.data())
def test_a_stretch_has_the_letters_of_the_evidence_and_no_other(text: str, data: st.DataObject) -> None:
    end = data.draw(st.integers(0, len(text)))
    start = data.draw(st.integers(0, end))
    if re.search(r"&a?m?p?$", text[:start]) or re.search(r"&a?m?p?$", text[:end]):
        return
    assert letters(marked(text, (start, end))) == letters(text[start:end])


HOSTILE = [
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<svg/onload=alert(1)>",
    "<style>*{display:none}</style>",
    "[x](javascript:alert(1))", "![](http://evil.example/p.png)", "<http://evil.example>", "[a]: data:text/html,x\n",
    "&lt;script&gt;", "&#60;img src=y onerror=z&#62;", "</pre>", "</mark>", "</span>", "<!--", "-->",
    "<![CDATA[", "]]>",
    "<base href=//evil.example>", "<a href=//evil.example>", "<form action=//evil.example>", "<math><mi xlink:href=x>",
    "`", "``", "\n```\n", "|", "\n|-|\n", "* ", "**", "_", "~~", "> ", "\n\n", "\n", "    ", "\t", "1. ",
    "- [x] ", "\\",
    "[", "](", ")", "![", "\0", "\r\n", "\u202e", "\u2066", "\ud800", "\u2028", "<br>",
    "a", "é", "中", "\U0001f600", "<", "&", '"', "'",
]  # fmt: skip


@given(st.lists(st.sampled_from(HOSTILE) | st.text(max_size=3), max_size=25).map("".join))
def test_hostile_texts_give_only_known_tags_and_anchors_change_no_text(text: str) -> None:
    for html in (passage_html(text), passage_html(text, anchors=True)):
        for tag in BeautifulSoup(html, "html.parser").find_all(True):
            assert isinstance(tag, Tag)
            assert tag.name in TAGS
            for name, value in tag.attrs.items():
                assert re.fullmatch(ATTRIBUTES[name], value if isinstance(value, str) else " ".join(value))
    assert soup(text, anchors=True).get_text() == soup(text).get_text()


@pytest.mark.parametrize(
    "text",
    [
        "[" * 50_000,
        "> " * 20_000 + "x",
        "*a _b " * 9_000,
        "<" * 50_000,
        "|" * 50_000 + "\n" + "|-" * 20_000,
        "[a](" * 12_000,
        "a\n" * 25_000,
        "[" * 1_000_000,
        "|\\|",
    ],
    ids=lambda text: f"{text[:4]!r}",
)
def test_work_is_bounded_whatever_the_text(text: str) -> None:
    html = passage_html(text, anchors=True)
    assert html.count("<") < 400_000
    assert re.sub(r"<[^>]*>", "", html).strip()


def test_every_block_has_the_direction_of_its_own_text() -> None:
    page = soup("- بيت\n- house\n\n> Zitat\n\n| مدينة | city |\n|-|-|\n| بغداد | 7 |")
    assert {page.find(tag)["dir"] for tag in ("ul", "li", "blockquote", "table", "th", "p")} == {"auto"}
