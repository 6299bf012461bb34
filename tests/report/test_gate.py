"""A gate's outcome in the formats machines read, whatever the queries hold."""

from __future__ import annotations

from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from goldbench.measures.statistics.regression import Check, Fall
from goldbench.report.gate_text import fallen, github, junit, line

FAILED = Check(
    kind="drop",
    measure="ndcg@10",
    value=0.7,
    bound=0.76,
    passed=False,
    reference=0.8,
    p=0.0001,
    fallen=[Fall("q1", 1.0, 0.25)],
)
PASSED = Check(kind="min", measure="r@10", value=0.9, bound=0.8, passed=True)


def test_a_failed_drop_says_what_was_found_and_what_was_wanted() -> None:
    assert line(FAILED) == "FAILED  ndcg@10 0.7000, baseline 0.8000, required at least 0.7600, p (Holm) 0.0001"
    assert line(PASSED) == "passed  r@10 0.9000, required at least 0.8000"


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
    check = Check(
        kind="drop",
        measure="m",
        value=0.0,
        bound=0.5,
        passed=False,
        reference=1.0,
        p=1.0,
        fallen=[Fall(query_id, 1.0, 0.0)],
    )
    ElementTree.fromstring(junit([check], {query_id: text}, [text]))


@given(st.text())
def test_an_annotation_is_one_line_and_nothing_in_it_is_a_command(text: str) -> None:
    (annotation,) = github([FAILED], {"q1": text})
    assert len(annotation.splitlines()) == 1
    assert annotation.startswith("::error title=goldbench gate%3A ndcg@10::FAILED")


def test_no_line_about_a_query_begins_with_what_is_the_querys_own() -> None:
    check = Check(kind="min", measure="m", value=0, bound=1, passed=False, fallen=[Fall("::error::x", 1, 0)])
    assert all(shown.startswith("- ") for shown in fallen(check, {}))


def test_a_gate_that_holds_is_one_notice() -> None:
    assert list(github([PASSED], {})) == ["::notice title=goldbench gate::1 condition passed"]


def test_a_giant_query_is_cut() -> None:
    (shown,) = fallen(FAILED, {"q1": "word " * 10_000})
    assert len(shown) < 200
