"""A gate's outcome in the formats machines read, whatever the queries hold."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from xml.etree import ElementTree

import pyromark
import pytest
from bs4 import BeautifulSoup
from hypothesis import given
from hypothesis import strategies as st

from goldbench.measures.result import Counts, Result
from goldbench.measures.statistics.regression import Fall, GateCheck
from goldbench.report.gate_text import GateOutcome, gate_markdown, github, junit

FAILED = GateCheck(
    kind="drop",
    measure="ndcg@10",
    value=0.7,
    bound=0.76,
    passed=False,
    reference=0.8,
    p=0.0001,
    fallen=[Fall("q1", 1.0, 0.25)],
)
PASSED = GateCheck(kind="min", measure="r@10", value=0.9, bound=0.8, passed=True)


def test_junit_has_a_case_per_check_and_the_queries_of_a_failure() -> None:
    suites = ElementTree.fromstring(junit([FAILED, PASSED], {"q1": "what leaks?"}, ["a note"]))
    suite = suites.find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    assert [case.get("name") for case in suite.findall("testcase")] == ["drop ndcg@10", "min r@10"]
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert failure.text == "- q1  1.0000 → 0.2500  what leaks?"
    assert suite.findtext("system-out") == "a note"


@given(st.text(), st.text())
def test_junit_is_xml_whatever_the_queries_hold(query_id: str, text: str) -> None:
    check = replace(FAILED, fallen=[Fall(query_id, 1.0, 0.0)])
    ElementTree.fromstring(junit([check], {query_id: text}, [text]))


@given(st.text())
def test_an_annotation_is_one_line_and_nothing_in_it_is_a_command(text: str) -> None:
    (annotation,) = github([FAILED], {"q1": text})
    assert len(annotation.splitlines()) == 1
    assert annotation.startswith("::error title=goldbench gate%3A ndcg@10::FAILED")


COMMENT = 65_536
"""Characters that GitHub takes in a comment."""
HOSTILE = (
    "a | b \\| c \\",
    "<script>alert(1)</script><!-- goldbench gate -->",
    "@somebody and @org/team, see #12, GH-12, org/repo#3, https://evil.example/x www.evil.example",
    "`code` ``` ~~~ </code> ![x](https://evil.example/x.png) [y](javascript:x)",
    "one\ntwo\r\n\r\n# three\n- four\x00\x1b[31m\u202e\u2028",
    "word " * 1_000_000,
)


def gated(texts: Sequence[str] = ("what leaks?",), *, ids: Sequence[str] = ()) -> GateOutcome:
    """A failed drop whose fallen queries have these texts, and a lowest mean that is met."""
    names = list(ids) or [f"q{number}" for number in range(len(texts))]
    falls = [Fall(name, 1.0, 0.25) for name in names]
    drop = replace(FAILED, fallen=falls, low=-0.15, high=-0.06)
    counts = Counts(queries=len(names), missing=0, extra=0, no_relevant=0, tied=0, holes=0)
    values = {"ndcg@10": [0.25] * len(names), "r@10": [0.9] * len(names)}
    return GateOutcome(
        system="bm25",
        result=Result(names, values, counts),
        checks=[PASSED, drop],
        texts=dict(zip(names, texts, strict=False)),
        place="sets/manual",
    )


def rendered(text: str) -> BeautifulSoup:
    return BeautifulSoup(pyromark.html(text, options=pyromark.Options.ENABLE_TABLES), "html.parser")


def tables(page: BeautifulSoup) -> list[list[list[str]]]:
    return [
        [[cell.get_text() for cell in row.find_all(["td", "th"])] for row in table.find_all("tr")]
        for table in page.find_all("table")
    ]


def test_checks_come_with_before_after_change_and_result_and_failed_ones_first() -> None:
    checks, _ = tables(rendered(gate_markdown(gated())))
    assert checks == [
        ["measure", "result", "before", "after", "change", "required"],
        ["ndcg@10", "❌ failed", "0.8000", "0.7000", "-0.1000 [-0.1500, -0.0600], p (Holm) 0.0001", "≥ 0.7600"],
        ["r@10", "✅ passed", "–", "0.9000", "–", "≥ 0.8000"],
    ]


def test_the_queries_that_fell_most_have_text_values_and_the_command_that_opens_them() -> None:
    page = rendered(gate_markdown(gated()))
    assert tables(page)[1] == [
        ["query", "text", "before", "after", "change"],
        ["q0", "what leaks?", "1.0000", "0.2500", "-0.7500"],
    ]
    assert page.select_one("pre").get_text() == "goldbench open sets/manual --query q0\n"  # type: ignore[union-attr]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_texts_stay_in_their_cell_and_in_code(text: str) -> None:
    page = rendered(gate_markdown(gated([text])))
    (row,) = tables(page)[1][1:]
    assert len(row) == 5
    assert row[1].strip()[:3] == " ".join(text.split())[:3]
    assert len(row[1]) <= 160
    assert {tag.name for tag in page.find_all(True)} <= {
        "h3", "h4", "p", "table", "thead", "tbody", "tr", "th", "td", "code", "details", "summary", "pre",
    }  # fmt: skip
    for code in page.find_all("code"):
        code.extract()
    assert not re.search(r"@(?!10\b)|#\d|evil|<!--", page.get_text())


@given(st.text(), st.text(), st.text(min_size=1))
def test_each_query_is_one_row_of_five_cells(first: str, second: str, query_id: str) -> None:
    found = replace(gated([first, second], ids=[query_id, f"{query_id}2"]), system=first)
    page = rendered(gate_markdown(found))
    assert [len(row) for row in tables(page)[1]] == [5, 5, 5]


@pytest.mark.parametrize("letter", ["&", "\U0001f600"])
def test_the_text_fits_into_a_comment_and_says_what_it_leaves_out(letter: str) -> None:
    measures = [f"ndcg@{k}" for k in range(1, 2000)]
    base = gated([letter * 100_000] * 10, ids=[f"{number}{letter * 5000}" for number in range(10)])
    (drop,) = (check for check in base.checks if check.kind == "drop")
    found = replace(base, checks=[replace(drop, measure=name) for name in measures])
    text = gate_markdown(found)
    assert len(text.encode("utf-16-le")) // 2 < COMMENT
    assert "1,899 more checks not shown." in text


def test_without_a_baseline_the_lowest_queries_are_shown() -> None:
    base = gated(["low", "high"])
    counts = Counts(queries=2, missing=0, extra=0, no_relevant=0, tied=0, holes=0)
    least = [check for check in base.checks if check.kind == "min"]
    found = replace(base, checks=least, result=Result(["q0", "q1"], {"r@10": [0.0, 1.0]}, counts))
    text = gate_markdown(found)
    assert tables(rendered(text))[1] == [["query", "text", "r@10"], ["q0", "low", "0.0000"]]
    assert "✅ passed" in text
