"""The result of a gate as lines, JUnit XML and annotations for GitHub, and a run beside earlier ones of a history."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from goldbench.measures.statistics.regression import Check
from goldbench.records.scorecard import GoldReference, HistoryEntry, Score
from goldbench.report.text_tables import p_value
from goldbench.text.display import amount, cut, printable, queries

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


def change_rows(now: HistoryEntry, last: HistoryEntry | None, baseline: Mapping[str, float]) -> list[tuple[str, ...]]:
    """Return the headings, then a row for each measure: its mean now with the interval, and its changes.

    Args:
        now: The entry to show.
        last: The system's previous entry, or None for the first one.
        baseline: The means to compare with, by measure.
    """
    rows: list[tuple[str, ...]] = [(now.system, "now", "interval", "since last", "from baseline")]
    for measure, score in now.means.items():
        before = last.means.get(measure) if last else None
        interval = "" if score.low is None else f"[{score.low:.4f}, {score.high:.4f}]"
        changes = _change(score, before.mean if before else None), _change(score, baseline.get(measure))
        rows.append((measure, f"{score.mean:.4f}", interval, *changes))
    return rows


def history_notes(now: HistoryEntry, earlier: Sequence[HistoryEntry]) -> Iterator[str]:
    """Yield a line for each reason, other than the system itself, why a score may have changed."""
    last = earlier[-1].gold if earlier else now.gold
    if last.content_sha256 != now.gold.content_sha256:
        yield f"the set differs from that of the last entry: {_content(now.gold)} instead of {_content(last)}"
    if earlier and earlier[-1].gold.sha256 != now.gold.sha256:
        yield "the judgments differ from those of the last entry; they may be the reason for a change"
    elif earlier and earlier[0].gold.sha256 != now.gold.sha256:
        yield "the judgments differ from those of the first entry; they may be the reason for a change since then"
    if now.counts.missing:
        yield f"{queries(now.counts.missing)} judged but missing from the run"


def _content(gold: GoldReference) -> str:
    return f"content digest {gold.content_sha256[:12]}" if gold.content_sha256 else "judgments that belong to no set"


def _change(score: Score, before: float | None) -> str:
    return "-" if before is None else f"{score.mean - before:+.4f}"
