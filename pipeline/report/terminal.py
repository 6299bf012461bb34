"""Progress and the funnel in a terminal; plain lines where there is none."""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from pipeline.ports import Step
from pipeline.text.display import amount, dollars, printable, queries
from schemas.manifest import Asked, Manifest, StageReport, StageUsage

_QUIET_SECONDS = 5.0


class BarStep:
    """A stage as a bar with count and rate."""

    def __init__(self, bars: Progress, task: TaskID) -> None:
        self._bars, self._task = bars, task

    def advance(self, count: int) -> None:
        """Say that so many more items are done."""
        self._bars.advance(self._task, count)
        speed = self._bars.tasks[self._task].speed
        if speed:
            self._bars.update(self._task, rate=f"{speed:,.0f}/s")

    def tell(self, line: str) -> None:
        """Say what is under way."""
        self._bars.update(self._task, under_way=line)


class LineStep:
    """A stage as plain lines: one every few seconds, one at the end."""

    def __init__(self, console: Console, name: str, total: int | None) -> None:
        self._console, self._name, self._total = console, name, total
        self._done, self._started, self._shown = 0, time.monotonic(), time.monotonic()
        self._under_way = ""

    def advance(self, count: int) -> None:
        """Say that so many more items are done."""
        self._done += count
        if time.monotonic() - self._shown >= _QUIET_SECONDS:
            self.show()

    def tell(self, line: str) -> None:
        """Say what is under way, even where nothing gets done."""
        self._under_way = f" ({line})" if line else ""
        self.advance(0)

    def close(self) -> None:
        """Print the last line, unless nothing was to be done."""
        self._under_way = ""
        if self._done:
            self.show()

    def show(self) -> None:
        """Print the line."""
        self._shown = time.monotonic()
        seconds = self._shown - self._started
        total = f" of {self._total:,}" if self._total else ""
        rate = f", {self._done / seconds:,.0f}/s" if seconds >= 0.1 else ""
        self._console.print(
            f"{self._name}: {self._done:,}{total} in {seconds:.1f} s{rate}{self._under_way}", highlight=False
        )


class TerminalProgress:
    """Shows every stage on a console; bars on a terminal, lines elsewhere."""

    def __init__(self, console: Console) -> None:
        self._console = console

    @contextlib.contextmanager
    def stage(self, name: str, total: int | None) -> Iterator[Step]:
        """Show a stage from now until its end."""
        if not self._console.is_terminal:
            step = LineStep(self._console, name, total)
            yield step
            step.close()
            return
        columns = (
            SpinnerColumn(),
            TextColumn("{task.description:<9}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[under_way]}", style="dim"),
        )
        with Progress(*columns, console=self._console) as bars:
            yield BarStep(bars, bars.add_task(name, total=total, rate="", under_way=""))

    def note(self, line: str) -> None:
        """Show one line that stays, whatever characters it holds."""
        self._console.print(Text(printable(line)), style="yellow")


def funnel(manifest: Manifest) -> Table:
    """Return the funnel: what came in, what was left out by which rule, what is kept."""
    table = Table(title=None, box=None, pad_edge=False, show_header=False)
    table.add_column("what")
    table.add_column("count", justify="right")
    table.add_column("why", style="dim")
    reports = {report.stage: report for report in manifest.stages}
    load, select, generate, check = (reports[name] for name in ("load", "select", "generate", "check"))
    table.add_row("documents", f"{load.written:,}", f"{load.failed:,} unreadable, skipped" if load.failed else "")
    table.add_row("chunks", f"{select.read:,}", "")
    _add(table, "eligible", select)
    table.add_row("drawn", f"{generate.read - generate.unused:,}", f"{generate.unused:,} more in reserve")
    table.add_row("candidates", f"{check.read:,}", _reasons(generate))
    _add(table, "queries", check)
    return table


def _add(table: Table, name: str, report: StageReport) -> None:
    table.add_row(name, f"{report.written:,}", "" if not report.rejected and not report.failed else _reasons(report))


def _reasons(report: StageReport) -> str:
    ranked = sorted(report.rules.items(), key=lambda item: (-item[1], item[0]))
    reasons = [f"{rule} {count:,}" for rule, count in ranked]
    if report.failed:
        reasons.append(f"failed {report.failed:,}")
    return "− " + ", ".join(reasons) if reasons else ""


def spending(usage: Mapping[str, StageUsage]) -> Iterator[str]:
    """Yield a line for each account of the model: what was asked, what came from the store, what it cost."""
    for stage, spent in usage.items():
        cost = "price unknown" if spent.usd is None else dollars(spent.usd)
        if not spent.requests:
            cost = "nothing to pay"
        yield (
            f"{stage}: {amount(spent.requests, 'request')}, {amount(spent.replayed, 'answer')} from the store, "
            f"{spent.input_tokens:,} tokens in, {spent.output_tokens:,} out, {cost}"
        )


def mixture(mix: Mapping[str, Mapping[str, Asked]]) -> Iterator[str]:
    """Yield a line for types and one for styles: how many were kept of how many asked for."""
    for name, rows in mix.items():
        yield f"{name}, kept of asked: " + ", ".join(f"{value} {row.kept}/{row.asked}" for value, row in rows.items())


def passed_over(ignored: Mapping[str, int], repeated: Sequence[str]) -> Iterator[str]:
    """Yield a line for files that are not read at all, and one for files that are read only once."""
    if ignored:
        kinds = ", ".join(f"{count:,} {printable(kind)}" for kind, count in sorted(ignored.items()))
        yield f"Not read: {kinds}."
    if repeated:
        names = ", ".join(printable(name) for name in repeated[:3]) + (" …" if len(repeated) > 3 else "")
        yield f"Reached twice, read once: {names}."


def shortfall(manifest: Manifest, *, limit: str | None, target_met: bool) -> Iterator[str]:
    """Yield a line for everything that keeps the run from being whole."""
    if limit is not None:
        yield f"Stopped by a cap: {limit}. Run the same command with a higher cap to go on; nothing is paid twice."
    select = next(report for report in manifest.stages if report.stage == "select")
    if 2 * select.rules.get("too-short", 0) > select.read:
        yield (
            "Most chunks are too short to be asked about (under 40 words). "
            "Where rows or files are ready passages, --no-chunk takes them from 10 words on."
        )
    if not target_met and limit is not None:
        yield f"So far {manifest.queries:,} of {queries(manifest.target or 1)}."
    elif not target_met:
        check = next(report for report in manifest.stages if report.stage == "check")
        generate = next(report for report in manifest.stages if report.stage == "generate")
        rules = Counter(select.rules) + Counter(generate.rules) + Counter(check.rules)
        fell = ", ".join(f"{rule} {count:,}" for rule, count in rules.most_common()) or "none turned down"
        reserve = "some chunks were not drawn" if generate.unused else "every eligible chunk was drawn"
        yield f"{manifest.queries:,} of {queries(manifest.target or 1)}: {reserve}. What fell to which rule: {fell}."
    if manifest.failures:
        yield f"{amount(len(manifest.failures), 'failure')}, each in manifest.json:"
        messages = Counter(printable(failure.message) for failure in manifest.failures)
        for message, count in messages.most_common(10):
            yield f"  {message}" + (f" ({count:,} times)" if count > 1 else "")
        if len(messages) > 10:
            yield f"  and {len(messages) - 10:,} others"
