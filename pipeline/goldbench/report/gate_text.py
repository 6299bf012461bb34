"""The result of a gate: lines for people, JUnit XML, annotations for GitHub."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from goldbench.measures.statistics.regression import Check
from goldbench.report.text_tables import p_value
from goldbench.text.display import amount, cut, printable

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SHOWN = 100
"""Characters of a query that are shown."""


def line(check: Check) -> str:
    """Return one condition and its result."""
    mark = "passed" if check.passed else "FAILED"
    if check.kind == "min":
        return f"{mark}  {check.measure} {check.value:.4f}, required at least {check.bound:.4f}"
    chance = "" if check.p is None else f", p (Holm) {p_value(check.p)}"
    excuse = "; below the bound, but within chance" if check.excused else ""
    return (
        f"{mark}  {check.measure} {check.value:.4f}, baseline {check.reference:.4f}, required at least "
        f"{check.bound:.4f}{chance}{excuse}"
    )


def fallen(check: Check, texts: Mapping[str, str]) -> Iterator[str]:
    """Yield a line for each of the queries that fell most, with its text if it is known.

    No line begins with text of the query: GitHub takes a line that begins with two colons as a command.
    """
    for fall in check.fallen:
        text = printable(" ".join(texts.get(fall.query_id, "").split()))
        yield f"- {fall.query_id}  {fall.before:.4f} → {fall.now:.4f}" + (f"  {cut(text, _SHOWN)}" if text else "")


def junit(checks: Sequence[Check], texts: Mapping[str, str], notes: Sequence[str]) -> bytes:
    """Return the conditions as JUnit XML, a test case for each.

    Args:
        checks: The conditions and their results.
        texts: The queries' texts by id.
        notes: Lines for the output of the suite.
    """
    from xml.etree import ElementTree

    failures = sum(not check.passed for check in checks)
    suites = ElementTree.Element("testsuites", tests=str(len(checks)), failures=str(failures), errors="0")
    suite = ElementTree.SubElement(
        suites, "testsuite", name="goldbench gate", tests=str(len(checks)), failures=str(failures), errors="0"
    )
    for check in checks:
        case = ElementTree.SubElement(
            suite, "testcase", classname="goldbench.gate", name=f"{check.kind} {check.measure}"
        )
        if not check.passed:
            failure = ElementTree.SubElement(case, "failure", type=check.kind, message=xml_text(line(check)))
            failure.text = xml_text("\n".join(fallen(check, texts)))
    if notes:
        ElementTree.SubElement(suite, "system-out").text = xml_text("\n".join(notes))
    ElementTree.indent(suites)
    document: bytes = ElementTree.tostring(suites, encoding="utf-8", xml_declaration=True)
    return document + b"\n"


def xml_text(text: str) -> str:
    """Return the text with a replacement character for each character that XML 1.0 cannot hold."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)


def github(checks: Sequence[Check], texts: Mapping[str, str]) -> Iterator[str]:
    """Yield GitHub workflow commands: an error for each failed condition, or a notice if all hold."""
    for check in checks:
        if not check.passed:
            message = "\n".join([line(check), *fallen(check, texts)])
            yield f"::error title={_property('goldbench gate: ' + check.measure)}::{_data(message)}"
    if all(check.passed for check in checks):
        yield f"::notice title=goldbench gate::{_data(amount(len(checks), 'condition') + ' passed')}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
