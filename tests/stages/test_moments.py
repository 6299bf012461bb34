"""The date or the version that a passage is about."""

from __future__ import annotations

import pytest

from goldbench.pipeline.stages.generate import moment_of, names_moment
from goldbench.schemas.corpus import Chunk, Span


def chunk(text: str, title: str = "", *headings: str) -> Chunk:
    span = Span(doc_id="d", start=0, end=len(text))
    return Chunk(chunk_id="d:0", span=span, text=text, title=title, headings=headings)


@pytest.mark.parametrize(
    ("title", "source", "text", "moment"),
    [
        ("Release notes 2.3", "notes.md", "Text.", "version 2.3"),
        ("Guide", "docs/guide-v1.10.2.md", "Text.", "version 1.10.2"),
        ("Guide", "docs/2024-03-01_minutes.md", "Text.", "2024-03-01"),
        ("Report 2019", "a.md", "In 2020 it was other.", "2019"),
        ("Report", "a.md", "Since version 4.1 the pump starts alone.", "version 4.1"),
        ("Report", "a.md", "Seit Version 4.1 und in Version 5.0 ist es anders.", None),
        ("报告", "a.md", "2023年5月12日的规定。", "2023-05-12"),
        ("Report", "a.md", "It weighs 3.5 kg and runs at 1500 turns; see section 2.3.", None),
        ("Guide", "v1.2/guide.md", "Text.", None),
        ("", "rows.csv#2024", "Text.", None),
    ],
)
def test_a_moment_is_found_where_it_is_named(title: str, source: str, text: str, moment: str | None) -> None:
    assert moment_of(chunk(text, title), source) == moment


@pytest.mark.parametrize(
    ("query", "moment", "names"),
    [
        ("How does it start in 2.3?", "version 2.3", True),
        ("How does it start in v2.3?", "version 2.3", True),
        ("How does it start in 2.31?", "version 2.3", False),
        ("How does it start in 12.3?", "version 2.3", False),
        ("What held in March 2024?", "2024-03-01", True),
        ("What held in March?", "2024-03-01", False),
    ],
)
def test_a_query_names_a_moment_by_its_digits(query: str, moment: str, names: bool) -> None:
    assert names_moment(query, moment) is names
