"""A gate's outcome in the formats machines read, whatever the queries hold."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from goldbench.measures.statistics.regression import Check, Fall
from goldbench.report.gate_text import github, junit

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
