"""Settle judgments into grades, and write the graded set with its manifest."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from typing import Any

from goldbench.config import GradeSettings
from goldbench.generate.steps import FAILURES_LISTED
from goldbench.goldset.dataset import GoldContents, passages, title_use
from goldbench.goldset.file_names import DATASET, JUDGMENTS, POOL, QUERIES
from goldbench.goldset.folder import Draft, with_reports
from goldbench.goldset.grading_counts import grading_counts
from goldbench.grade.calls import PanelAnswers
from goldbench.grade.panel import ACCOUNTS, Assessors
from goldbench.grade.pool import GradableSet, Pool
from goldbench.llm.prices import added
from goldbench.measures.statistics.guardrails import failed_guardrails, guardrails
from goldbench.records.judgment import Canary, Judgment, PooledPair
from goldbench.records.manifest import (
    CanaryCount,
    CanaryVerdict,
    Failure,
    Grading,
    Manifest,
    RefusedGrading,
    StageReport,
    StageUsage,
)
from goldbench.records.query import DroppedQuery, Query
from goldbench.records.relevance import RELEVANT, Relevance, settled
from goldbench.stages.canaries import findings, tally

TOO_MANY = 8
TOO_MUCH = 0.40
"""A query is too broad with this many relevant chunks in its pool, or with more than this share (0.40 = 40 %)."""

JUDGE_CHECK = "judge-check"
UNJUDGED = "unjudged"
NOTHING_FOUND = "nothing-found"
"""Why a query is left out; ``nothing-found`` is a query that came without a label and waits for another judge."""
GRADING_STAGES = ("pool", "grade", "judge-check")
"""The stages that a grading reports on."""


@dataclass(slots=True)
class GradingOutcome:
    """The result of a grading: the queries kept and dropped, every grade, and every judgment behind the grades.

    ``waiting`` holds the filter of each query that came without a label and still has none.
    """

    kept: list[Query] = field(default_factory=list)
    dropped: list[DroppedQuery] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    grades: dict[str, dict[str, Relevance]] = field(default_factory=dict)
    judgments: list[Judgment] = field(default_factory=list)
    checks: list[Judgment] = field(default_factory=list)
    reports: list[StageReport] = field(default_factory=list)


def outcome_of(gold: GradableSet, pool: Pool, answers: PanelAnswers) -> GradingOutcome:
    """Return the result of the answers about a pool.

    Args:
        gold: The set.
        pool: Its pool.
        answers: What the judges answered.
    """
    outcome = GradingOutcome()
    judged = answers.pairs()
    checks = answers.checks()
    canaries: dict[str, list[Judgment]] = {}
    for item in answers.canaries():
        canaries.setdefault(item.query_id, []).append(item)
    for position, query in enumerate(gold.queries):
        rows = pool.pairs[query.query_id]
        grades: dict[str, Relevance] = {}
        for row in rows:
            judgments_of_pair = judged.get((query.query_id, row.shared_from or row.chunk_id), ())
            if judgments_of_pair:
                grades[row.chunk_id] = settled([item.relevance for item in judgments_of_pair])
                outcome.judgments.extend(
                    judgments_of_pair if row.shared_from is None else _shared(judgments_of_pair, row.chunk_id)
                )
        outcome.judgments.extend(canaries.get(query.query_id, ()))
        outcome.checks.extend(checks.get(query.query_id, ()))
        own = [row.chunk_id for row in rows if row.shared_from is None]
        query = _described(query, own, grades, checks.get(query.query_id, ()), pool)  # noqa: PLW2901  the same, graded
        reason = _reason(query, own, grades)
        if reason is None:
            outcome.kept.append(_with_source(query, own, grades) if query.query_id in gold.unlabelled else query)
            outcome.grades[query.query_id] = grades
        elif query.query_id in gold.unlabelled:
            outcome.waiting.append(reason[0])
        else:
            outcome.dropped.append(DroppedQuery(position=position, filter=reason[0], reason=reason[1], query=query))
    outcome.reports = list(_reports(gold, pool, answers, outcome))
    return outcome


def _with_source(query: Query, own: Sequence[str], grades: Mapping[str, Relevance]) -> Query:
    """Return a query that came without a label, with the best passage that was found for it as its source."""
    best = max((chunk_id for chunk_id in own if chunk_id in grades), key=lambda chunk_id: (grades[chunk_id], chunk_id))
    return query.model_copy(update={"chunk_id": best})


def _shared(judgments: Sequence[Judgment], chunk_id: str) -> Iterator[Judgment]:
    for item in judgments:
        yield item.model_copy(update={"chunk_id": chunk_id, "shared_from": item.chunk_id, "rationale": ""})


def _described(
    query: Query, own: Sequence[str], grades: Mapping[str, Relevance], checks: Sequence[Judgment], pool: Pool
) -> Query:
    """Return the query with what its pool shows about it; near-duplicates count once."""
    reach = pool.reached.get(query.query_id)
    relevant = sum(grades.get(chunk_id, 0) >= RELEVANT for chunk_id in own)
    source = settled([item.relevance for item in checks]) if checks else None
    if source is None and query.evidence and not query.answer:
        source = grades.get(query.chunk_id)
    return query.model_copy(
        update={
            "reached_by": None if reach is None else reach.reached_by,
            "unreachable": None if reach is None else reach.unreachable,
            "source_grade": source,
            "too_broad": relevant >= TOO_MANY or (relevant > 0 and relevant > TOO_MUCH * len(own)),
        }
    )


def _reason(query: Query, own: Sequence[str], grades: Mapping[str, Relevance]) -> tuple[str, str] | None:
    """Return the filter and the reason if a query is left out, or None.

    A query whose source is graded 1 stays, for people to look at: judges are least sure of this grade.
    """
    if query.source_grade is Relevance.UNRELATED:
        return JUDGE_CHECK, "the judge, shown the answer as well, finds nothing of it in the source (grade 0)"
    if query.chunk_id in own and query.chunk_id not in grades:
        return UNJUDGED, "its source is not judged"
    if any(grade >= RELEVANT for grade in grades.values()):
        return None
    if open_ := sum(chunk_id not in grades for chunk_id in own):
        return UNJUDGED, f"nothing relevant is known, and {open_} of {len(own)} chunks of its pool are not judged"
    return JUDGE_CHECK, f"no chunk of its pool of {len(own)} is graded {RELEVANT:d} or more"


def _reports(gold: GradableSet, pool: Pool, answers: PanelAnswers, outcome: GradingOutcome) -> Iterator[StageReport]:
    yield StageReport(stage="pool", reads=QUERIES, writes=POOL, read=len(gold.queries), written=len(gold.queries))
    judged = {pair for pair, judgments in answers.pairs().items() if judgments}
    graded = sum((row.query_id, row.shared_from or row.chunk_id) in judged for row in _rows(pool))
    failed = {tuple(failure.item.split(" ", 1)) for failure in answers.failures if failure.stage == "grade"} - judged
    lost = sum((row.query_id, row.shared_from or row.chunk_id) in failed for row in _rows(pool))
    yield StageReport(
        stage="grade",
        reads=POOL,
        writes=JUDGMENTS,
        read=len(pool),
        written=graded,
        failed=lost,
        unused=len(pool) - graded - lost,
    )
    rules = Counter(item.filter for item in outcome.dropped if item.filter == JUDGE_CHECK)
    rules.update(NOTHING_FOUND for reason in outcome.waiting if reason == JUDGE_CHECK)
    waiting = len(outcome.dropped) + len(outcome.waiting) - rules.total()
    yield StageReport(
        stage="judge-check",
        reads=JUDGMENTS,
        writes=DATASET,
        read=len(gold.queries),
        written=len(outcome.kept),
        rejected=rules.total(),
        unused=waiting,
        rules=dict(rules),
    )


def _rows(pool: Pool) -> Iterator[PooledPair]:
    return (row for rows in pool.pairs.values() for row in rows)


def figures(
    settings: GradeSettings,
    panel: Assessors,
    pool: Pool,
    answers: PanelAnswers,
    outcome: GradingOutcome,
    *,
    own: str | None = None,
) -> Grading:
    """Return the figures of a grading.

    Args:
        settings: The settings of the grading.
        panel: The judges.
        pool: The pool.
        answers: What the judges answered.
        outcome: The result of the answers.
        own: Why no answer of the set was written by the judge's model, if so.
    """
    counts = tally(answers.canaries())
    unanswered = answers.unanswered_canaries()
    checked = findings(counts, sources=answers.sources(), unanswered=unanswered.total())
    held = guardrails(answers.canaries(), own=own)
    crossed = [f"guardrail, {problem}" for problem in failed_guardrails(held)]
    canaries = {}
    for kind in Canary:
        graded, relevant = counts.get(kind, (0, 0))
        if graded or unanswered[kind]:
            canaries[kind.value] = CanaryCount(graded=graded, relevant=relevant, unanswered=unanswered[kind])
    return Grading(
        assessors=list(panel.assessors),
        panel=settings.panel.value,
        depth=settings.depth,
        rubric=panel.rubric,
        method="written" if panel.thresholds is None else "yes-no",
        thresholds=panel.thresholds and astuple(panel.thresholds),
        retrievers=list(pool.retrievers),
        runs=list(pool.runs),
        canaries=canaries,
        canary_verdict=CanaryVerdict.WARNING
        if crossed and checked.verdict is CanaryVerdict.PASSED
        else checked.verdict,
        canary_findings=[*checked.failed, *checked.warnings, *crossed],
        guardrails=held,
        **grading_counts(_rows(pool), outcome.judgments, outcome.kept),
    )


_ACCOUNTS = (*ACCOUNTS, "embed")


def write_graded(draft: Draft, gold: GradableSet, pool: Pool, outcome: GradingOutcome, grading: Grading) -> None:
    """Write everything but the manifest.

    Args:
        draft: The draft.
        gold: The set that is graded.
        pool: Its pool.
        outcome: The outcome of the grading.
        grading: The figures of the grading.

    Raises:
        OSError: The disk is full or the folder cannot be written.
    """
    labels = next((path for path in (gold.folder.given_labels, gold.folder.labels) if path.is_file()), None)
    kept_labels = labels.read_bytes() if labels else b""
    draft.pool.write(row for rows in pool.pairs.values() for row in rows)
    draft.judgments.write(outcome.judgments)
    draft.checks.write(outcome.checks)
    draft.ungraded.write(outcome.dropped)
    draft.queries.write(outcome.kept)
    draft.write_gold(
        GoldContents(
            queries=outcome.kept,
            corpus=functools.partial(passages, gold.chunks, title_use(gold.metadata)),
            relevance=outcome.grades,
            metadata=described(gold.metadata, grading),
            unanswerable=list(gold.folder.unanswerable.read_any()),
        )
    )
    draft.given_labels.write_bytes(kept_labels)


def described(metadata: Mapping[str, Any], grading: Grading) -> dict[str, Any]:
    """Return the set's metadata with how it was graded, and a warning if the judge failed its test."""
    earlier = metadata.get("grading")
    before = str(earlier.get("notice") or "") if isinstance(earlier, Mapping) else ""
    notice = notice_of(grading)
    base = str(metadata.get("notice") or "").removesuffix(before).strip()
    notice_of_set = " ".join(part for part in (base, notice or "") if part)
    rest = {key: value for key, value in metadata.items() if key not in {"grading", "notice"}}
    shown: dict[str, Any] = {
        "assessors": grading.assessors,
        "panel": grading.panel,
        "depth": grading.depth,
        "retrievers": grading.retrievers,
        "runs": grading.runs,
        **({"feedback": grading.feedback} if grading.feedback else {}),
        "canaries": grading.canary_verdict.value,
        "unjudged": grading.unjudged,
        **({"notice": notice} if notice else {}),
    }
    return {**rest, "grading": shown, **({"notice": notice_of_set} if notice_of_set else {})}


def notice_of(grading: Grading) -> str | None:
    """Return the warning of a set whose judge failed its test, or None."""
    if grading.canary_verdict is CanaryVerdict.FAILED:
        return f"The judge failed its test, its grades are not to be trusted: {grading.canary_findings[0]}."
    return None


def manifest_of(
    manifest: Manifest,
    outcome: GradingOutcome,
    grading: Grading,
    *,
    failures: Sequence[Failure],
    prompts: Mapping[str, str],
    usage: Mapping[str, StageUsage],
    again: bool,
) -> Manifest:
    """Return the manifest of the graded set: the manifest of the set as built, with the stages of grading renewed.

    Args:
        manifest: The manifest so far.
        outcome: The outcome of the grading.
        grading: The figures of the grading.
        failures: The calls that failed.
        prompts: The digest of every prompt in use, by its id.
        usage: What the calls cost, by account.
        again: Whether judgments of an earlier grading are used again, so that their cost is part of the set's cost.
    """
    before = [failure for failure in manifest.failures if failure.stage not in _ACCOUNTS]
    spent = {stage: account for stage, account in manifest.usage.items() if again or stage not in _ACCOUNTS}
    for stage, account in usage.items():
        spent[stage] = added(spent[stage], account) if stage in spent else account
    kept_prompts = {name: digest for name, digest in manifest.prompts.items() if not name.startswith("grade")}
    return manifest.model_copy(
        update={
            "queries": len(outcome.kept),
            "stages": with_reports(manifest.stages, outcome.reports),
            "failures": [*before, *failures[:FAILURES_LISTED]],
            "usage": spent,
            "prompts": {**kept_prompts, **prompts},
            "grading": grading,
            "refused_grading": None,
        }
    )


def with_refusal(
    manifest: Manifest, refused_manifest: Manifest, usage: Mapping[str, StageUsage], reason: str
) -> Manifest:
    """Return the manifest of a set that stays as it was, with a record of the grading that was refused.

    Args:
        manifest: The manifest of the set.
        refused_manifest: The manifest that the graded set would have had.
        usage: What the calls cost, by account.
        reason: Why the grading was refused.
    """
    assert refused_manifest.grading is not None
    refused = RefusedGrading(
        reason=reason,
        grading=refused_manifest.grading,
        stages=[report for report in refused_manifest.stages if report.stage in GRADING_STAGES],
        failures=[failure for failure in refused_manifest.failures if failure.stage in _ACCOUNTS],
        usage=dict(usage),
    )
    return manifest.model_copy(update={"refused_grading": refused})


Pair = tuple[str, str]
People = Mapping[str, Mapping[str, int]]
"""The grades that people settled, by query and chunk."""


def judgments_by_pair(judgments: Iterable[Judgment]) -> dict[Pair, list[Judgment]]:
    """Return the judgments of each pair that was asked about, without judge checks and shared grades."""
    pairs: dict[Pair, list[Judgment]] = {}
    for judgment in judgments:
        if judgment.canary is None and judgment.shared_from is None:
            pairs.setdefault((judgment.query_id, judgment.chunk_id), []).append(judgment)
    return pairs


def agreement(judgments: Iterable[Judgment], people: People) -> dict[Pair, bool]:
    """Return for each pair that people judged, too, whether both call it relevant or both do not."""
    return {
        (query_id, chunk_id): (settled([item.relevance for item in of_pair]) >= RELEVANT)
        == (people[query_id][chunk_id] >= RELEVANT)
        for (query_id, chunk_id), of_pair in judgments_by_pair(judgments).items()
        if chunk_id in people.get(query_id, {})
    }


def with_earlier(answers: PanelAnswers, earlier: Iterable[Judgment], pairs: Collection[Pair]) -> PanelAnswers:
    """Return answers in which a pair that got no usable reply keeps its earlier judgments."""
    known = judgments_by_pair(earlier)
    slots = []
    for item in answers.slots:
        pair = item.slot.query.query_id, item.slot.chunk_id
        if not item.judgments and item.slot.planted is None and not item.slot.check and pair in pairs:
            item = replace(item, judgments=tuple(known[pair]))  # noqa: PLW2901  the same pair
        slots.append(item)
    return PanelAnswers(slots, answers.failures, answers.limit)
