"""The outcome of grading, as lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from goldbench.llm.rehearsal import PlannedStage
from goldbench.records.judgment import Canary
from goldbench.records.manifest import (
    CanaryCount,
    CanaryVerdict,
    Failure,
    Grading,
    Manifest,
    RefusedGrading,
    StageUsage,
)
from goldbench.report.agreement_text import guardrail_lines
from goldbench.report.build_text import estimated, messages, stopped
from goldbench.stages.canaries import TRAPS
from goldbench.text.display import amount, dollars
from goldbench.text.display import queries as count_of


def graded_lines(record: Manifest | RefusedGrading) -> Iterator[str]:
    """Yield a line for each part of the outcome: pool, grades, doubtful pairs, flags, queries, judge check."""
    grading = record.grading
    assert grading is not None
    yield (
        f"pool: {amount(grading.pairs, 'pair')} from {', '.join([*grading.retrievers, *grading.runs])}, depth "
        f"{grading.depth}; {amount(grading.shared, 'near-duplicate')} with the grade of the judged copy"
    )
    if grading.feedback:
        yield f"feedback: {amount(grading.feedback, 'pair')} that users clicked or voted on; no click is a label"
    mix = ", ".join(f"{grade}: {grading.grades.get(grade, 0):,}" for grade in (3, 2, 1, 0))
    yield f"grades: {mix}" + (f", unjudged {grading.unjudged:,}" if grading.unjudged else "")
    if grading.thresholds is not None:
        topic, helps, full = grading.thresholds
        yield f"judged by how likely yes is: grade 1 from {topic:.0%}, 2 from {helps:.0%}, 3 from {full:.0%}"
    apart = sum(count for spread, count in grading.spread.items() if spread)
    yield (
        f"doubtful: {amount(grading.escalated, 'pair')} graded by further judges (of {', '.join(grading.assessors)}), "
        f"who disagree on {apart:,}; {amount(grading.capped, 'grade')} lowered because the quote was missing"
    )
    if grading.flagged:
        yield "flags: " + ", ".join(f"{name} {count:,}" for name, count in grading.flagged.items())
    yield from _queries(grading, record)
    yield _judge_check(grading)
    yield from guardrail_lines(grading.guardrails)


def _queries(grading: Grading, record: Manifest | RefusedGrading) -> Iterator[str]:
    check = next(report for report in record.stages if report.stage == "judge-check")
    if isinstance(record, RefusedGrading):
        if grading.unjudged:
            yield f"queries: all stay as they were; {grading.unjudged:,} of {grading.pairs:,} pairs are not judged"
            return
        yield f"queries: all stay as they were; these grades would have kept {check.written:,} of {check.read:,}"
        return
    nothing = check.rules.get("nothing-found", 0)
    left = [f"rejected by the judge {check.rejected - nothing:,}"] if check.rejected > nothing else []
    left += [f"still waiting, no passage found {nothing:,}"] if nothing else []
    left += [f"not judged yet {check.unused:,}"] if check.unused else []
    yield f"queries: {check.written:,} of {check.read:,}" + (f", − {', '.join(left)}" if left else "")
    if grading.too_broad or grading.unreachable:
        yield f"of these too broad: {grading.too_broad:,}; found by no retriever: {grading.unreachable:,}"


def _judge_check(grading: Grading) -> str:
    if grading.canary_verdict is CanaryVerdict.NOT_ASKED:
        return "judge check: none, the judge is not tested"
    none = CanaryCount(graded=0, relevant=0)
    fakes = [grading.canaries.get(kind.value, none) for kind in TRAPS]
    answers = grading.canaries.get(Canary.EVIDENCE_ALONE.value, none)
    unanswered = sum(count.unanswered for count in grading.canaries.values())
    shown = sum(fake.graded for fake in fakes)
    return (
        f"judge check {grading.canary_verdict.value}: accepted {sum(fake.relevant for fake in fakes):,} of "
        f"{amount(shown, 'planted fake')}, missed {answers.graded - answers.relevant:,} of "
        f"{amount(answers.graded, 'planted answer')}" + (f", no usable reply to {unanswered:,}" if unanswered else "")
    )


def grading_warnings(
    record: Manifest | RefusedGrading, failures: Sequence[Failure], limit: str | None
) -> Iterator[str]:
    """Yield a line for each reason why the grades are incomplete or not to be trusted.

    Args:
        record: The outcome, put into the set or refused.
        failures: Calls that failed.
        limit: The cap that stopped the grading, or None.
    """
    grading = record.grading
    is_kept = isinstance(record, Manifest)
    assert grading is not None
    if isinstance(record, Manifest) and not record.queries:
        known = "found yet, and pairs are left to judge" if grading.unjudged else "found by the judge"
        yield f"No query is left in the set: no relevant chunk was {known} for any of them."
    for position, finding in enumerate(grading.canary_findings):
        failed = grading.canary_verdict is CanaryVerdict.FAILED and position == 0
        yield f"{'Failed' if failed else 'Warning'}: {finding}."
    if grading.canary_verdict is CanaryVerdict.FAILED and is_kept:
        yield "The grades are kept but marked as not to be trusted; grade with another model."
    if limit is not None:
        yield stopped(limit)
    if failures:
        yield f"{amount(len(failures), 'call')} failed; their pairs are unjudged, or judged by the other judges alone:"
        yield from messages(failures)


def cost_per_query(usage: Mapping[str, StageUsage], queries: int) -> str:
    """Return the average cost of grading one of at least one query, by what each account of the model used."""
    spent = list(usage.values())
    requests = sum(row.requests for row in spent)
    if not requests:
        return "per query: no request, every answer came from the store"
    tokens = sum(row.input_tokens + row.output_tokens for row in spent)
    money = "price unknown"
    if all(row.usd is not None for row in spent if row.requests):
        total = sum(row.usd or 0.0 for row in spent)
        money = f"{dollars(total / queries)}; in all {dollars(total)}"
    if any(row.estimated_requests for row in spent):
        money += f", of which {estimated(spent)}"
    return f"per query: {requests / queries:.1f} requests, {tokens / queries:,.0f} tokens, {money}"


def plan_notes(stages: Sequence[PlannedStage], *, queries: int, model: str, doubtful: float) -> Iterator[str]:
    """Yield what a planned grading takes, per query as well.

    Args:
        stages: The planned accounts.
        queries: Queries of the set.
        model: The first judge.
        doubtful: Share of the pairs that is expected to go to a second judge (0.23 = 23 %).
    """
    requests = sum(row.requests for row in stages if not row.stage.endswith("(about)"))
    count = max(1, queries)
    line = f"{amount(requests, 'request')} for {count_of(queries)}, {requests / count:.1f} per query"
    if any(row.stage.endswith("(about)") for row in stages):
        line += "; exact if every reply holds the required quote. "
        line += f"About {100 * doubtful:.0f} % of the pairs go to a second judge"
    yield f"{line}."
    known = [row.usd for row in stages]
    if known and all(usd is not None for usd in known):
        yield f"About {dollars(sum(usd or 0.0 for usd in known) / count)} per query."
    elif known:
        yield f"The price of {model} is not known: set usd_per_million_input and usd_per_million_output."
    yield "Nothing was sent or written."
