"""The result of a gate as lines, JUnit XML, GitHub annotations and Markdown, and a run beside earlier ones."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from goldbench.measures.result import Result
from goldbench.measures.statistics.regression import Change, Check
from goldbench.records.scorecard import GoldReference, HistoryEntry, Score
from goldbench.report.named_queries import command_for, lowest_of
from goldbench.report.text_tables import p_value, with_interval
from goldbench.text.display import amount, cut, printable, queries, shown
from goldbench.text.markdown import escaped

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


MOST = 60_000
"""Characters (UTF-16) of the text: GitHub takes 65,536 in a comment. Tables that do not fit are left out, and named."""

_ROWS = 100
"""Checks that the first table shows; those that failed come first."""
_TABLES = 3
"""Most tables of queries."""
_LOWEST = 10
"""Queries in the table of lowest scores."""
_ID, _TEXT = 60, 160
"""Characters of a query's id and of its text that are shown."""
_NONE = "–"

Row = tuple[str, ...]
"""The id of a query, then its figures."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GateOutcome:
    """What a gate found. ``changes`` are the measures of the baseline, ``means`` those with a lowest mean.

    ``texts`` are the queries' texts by id. ``place`` is the folder of the set as a shell takes it, or None; ``link`` is
    the address of a page that shows queries, or None.
    """

    system: str
    result: Result
    checks: Sequence[Check]
    changes: Mapping[str, Change]
    means: Mapping[str, Score]
    texts: Mapping[str, str]
    notes: Sequence[str] = ()
    place: str | None = None
    link: str | None = None


def gate_markdown(gated: GateOutcome) -> str:
    """Return the checks as a table, the queries that fell most (else the lowest ones), and how to open them."""
    parts = [_heading(gated), *([_checks_table(gated)] if gated.checks else [])]
    parts += ["\n".join(f"- {escaped(note)}." for note in gated.notes)] if gated.notes else []
    left_out, ids = 0, dict[str, None]()
    for title, headings, rows in _worst(gated):
        table = _queries_table(gated, title, headings, rows)
        if _size([*parts, table]) > MOST:
            left_out += 1
        else:
            parts.append(table)
            ids |= dict.fromkeys(query_id for query_id, *_ in rows)
    parts += [] if gated.link else _opened(gated, list(ids))
    if left_out:
        parts.append(f"{amount(left_out, 'table')} of queries left out: the text would be too long for a comment.")
    return "\n\n".join(parts) + "\n"


def _size(parts: Sequence[str]) -> int:
    return sum(len(part.encode("utf-16-le")) // 2 + 2 for part in parts)


def _heading(gated: GateOutcome) -> str:
    failed = sum(not check.passed for check in gated.checks)
    outcome = f"❌ {failed} of {amount(len(gated.checks), 'check')} failed" if failed else "✅ passed"
    outcome = outcome if gated.checks else "nothing to check yet"
    return f"### Retrieval gate: {outcome}\n\nRun {_code(gated.system, _ID)}, {queries(len(gated.result.query_ids))}."


def _checks_table(gated: GateOutcome) -> str:
    ordered = sorted(gated.checks, key=lambda check: check.passed)
    lines = _table(("measure", "result", "before", "after", "change", "required"), words=2)
    lines += [_line(map(escaped, _check_row(gated, check))) for check in ordered[:_ROWS]]
    more = len(ordered) - _ROWS
    return "\n".join(lines) + (f"\n\n{amount(more, 'more check')} not shown." if more > 0 else "")


def _check_row(gated: GateOutcome, check: Check) -> Row:
    change = gated.changes.get(check.measure) if check.kind == "drop" else None
    score = gated.means.get(check.measure)
    after = f"{check.value:.4f}"
    if change is None and score is not None:
        after = with_interval(check.value, score.low, score.high)
    return (
        check.measure,
        ("✅ passed, within chance" if check.excused else "✅ passed") if check.passed else "❌ failed",
        _NONE if change is None else f"{change.before:.4f}",
        after,
        _NONE if change is None else _difference(change, check.p),
        f"≥ {check.bound:.4f}",
    )


def _difference(change: Change, p: float | None) -> str:
    ends = "" if change.low is None or change.high is None else f" [{change.low:+.4f}, {change.high:+.4f}]"
    return f"{change.now - change.before:+.4f}{ends}" + ("" if p is None else f", p (Holm) {p_value(p)}")


def _worst(gated: GateOutcome) -> Iterator[tuple[str, Row, list[Row]]]:
    """Yield a title, headings and rows of queries for each failed drop, else for the first measure."""
    failed = [check.measure for check in gated.checks if check.kind == "drop" and not check.passed]
    for measure in (failed or list(gated.changes)[:1])[:_TABLES]:
        rows: list[Row] = [
            (one.query_id, f"{one.before:.4f}", f"{one.now:.4f}", f"{one.now - one.before:+.4f}")
            for one in gated.changes[measure].fallen
        ]
        yield f"Queries that fell most by {measure}", ("before", "after", "change"), rows
    if gated.checks and not gated.changes:
        measure = next((check.measure for check in gated.checks if not check.passed), gated.checks[0].measure)
        lowest = lowest_of(gated.result, measure, _LOWEST)
        yield f"Queries with the lowest {measure}", (measure,), [(one, f"{value:.4f}") for one, value in lowest]


def _queries_table(gated: GateOutcome, title: str, headings: Row, rows: Sequence[Row]) -> str:
    if not rows:
        return f"{escaped(title)}: none."
    lines = [f"#### {escaped(title)}", "", *_table(("query", "text", *headings), words=2)]
    for query_id, *figures in rows:
        text = gated.texts.get(query_id, "")
        cells = (_linked(query_id, gated.link), _code(text, _TEXT) if text.strip() else _NONE)
        lines.append(_line((*cells, *map(escaped, figures))))
    return "\n".join(lines)


def _opened(gated: GateOutcome, query_ids: Sequence[str]) -> list[str]:
    """Return a closed block with the commands that open the queries; nothing without a command."""
    commands = [one for one in (command_for(query_id, gated.place) for query_id in query_ids) if one]
    if not commands:
        return []
    summary = "<details><summary>Open these queries where the set lies</summary>"
    return ["\n".join([summary, "", *_fenced(commands), "", "</details>"])]


def _table(headings: Sequence[str], *, words: int) -> list[str]:
    rule = ("---" if number < words else "---:" for number in range(len(headings)))
    return [_line(map(escaped, headings)), _line(rule)]


def _line(cells: Iterator[str] | Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _linked(query_id: str, link: str | None) -> str:
    name = _code(query_id, _ID)
    if link is None or query_id.encode("utf-8", "replace").decode() != query_id:
        return name
    place = quote(query_id, safe="")
    return f"[{name}]({link.replace('{query}', place) if '{query}' in link else f'{link}#query={place}'})"


def _code(text: str, most: int) -> str:
    """Return untrusted text as it is: GitHub makes no mention, reference or link of what stands in ``<code>``."""
    line = " ".join(text[: 20 * most].split())
    return f"<code>{escaped(cut(line, most))}</code>"


def _fenced(lines: Sequence[str]) -> list[str]:
    fence = "```"
    while any(fence in line for line in lines):
        fence += "`"
    return [f"{fence}sh", *lines, fence]


def checked_link(link: str) -> str | None:
    """Return why an address cannot stand in a link of Markdown, or None if it can."""
    if not link.startswith(("https://", "http://")):
        return f"not a valid URL: {shown(link)}; give one that begins with https://"
    if not link.isascii() or any(c.isspace() or c in '<>()[]|`"\\' or not c.isprintable() for c in link):
        return "holds a blank, a bracket, a quote or a letter beyond ASCII; write it as %20, %28 and so on"
    if "@" in link.partition("://")[2].partition("/")[0]:
        return "holds a user or a password, which all readers of the table would see; leave it out"
    return None
