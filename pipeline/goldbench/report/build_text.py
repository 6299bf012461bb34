"""A build, an import or a refresh in a terminal: funnel, cost, shortfall and plan, and what changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from goldbench.config import Config
from goldbench.errors import Message
from goldbench.generate.drawn_queries import DrawnQueries
from goldbench.generate.users_queries import UsersQueries
from goldbench.goldset.file_names import MANIFEST, RENAMED, RETIRED
from goldbench.goldset.importer import ImportResult
from goldbench.llm.rehearsal import PlannedStage
from goldbench.records.manifest import Failure, Manifest, RenewalCounts, RequestCounts, StageReport, StageUsage
from goldbench.records.query import RetiredQuery
from goldbench.stages.difficulty import SOUGHT
from goldbench.stages.select import READY, Limits
from goldbench.text.display import amount, dollars, printable, queries, shell_command
from goldbench.text.stage_names import stage_name

MOST_MESSAGES = 10
"""Different failure messages that are listed; the others are only counted."""


def funnel(manifest: Manifest) -> list[tuple[str, str, str]]:
    """Return what each stage kept, and which rules rejected the rest: a row with its name, count and reasons each."""
    load, select, generate, check = (_stage(manifest, name) for name in ("load", "select", "generate", "check"))
    return counted(
        ("documents", load.written, f"− unreadable {load.failed:,}" if load.failed else ""),
        ("chunks", select.read, ""),
        ("eligible", select.written, _reasons(select)),
        ("drawn", generate.read - generate.unused, f"{generate.unused:,} more in reserve"),
        ("candidates", check.read, _reasons(generate)),
        ("queries", check.written, _reasons(check)),
    )


def counted(*rows: tuple[str, int, str]) -> list[tuple[str, str, str]]:
    """Return rows of a name, a count and prose with the counts aligned right."""
    width = max(len(f"{count:,}") for _, count, _ in rows)
    return [(name, f"{count:>{width},}", prose) for name, count, prose in rows]


def _stage(manifest: Manifest, name: str) -> StageReport:
    return next(report for report in manifest.stages if report.stage == name)


def _reasons(report: StageReport) -> str:
    ranked = sorted(report.rules.items(), key=lambda item: (-item[1], item[0]))
    reasons = [f"{rule} {count:,}" for rule, count in ranked]
    if report.failed:
        reasons.append(f"failed {report.failed:,}")
    return "− " + ", ".join(reasons) if reasons else ""


def spending(usage: Mapping[str, StageUsage]) -> Iterator[str]:
    """Yield a line for each account of the model: requests, stored answers, tokens and cost."""
    for stage, spent in usage.items():
        cost = "price unknown" if spent.usd is None else dollars(spent.usd)
        if not spent.requests:
            cost = "no cost"
        if spent.estimated_requests:
            cost += f", of which {estimated([spent])}"
        yield (
            f"{stage_name(stage)}: {amount(spent.requests, 'request')}, "
            f"{amount(spent.replayed, 'answer')} from the store, "
            f"{spent.input_tokens:,} input tokens, {spent.output_tokens:,} output tokens, {cost}"
        )


def estimated(usage: Sequence[StageUsage]) -> str:
    """Return how much of a cost is an estimate, and why."""
    calls = amount(sum(spent.estimated_requests for spent in usage), "call")
    usd = sum(spent.estimated_usd for spent in usage)
    part = dollars(usd) if usd else "a part"
    return f"{part} estimated (the server reported no usage for {calls})"


def mixture(mix: Mapping[str, Mapping[str, RequestCounts]]) -> Iterator[str]:
    """Yield a line for the types and one for the styles of queries: how many were accepted and requested of each."""
    for name, rows in mix.items():
        counts = ", ".join(f"{value} {row.kept}/{row.asked}" for value, row in rows.items())
        yield f"{name}, accepted/requested: {counts}"


def passed_over(ignored: Mapping[str, int], repeated: Sequence[str]) -> Iterator[str]:
    """Yield a line for files that are not read, and one for files that are listed twice.

    Args:
        ignored: Number of files not read, by kind.
        repeated: Names of files that are reached twice.
    """
    if ignored:
        kinds = ", ".join(f"{count:,} {printable(kind)}" for kind, count in sorted(ignored.items()))
        yield f"Not read: {kinds}."
    if repeated:
        names = ", ".join(printable(name) for name in repeated[:3]) + (" …" if len(repeated) > 3 else "")
        yield f"Listed twice, read once: {names}."


FEWEST_FOR_REACH = 10
"""Fewest queries of which the share is told that word matching does not find."""
MORE = Message("Add documents, or ask for smaller chunks ({chunk_size=}) or more queries per chunk ({per_chunk=}).")


def shortfall(manifest: Manifest, failures: Sequence[Failure], *, limit: str | None, target_met: bool) -> Iterator[str]:
    """Yield a line for each reason why the set is smaller than asked for.

    Args:
        manifest: The record of the build.
        failures: Those of its failures that were not told before.
        limit: The cap that stopped the build, or None.
        target_met: Whether the set has as many queries as asked for.
    """
    if limit is not None:
        yield stopped(limit)
    select = _stage(manifest, "select")
    if 2 * select.rules.get("too-short", 0) > select.read:
        yield Message(
            "Most chunks are too short to write a query for (under {} words). If rows or files are complete passages, "
            "use {no_chunk=True}, which accepts {} words or more.",
            *(Limits().min_words, READY.min_words),
        )
    if not target_met and limit is not None:
        yield f"So far {_reached(manifest)}."
    elif not target_met:
        generate = _stage(manifest, "generate")
        rules = Counter(select.rules) + Counter(generate.rules) + Counter(_stage(manifest, "check").rules)
        fell = ", ".join(f"{rule} {count:,}" for rule, count in rules.most_common())
        lost = generate.failed + _stage(manifest, "check").failed
        failed = f" {amount(lost, 'model call')} failed, listed below." if lost else ""
        reserve = "some chunks were not drawn" if generate.unused else "every eligible chunk was drawn"
        reserve = reserve if select.written else "no chunk is eligible"
        advice = f"Rejected by rule: {fell}; docs/reference/queries.md explains the rules." if fell else MORE
        yield Message("{}: {}. {}{}", _reached(manifest), reserve, advice, failed)
    if not target_met and (short := [kind for kind, count in manifest.kinds.items() if count.kept < count.wanted]):
        counts = ", ".join(f"{kind} {manifest.kinds[kind].kept:,} of {manifest.kinds[kind].wanted:,}" for kind in short)
        advice = "name a smaller share under [generate.kinds], or give more documents"
        if limit is not None:
            advice = "the cap stopped the run before they were written"
        yield f"Too few of a kind: {counts}; {advice}."
    if failures:
        yield f"{amount(len(failures), 'failure')}, listed in {MANIFEST}:"
        yield from messages(failures)


def unreached(count: int, total: int) -> Iterator[str]:
    """Yield a line if word matching finds the passages of fewer than half of the queries.

    Args:
        count: The queries of which no needed passage was found.
        total: All queries.
    """
    if total >= FEWEST_FOR_REACH and 2 * count > total:
        yield (
            f"{count:,} of {queries(total)} have no passage among the first {SOUGHT} results of BM25: the passages may "
            "be too much alike to be told apart. Read some of the queries before you use the set."
        )


def _reached(manifest: Manifest) -> str:
    """Return how many queries there are, and of how many if a number was asked for."""
    apart = manifest.kinds.get("unanswerable")
    there = manifest.queries + (apart.kept if apart else 0)
    return f"{there:,} of {queries(manifest.target)}" if manifest.target else queries(there)


def stopped(limit: str) -> str:
    """Return the line about a cap that ended a run."""
    return f"Stopped by a cap: {limit}."


def messages(failures: Iterable[Failure]) -> Iterator[str]:
    """Yield the most frequent messages of failures, with their counts."""
    counts = Counter(printable(failure.message) for failure in failures)
    for message, count in counts.most_common(MOST_MESSAGES):
        yield f"  {message}" + (f" ({count:,} times)" if count > 1 else "")
    if len(counts) > MOST_MESSAGES:
        yield f"  and {amount(len(counts) - MOST_MESSAGES, 'other message')}"


def plan_rows(stages: Sequence[PlannedStage]) -> list[tuple[str, ...]]:
    """Return the headings, then a row for every planned stage, and the total."""
    rows: list[tuple[str, ...]] = [("stage", "requests", "stored", "input tokens", "output tokens", "cost")]
    for row in stages:
        rows.append(_planned(stage_name(row.stage), [row]))
        if row.stage == "generate" and not any(stage.stage == "rewrite" for stage in stages):
            rows.append(("rewrite", "0", "0", "0", "0", "-"))
    return [*rows, _planned("total", stages)]


def _planned(name: str, rows: Sequence[PlannedStage]) -> tuple[str, str, str, str, str, str]:
    known = [row.usd for row in rows if row.usd is not None]
    return (
        name,
        f"{sum(row.requests for row in rows):,}",
        f"{sum(row.replayed for row in rows):,}",
        f"{sum(row.input_tokens for row in rows):,}",
        f"{sum(row.output_tokens for row in rows):,}",
        dollars(sum(known)) if len(known) == len(rows) else "unknown",
    )


def plan_notes(stages: Sequence[PlannedStage], drawn: DrawnQueries, config: Config) -> Iterator[str]:
    """Yield the assumptions behind a plan, and what would stop the build early.

    Args:
        stages: The planned stages.
        drawn: The chunks that the plan draws.
        config: The configuration of the build.
    """
    if config.generate.asks_in_short:
        yield "Nothing was sent or written. Of the replies of a small model about half become a query; the counts allow"
        yield "for that, or for what stored answers became. Token counts are estimates, corrected by stored answers."
    else:
        yield "Nothing was sent or written. Request counts are exact if each new reply is valid and its query accepted;"
        yield "a rejected query costs a rewrite or another chunk. Tokens are estimates, corrected by stored answers."
    if any(row.usd is None for row in stages):
        yield (
            f"The price of {config.model.name} is unknown: set usd_per_million_input and usd_per_million_output "
            "under [model]."
        )
    target = config.generate.queries
    if target is not None and drawn.accepted < target:
        yield f"These documents and answers yield {drawn.accepted:,} of {queries(target)}."
    requests = sum(row.requests for row in stages)
    cap = config.model.max_requests
    if cap is not None and requests > cap:
        yield f"max_requests = {cap:,} stops the run before it is complete."


def users_queries_lines(users_queries: UsersQueries) -> Iterator[str]:
    """Yield a line on the log, on the queries left out for personal data, and on the sample; no query is shown."""
    skipped = ", ".join(f"{reason} {count:,}" for reason, count in users_queries.skipped.items())
    yield (
        f"log: {amount(users_queries.searches, 'search', 'searches')}, {queries(users_queries.distinct)}"
        + (f"; skipped: {skipped}" if skipped else "")
    )
    if users_queries.personal:
        rules = ", ".join(f"{rule} {count:,}" for rule, count in users_queries.personal.items())
        yield (
            f"personal data: {queries(sum(users_queries.personal.values()))} left out by rule ({rules}), asked "
            f"{amount(users_queries.personal_searches, 'time')}; rules are no guarantee: look through the queries "
            "before you give the set away"
        )
    searches = sum(band.searches for band in users_queries.bands.values())
    parts = (
        f"{name} {band.drawn:,} of {queries(band.queries)} ({band.searches / searches:.0%} of the searches)"
        for name, band in users_queries.bands.items()
        if band.queries
    )
    yield f"drawn: {', '.join(parts)}"


def import_remarks(imported: ImportResult) -> Iterator[str]:
    """Yield what the import changed: grades with a new number, items and parts left out, new ids."""
    changed = {old: new for old, new in imported.grades.items() if old != new}
    if changed:
        new_grades = ", ".join(f"{old} is {new}" for old, new in imported.grades.items())
        yield f"Grades: {new_grades} here, where 2 and 3 are relevant."
    elif "1" in imported.grades:
        remark = "Grades are kept: 1 means same topic, not relevant; {relevant_from=1} counts grade 1 as relevant."
        yield Message(remark)
    for stage in imported.manifest.stages:
        if stage.rejected:
            rules = ", ".join(f"{rule} {count:,}" for rule, count in stage.rules.items())
            yield f"{stage.stage}: {stage.rejected:,} of {stage.read:,} left out: {rules}."
        if stage.left_out:
            parts = ", ".join(f"{rule} {count:,}" for rule, count in stage.left_out.items())
            yield f"{stage.stage}: parts of those kept left out: {parts}."
    yield from imported.set_aside
    if imported.renamed:
        yield f"{amount(imported.renamed, 'id')} changed, because a TREC file cannot hold them; {RENAMED} lists them."


RETIRED_SHOWN = 20
CHARACTERS_SHOWN = 100
"""Retired queries that are listed, and characters of each."""


def renewal_lines(renewed: RenewalCounts, retired: Sequence[RetiredQuery]) -> Iterator[str]:
    """Yield what became of the queries: a line of counts, and a line for each of the first retired ones.

    Args:
        renewed: The counts.
        retired: The queries that were retired now.
    """
    yield f"Documents changed: {_counts(renewed)}."
    yield from _listed(retired, RETIRED)


def planned_lines(renewed: RenewalCounts, retired: Sequence[RetiredQuery]) -> Iterator[str]:
    """Yield what would become of the queries.

    Args:
        retired: The queries that would be retired.
    """
    yield f"Plan for the queries: {_counts(renewed)}."
    yield from _listed(retired, "all")


def _counts(renewed: RenewalCounts) -> str:
    return (
        f"{renewed.kept:,} kept (same passage), {renewed.moved:,} moved (passage changed, evidence stands), "
        f"{renewed.asked:,} new, {renewed.retired:,} retired"
    )


def _listed(retired: Sequence[RetiredQuery], file: str) -> Iterator[str]:
    for retired_query in retired[:RETIRED_SHOWN]:
        text = printable(retired_query.query.text[:CHARACTERS_SHOWN])
        yield f"  retired: {text} ({retired_query.reason})"
    if len(retired) > RETIRED_SHOWN:
        yield f"  and {len(retired) - RETIRED_SHOWN:,} more" + (f", in {file}" if file == RETIRED else "")


def renewal_warnings(renewed: RenewalCounts, graded: bool, unanswerable: int, out: Path) -> Iterator[str]:
    """Yield what a person should do next.

    Args:
        graded: Whether the set holds grades of a judge.
        unanswerable: How many queries that nothing answers were kept.
        out: The folder of the set.
    """
    if renewed.unasked:
        unasked = amount(renewed.unasked, "new document")
        yield f"No query asks about {unasked}; {shell_command('refresh', str(out), queries='N')} asks more."
    if graded:
        if renewed.unjudged:
            yield f"{amount(renewed.unjudged, 'label')} dropped, because the passage changed or is gone."
        yield f"{shell_command('grade', str(out))} judges what nobody judged (stored answers are not paid again)."
    if unanswerable and renewed.new_passages:
        yield (
            f"{queries(unanswerable)} without an answer: judged before {amount(renewed.new_passages, 'new passage')} "
            "came; one of these may answer them."
        )
