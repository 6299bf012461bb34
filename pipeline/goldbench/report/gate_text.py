"""The result of a gate as lines, JUnit XML, GitHub annotations and Markdown, and a run beside earlier ones."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from goldbench.measures.result import Result
from goldbench.measures.statistics.regression import GateCheck
from goldbench.records.scorecard import GoldReference, HistoryEntry, Score
from goldbench.report.named_queries import command_for, lowest_of
from goldbench.report.text_tables import markdown_table, p_value
from goldbench.text.display import amount, cut, printable, queries
from goldbench.text.markdown import escaped

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SHOWN = 100
"""Characters of a query that are shown."""


def line(check: GateCheck) -> str:
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


def fallen(check: GateCheck, texts: Mapping[str, str]) -> Iterator[str]:
    """Yield a line for each of the queries that fell most, with its text if it is known.

    No line begins with text of the query: GitHub takes a line that begins with two colons as a command.
    """
    for fall in check.fallen:
        text = printable(" ".join(texts.get(fall.query_id, "").split()))
        yield f"- {fall.query_id}  {fall.before:.4f} → {fall.now:.4f}" + (f"  {cut(text, _SHOWN)}" if text else "")


def junit(checks: Sequence[GateCheck], texts: Mapping[str, str], notes: Sequence[str]) -> bytes:
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


def github(checks: Sequence[GateCheck], texts: Mapping[str, str]) -> Iterator[str]:
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


_ROWS = 100
"""Checks that the table shows; those that failed come first."""
_LOWEST = 10
"""Queries in the table of lowest scores."""
_ID = 60
_TEXT = 160
"""Characters of a query's id and of its text that are shown."""
_NONE = "–"


@dataclass(frozen=True, slots=True, kw_only=True)
class GateOutcome:
    """What a gate found; ``texts`` are the queries' texts by id.

    ``place`` is the folder of the set as a shell takes it, or None.
    """

    system: str
    result: Result
    checks: Sequence[GateCheck]
    texts: Mapping[str, str]
    notes: Sequence[str] = ()
    place: str | None = None


def gate_markdown(gated: GateOutcome) -> str:
    """Return the checks as a table, the queries that fell most (else the lowest ones), and how to open them.

    It fits into a comment of GitHub, which takes 65,536 characters.
    """
    parts = [_heading(gated)]
    if gated.checks:
        ordered = sorted(gated.checks, key=lambda check: check.passed)
        headings = ("measure", "result", "before", "after", "change", "required")
        parts.append(markdown_table([headings, *map(_check_row, ordered[:_ROWS])], words=2))
        if len(ordered) > _ROWS:
            parts.append(f"{amount(len(ordered) - _ROWS, 'more check')} not shown.")
    if gated.notes:
        parts.append("\n".join(f"- {escaped(note)}." for note in gated.notes))
    if gated.checks:
        parts += _worst(gated)
    return "\n\n".join(parts) + "\n"


def _heading(gated: GateOutcome) -> str:
    failed = sum(not check.passed for check in gated.checks)
    outcome = f"❌ {failed} of {amount(len(gated.checks), 'check')} failed" if failed else "✅ passed"
    outcome = outcome if gated.checks else "nothing to check yet"
    return f"### Retrieval gate: {outcome}\n\nRun {_code(gated.system, _ID)}, {queries(len(gated.result.query_ids))}."


def _check_row(check: GateCheck) -> tuple[str, ...]:
    result = ("✅ passed, within chance" if check.excused else "✅ passed") if check.passed else "❌ failed"
    before = _NONE
    change = _NONE
    if check.reference is not None:
        before = f"{check.reference:.4f}"
        change = _difference(check, check.reference)
    return check.measure, result, before, f"{check.value:.4f}", change, f"≥ {check.bound:.4f}"


def _difference(check: GateCheck, reference: float) -> str:
    ends = "" if check.low is None or check.high is None else f" [{check.low:+.4f}, {check.high:+.4f}]"
    return f"{check.value - reference:+.4f}{ends}" + ("" if check.p is None else f", p (Holm) {p_value(check.p)}")


def _worst(gated: GateOutcome) -> Iterator[str]:
    """Yield the queries of the first failed check, else of the first, as a table, and the commands that open them."""
    check = next((check for check in gated.checks if not check.passed), gated.checks[0])
    if check.fallen:
        title = f"Queries that fell most by {check.measure}"
        headings: tuple[str, ...] = ("before", "after", "change")
        rows: list[tuple[str, ...]] = [
            (fall.query_id, f"{fall.before:.4f}", f"{fall.now:.4f}", f"{fall.now - fall.before:+.4f}")
            for fall in check.fallen
        ]
    else:
        title = f"Queries with the lowest {check.measure}"
        headings = (check.measure,)
        rows = [(lowest_id, f"{value:.4f}") for lowest_id, value in lowest_of(gated.result, check.measure, _LOWEST)]
    if not rows:
        return
    columns = ("query", "text", *headings)
    lines = [f"#### {escaped(title)}", "", _line(map(escaped, columns)), _line(["---"] * 2 + ["---:"] * len(headings))]
    for query_id, *figures in rows:
        text = gated.texts.get(query_id, "")
        lines.append(_line((_code(query_id, _ID), _code(text, _TEXT) if text.strip() else _NONE, *figures)))
    yield "\n".join(lines)
    commands = [command for command in (command_for(query_id, gated.place) for query_id, *_ in rows) if command]
    if commands:
        summary = "<details><summary>Open these queries where the set lies</summary>"
        yield "\n".join([summary, "", *_fenced(commands), "", "</details>"])


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _code(text: str, most: int) -> str:
    """Return untrusted text as it is: GitHub makes no mention, reference or link of what stands in ``<code>``."""
    line = " ".join(text[: 20 * most].split())
    return f"<code>{escaped(cut(line, most))}</code>"


def _fenced(lines: Sequence[str]) -> list[str]:
    fence = "```"
    while any(fence in line for line in lines):
        fence += "`"
    return [f"{fence}sh", *lines, fence]
