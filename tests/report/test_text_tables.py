"""Tables as text and Markdown, and what their cells may not start."""

from __future__ import annotations

import pytest

from goldbench.report.text_tables import aligned, markdown_table
from goldbench.text.markdown import escaped

ROWS = [("system", "ndcg@10"), ("bm25", "+0.5"), ("a|b", "-0.25")]


@pytest.mark.parametrize("text", ["r@5 and map@100(norm=hits)", "-0.25"])
def test_measures_and_figures_stay_as_they_are(text: str) -> None:
    assert escaped(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("@team", "&#64;team"),
        ("me@10.example", "me&#64;10.example"),
        ("- item", r"\- item"),
        ("1. item", r"1\. item"),
        ("# heading", r"\# heading"),
        ("http://a www.b", "http&#58;//a www&#46;b"),
        ("<b>&\n`x`", r"&lt;b&gt;&amp; \`x\`"),
    ],
)
def test_nothing_starts_markup_a_link_or_a_mention(text: str, shown: str) -> None:
    assert escaped(text) == shown


def test_a_table_is_the_same_in_text_and_in_markdown() -> None:
    assert list(aligned(ROWS, indent=" ")) == [" system   ndcg@10", " bm25        +0.5", " a|b        -0.25"]
    assert markdown_table(ROWS).splitlines() == [
        "| system | ndcg@10 |",
        "| --- | ---: |",
        "| bm25 | +0.5 |",
        r"| a\|b | -0.25 |",
    ]
