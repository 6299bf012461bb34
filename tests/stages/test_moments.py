"""The date or the version that a passage is about."""

from __future__ import annotations

import pytest

from goldbench.records.corpus import Chunk, Span
from goldbench.stages.generate.moments import moment_of, names_moment


def chunk(text: str, title: str = "", *headings: str) -> Chunk:
    span = Span(doc_id="d", start=0, end=len(text))
    return Chunk(chunk_id="d:0", span=span, text=text, title=title, headings=headings)


@pytest.mark.parametrize(
    ("title", "source", "text", "moment"),
    [
        ("Release notes 2.3", "notes.md", "Text.", "version 2.3"),
        ("Guide", "docs/guide-v1.10.2.md", "Text.", "version 1.10.2"),
        ("Report 2019", "a.md", "In 2020 it was other.", "2019"),
        ("Report", "a.md", "Since version 4.1 the pump starts alone.", "version 4.1"),
        ("报告", "a.md", "2023年5月12日的规定。", "2023-05-12"),
        ("Report", "a.md", "It weighs 3.5 kg and runs at 1500 turns; see section 2.3.", None),
        ("Guide", "python-3.11", "Text.", "version 3.11"),
        ("Guide", "photo-1920x1080.md", "Text.", None),
        ("Guide", "a.md", "Change the oil every 2000 hours.", None),
        ("2.3 Filling the tank", "a.md", "Text.", None),
        ("Guide", "a.md", "In 2021 the rule was changed, after 2000 hours.", "2021"),
        ("Guide", "a.md", "Sie gilt ab dem 12.05.2021.", "2021"),
        ("Guide", "a.md", "It was so in 2019 and 2021.", None),
    ],
)
def test_a_moment_is_found_where_it_is_named(title: str, source: str, text: str, moment: str | None) -> None:
    assert moment_of(chunk(text, title), source) == moment


@pytest.mark.parametrize(
    ("query", "moment", "names"),
    [
        ("How does it start in 2.3?", "version 2.3", True),
        ("How does it start in 2.31?", "version 2.3", False),
        ("What held in March 2024?", "2024-03-01", True),
        ("What held in March?", "2024-03-01", False),
    ],
)
def test_a_query_names_a_moment_by_its_digits(query: str, moment: str, names: bool) -> None:
    assert names_moment(query, moment) is names
