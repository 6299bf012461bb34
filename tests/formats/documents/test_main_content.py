"""The main content of a page, as documentation generators and hand-made pages mark it and do not mark it."""

from __future__ import annotations

import re
import time

import pytest

from goldbench.formats.documents.html_text import html_to_text

WORDS = "The pump runs until the tank is full, and it stops by itself when nobody has switched it off before that. " * 2


def text_of(page: str) -> str:
    return html_to_text(page)[1]


@pytest.mark.parametrize(
    "link",
    [
        "<a class='headerlink' href='#pump' title='Permalink to this headline'>¶</a>",
        "<a class='headerlink' href='#pump'>Link to this heading</a>",
        "<a href='#pump'>¶</a>",
        "<a href='page.html#pump'>§</a>",
        "<a href='#pump'>#</a>",
        "<span><a href='#pump'> # </a></span>",
        "<a class='anchor' aria-hidden='true' href='#pump'>🔗</a>",
        "<span class='permalink'><a href='#pump'>◆&#160;</a></span>",
    ],
)
def test_a_link_of_a_heading_to_itself_is_left_out(link: str) -> None:
    assert text_of(f"<h2>The pump {link}</h2><p>text</p>") == "## The pump\n\ntext"
    assert text_of(f"<dl><dt>pump() {link}</dt><dd>text</dd></dl>") == "pump()\n:   text"


@pytest.mark.parametrize("text", ["see <a href='/law#3'>§ 3</a>", "the mark ¶ ends it"])
def test_a_mark_that_a_reader_reads_stays(text: str) -> None:
    assert any(mark in text_of(f"<p>{text}</p>") for mark in "#§¶")


@pytest.mark.parametrize(
    "bar",
    [
        "<div><a href='a' rel='prev'>The tank</a> <a href='b' rel='next'>The valve</a></div>",
        "<div class='navfooter'><a href='a'>Prev</a> <a href='b'>Next</a> The tank and how it is filled</div>",
        "<div class='breadcrumbs'><a href='/'>Home</a> › <a href='/p'>Pumps</a> › The pump</div>",
        "<div class='toc'>Contents<ul><li><a href='#a'>Start</a></li><li><a href='#b'>Stop</a></li></ul></div>",
        "<div class='contents topic'><p>Contents</p><a href='#a'>Start the pump</a></div>",
        "<div id='nav-path' class='navpath'><ul><li><b>Pumps</b></li><li><a href='p'>Pump</a></li></ul></div>",
        "<div class='footer'>© 2020 The makers of pumps. Last updated on Monday.</div>",
        "<div class='cookie-notice'>We use cookies.</div>",
        "<p>Next: <a rel='next' href='n'>Valves</a>, Up: <a href='u'>Tanks and more</a> [<a href='i'>Index</a>]</p>",
        "<div class='languages'><p>Sprachen: <a href='e'>en</a> | <a href='f'>fr</a></p></div>",
        "<p><a href='javascript:void(0)'>[−]</a></p>",
        "<form><button>Copy</button></form>",
        "<div role='banner'>The pump company</div>",
    ],
)
def test_navigation_and_footers_are_left_out(bar: str) -> None:
    assert text_of(f"{bar}<h1>The pump</h1><p>{WORDS}</p>{bar}") == f"# The pump\n\n{WORDS.strip()}"


@pytest.mark.parametrize(
    "content",
    [
        f"<div id='menu'><h2>Menus</h2><p>{WORDS}</p></div>",
        f"<div class='section' id='navigation'><h2>Navigation</h2><p>{WORDS}</p></div>",
        f"<div class='related-work'><h2>Related</h2><p>{WORDS}</p></div>",
        "<p>Next, open the valve. Then go back.</p>",
        "<ul><li><a href='a'>Start the pump</a></li><li><a href='b'>Stop the pump</a></li></ul>",
        "<div role='note' class='admonition note'><p>Hot!</p></div>",
        "<div class='footnote'><p>[1] By hand.</p></div>",
        "<div role='tabpanel' hidden>make pump</div>",
        "<p>Next: <a href='a'>open the valve</a>, then go back to <a href='b'>the tank</a>.</p>",
        "<p><a href='a'>Settings</a> &gt; <a href='b'>Network</a> &gt; Pump</p>",
        "<p>Both: <a href='a'>the pump</a>, <a href='b'>the valve</a></p>",
        "<div><pre>make pump</pre><p>Run it twice.</p></div>",
    ],
)
def test_what_only_sounds_like_navigation_stays(content: str) -> None:
    plain = text_of(f"<body><h1>The pump</h1><p>{WORDS}</p><section>{content.replace('class=', 'data-x=')}</section>")
    assert text_of(f"<body><h1>The pump</h1><p>{WORDS}</p>{content}</body>").split() == plain.split()


@pytest.mark.parametrize(
    ("start", "end"), [("<main>", "</main>"), ("<div role='main'>", "</div>"), ("<article>", "</article>")]
)
def test_the_main_content_is_what_the_page_calls_so(start: str, end: str) -> None:
    page = f"<div>Site <a href='/'>Home</a> News</div>{start}<h2>Pump</h2><p>{WORDS}</p>{end}<div>Address</div>"
    assert text_of(page) == f"## Pump\n\n{WORDS.strip()}"


def test_an_element_called_main_that_holds_little_of_the_page_is_not_believed() -> None:
    text = text_of(f"<main><p>Welcome</p></main><h2>Pump</h2><p>{WORDS}</p>")
    assert text == f"Welcome\n\n## Pump\n\n{WORDS.strip()}"


def test_a_footer_longer_than_the_main_content_is_left_out() -> None:
    footer = f"<div class='footer'>© The makers of pumps. {WORDS}</div>"
    assert text_of(f"<div role='main'><h1>Search</h1><p>Type a word.</p></div>{footer}") == "# Search\n\nType a word."


def test_the_title_stays_when_it_stands_outside_the_main_content() -> None:
    page = f"<header><h1>The pump</h1><p>Blog</p></header><main><p>{WORDS}</p></main>"
    assert text_of(page) == f"# The pump\n\n{WORDS.strip()}"


def test_a_note_beside_the_main_content_stays_and_a_list_of_links_does_not() -> None:
    note, links = "<aside class='footnote'>[1] By hand.</aside>", "<aside><a href='a'>Start</a></aside>"
    assert text_of(f"{links}<p>{WORDS}</p>{note}") == f"{WORDS.strip()}\n\n[1] By hand."
    assert (
        text_of(f"<main><p>{WORDS}</p><aside>Mind the step.</aside>{links}</main>")
        == f"{WORDS.strip()}\n\nMind the step."
    )


def test_a_page_of_links_keeps_them() -> None:
    assert "Start" in text_of("<div class='toctree-wrapper'><ul><li><a href='a'>Start</a></li></ul></div>")


@pytest.mark.parametrize(
    "code",
    [
        "<pre>a = 1\n    b = 2</pre>",
        "<pre>a = 1<br>    b = 2</pre>",
        "<pre><div class='line'>a = 1</div><div class='line'>    b = 2</div></pre>",
        "<pre><div>a = 1</div>    b = 2</pre>",
        "<div class='fragment'><div class='line'>a = 1</div><div class='line'>    b = 2</div></div>",
        "<table><tr><td class='lnt'><pre>1\n2</pre></td><td><div><pre>a = 1\n    b = 2</pre></div></td></tr></table>",
        "<pre><span class='lineno'>1</span>a = 1\n<span class='lineno'>2</span>    b = 2</pre>",
    ],
)
def test_code_keeps_its_lines(code: str) -> None:
    assert text_of(f"<p>text</p>{code}") == "text\n\n```\na = 1\n    b = 2\n```"


@pytest.mark.parametrize(
    "around", ["{}", "<ul><li>{}</li></ul>", "<blockquote>{}</blockquote>", "<dl><dt>a<dd>{}</dl>"]
)
def test_code_and_tables_stay_within_other_elements(around: str) -> None:
    code = "<pre>usage: player COMMAND\nnext|prev\n&gt; ```\n  start | next\nquit</pre>"
    table = "<table><tr><th>Previous</th><th>Next</th></tr><tr><td>a</td><td>b</td></tr></table>"
    text = text_of(around.format(code) + "" + around.format(table))
    assert re.findall(r"usage.*|next.prev|start . next|quit|\| \w+ \| \w+ \|", text) == [
        "usage: player COMMAND",
        "next|prev",
        "start | next",
        "quit",
        "| Previous | Next |",
        "| a | b |",
    ]


def test_code_about_fences_ends_where_it_ends() -> None:
    assert text_of("<pre>```\ncode\n```</pre><h2>After</h2>") == "````\n```\ncode\n```\n````\n\n## After"


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "item",
    [
        "<ol>" + "<li>x" * 4_000,
        "<p><a href=#a>#</a>" * 4_000,
        "<div class=nav>" * 99 + "x " * 99_000,
        "<p>" + "<a href=#a rel=next>a</a> " * 9_000,
        "<table><tr>" + "<td rowspan=50>a" * 2_000 + "<tr><td>b" * 50,
    ],
)
def test_long_pages_take_time_in_proportion(item: str) -> None:
    assert isinstance(text_of(item), str)


def test_a_raised_number_is_not_written_as_another_number() -> None:
    page = "<p>10<sup>3</sup> Pa, 10<sup>-6</sup> m, H<sub>2</sub>O, the 4<sup>th</sup> pump</p>"
    assert text_of(page) == "10³ Pa, 10⁻⁶ m, H2O, the 4th pump"


def test_what_a_page_hides_for_good_is_left_out_and_what_it_can_unfold_stays() -> None:
    page = "<p style='display: none'>Grade 3.</p><p style='Visibility:hidden'>Yes.</p><p>Pump.</p>"
    assert text_of(page + "<div id='a1' style='display:none'>Every spring.</div>") == "Pump.\n\nEvery spring."


def test_declarations_of_a_page_are_no_text() -> None:
    declared = '<?xml version="1.0"?>\n<!DOCTYPE html [ <!ENTITY a "b"> <!ELEMENT x (y)> ]>'
    assert text_of(f"{declared}<html><body><p>Pump.</p></body></html>") == "Pump."


def test_a_nul_character_is_nothing() -> None:
    assert text_of("\0\0<p>Pu\0mp</p>") == "Pump"


@pytest.mark.parametrize(
    "page",
    ["<table><tr><td><main><pre>x = 1</pre></main></table>", "<table role=main><tr><td><pre>x = 1</pre></table>"],
)
def test_code_stays_when_a_table_around_the_main_content_holds_nothing_else(page: str) -> None:
    assert "x = 1" in text_of(f"<body>{page}</body>")


def test_cells_below_a_cell_that_spans_rows_stay_in_their_columns() -> None:
    rows = "<tr><th>Region<th>Product<th>Pieces<tr><td rowspan=2>North<td>Cable<td>12<tr><td>Socket<td>7"
    lines = text_of(f"<table>{rows}<tr><td>South<td colspan=2 rowspan=2>none<tr><td>West</table>").split("\n")
    assert lines[2:5] == ["| North | Cable | 12 |", "| North | Socket | 7 |", "| South | none | |"]
    assert lines[5].startswith("| West | none |")


def test_a_cell_that_spans_a_million_rows_and_columns_costs_little() -> None:
    cells = "<td rowspan=999999 colspan=999999>wide" * 200
    page = f"<table><tr>{cells}</tr>{'<tr><td>low</tr>' * 200}</table><p>{WORDS}</p>"
    started = time.process_time()
    assert "low" in text_of(page)
    assert time.process_time() - started < 5


def test_a_heading_around_the_main_content_is_not_put_into_it() -> None:
    words = "words of the text that is long enough " * 5
    assert html_to_text(f"<body><h1>Title <main><p>{words}</p></main></h1></body>")[1] == words.strip()
    assert html_to_text(f"<body><h1 role=main>{words}</h1></body>")[1] == f"# {words.strip()}"
