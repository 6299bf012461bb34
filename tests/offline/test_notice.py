"""The figures in the warning of simulated queries are those of the documented measurement."""

from __future__ import annotations

import re
from statistics import fmean

import pytest

from goldbench.offline.notice import COLLECTIONS, HIGHEST, LOWEST, NOTICE, PEOPLE, TAU
from tests.conftest import ROOT


def row(page: str, name: str) -> list[str]:
    """Return the cells of the line of a table that begins with a name."""
    match = re.search(rf"^\| {re.escape(name)} \|(.*)\|$", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE)
    assert match is not None, (page, name)
    return [cell.strip() for cell in match[1].split("|")]


def test_the_notice_has_the_figures_of_the_table_by_collection() -> None:
    *cells, mean = row("docs/explanation/simulated_queries.md", "simulated")
    values = [float(cell) for cell in cells]
    assert len(values) == COLLECTIONS
    assert fmean(values) == pytest.approx(float(TAU), abs=0.01)
    assert (min(values), max(values)) == (float(LOWEST), float(HIGHEST))
    assert mean.startswith(TAU)
    assert all(figure in NOTICE for figure in (TAU, LOWEST, HIGHEST, PEOPLE, f"{COLLECTIONS} collections"))


def test_the_notice_has_the_figure_of_peoples_queries() -> None:
    assert row("docs/explanation/simulated_queries.md", "people, two full sets")[-1].startswith(PEOPLE)
