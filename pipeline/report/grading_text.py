"""What grading came to, as lines for a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from pipeline.text.display import printable
from schemas.manifest import CanaryVerdict, Failure, Grading, Manifest, StageUsage

NOT_MEASURED = (
    "Several passages in a call are cheaper, but nobody has measured here how far such grades agree with people's, "
    "or with those given one by one."
)
"""What must be said of the cheaper mode."""


def graded_lines(grading: Grading, manifest: Manifest) -> Iterator[str]:
    """Yield what was judged and what came of it."""
    yield (
        f"pool: {grading.pairs:,} pairs from {', '.join([*grading.retrievers, *grading.runs])}, depth "
        f"{grading.depth}; {grading.shared:,} near-duplicates share their grades"
    )
    mix = ", ".join(f"{grade}: {grading.grades.get(grade, 0):,}" for grade in (3, 2, 1, 0))
    yield f"grades: {mix}" + (f", unjudged {grading.unjudged:,}" if grading.unjudged else "")
    apart = sum(count for spread, count in grading.spread.items() if spread)
    yield (
        f"in doubt: {grading.escalated:,} pairs went to further judges (of {', '.join(grading.assessors)}), "
        f"who differ on {apart:,}; {grading.capped:,} grades taken down for want of a quote"
    )
    if grading.flagged:
        yield "flags: " + ", ".join(f"{name} {count:,}" for name, count in grading.flagged.items())
    yield from _queries(grading, manifest)
    yield _canaries(grading)


def _queries(grading: Grading, manifest: Manifest) -> Iterator[str]:
    check = next(report for report in manifest.stages if report.stage == "judge-check")
    left = [f"judge-check {check.rejected:,}"] if check.rejected else []
    left += [f"not judged yet {check.unused:,}"] if check.unused else []
    yield f"queries: {check.written:,} of {check.read:,}" + (f", − {', '.join(left)}" if left else "")
    if grading.too_broad or grading.unreachable:
        yield f"of these too broad: {grading.too_broad:,}; found by no retriever: {grading.unreachable:,}"


def _canaries(grading: Grading) -> str:
    if grading.canary_verdict is CanaryVerdict.NOT_ASKED:
        return "test pairs: none, the judge is not tested"
    kinds = ", ".join(f"{kind} {count.relevant} of {count.graded}" for kind, count in grading.canaries.items())
    return f"test pairs graded 2 or more: {kinds}: {grading.canary_verdict.value}"


def grading_warnings(
    grading: Grading, failures: Sequence[Failure], limit: str | None, *, queries: int
) -> Iterator[str]:
    """Yield a line for everything that keeps the grades from being whole, or from being trusted."""
    if not queries:
        known = "found yet, and pairs are left to judge" if grading.unjudged else "found by the judge"
        yield f"No query is left in the set: for none of them is a relevant chunk {known}."
    for place, finding in enumerate(grading.canary_findings):
        failed = grading.canary_verdict is CanaryVerdict.FAILED and place == 0
        yield f"{'Failed' if failed else 'Warning'}: {finding}."
    if grading.canary_verdict is CanaryVerdict.FAILED:
        yield "The grades are kept, and marked as not to be trusted; take another model."
    if limit is not None:
        yield f"Stopped by a cap: {limit}. Run the same command with a higher cap to go on; nothing is paid twice."
    if grading.passages_per_call > 1 and not grading.agreement_measured:
        yield NOT_MEASURED
    if failures:
        yield f"{len(failures):,} calls came to nothing; what they asked about is unjudged, or judged by the others:"
        yield from _messages(failures)


def _messages(failures: Iterable[Failure]) -> Iterator[str]:
    messages = Counter(printable(failure.message) for failure in failures)
    for message, count in messages.most_common(10):
        yield f"  {message}" + (f" ({count:,} times)" if count > 1 else "")
    if len(messages) > 10:
        yield f"  and {len(messages) - 10:,} others"


def cost_per_query(usage: Mapping[str, StageUsage], accounts: Iterable[str], queries: int) -> str:
    """Return what grading one query took."""
    spent = [usage[name] for name in accounts if name in usage]
    requests = sum(row.requests for row in spent)
    if not requests:
        return "a query: no request, every answer came from the store"
    tokens = sum(row.input_tokens + row.output_tokens for row in spent)
    money = "price unknown"
    if all(row.usd is not None for row in spent if row.requests):
        money = f"${sum(row.usd or 0.0 for row in spent) / queries:,.5f}"
    return f"a query: {requests / queries:.1f} requests, {tokens / queries:,.0f} tokens, {money}"
