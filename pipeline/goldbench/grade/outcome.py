"""Settle judgments: grades per pair, queries left out and why, flags per query, figures of the whole set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field

from goldbench.config import GradeSettings
from goldbench.goldset.file_names import DATASET, JUDGMENTS, POOL, QUERIES
from goldbench.grade.gradable_set import GradableSet
from goldbench.grade.panel import Assessors
from goldbench.grade.retriever_pool import Pool
from goldbench.grade.slots import Answers
from goldbench.measures.statistics.guardrails import failed_guardrails, guardrails
from goldbench.records.judgment import Canary, Flag, Judgment, Origin, Pooled
from goldbench.records.manifest import CanaryCount, CanaryVerdict, Grading, StageReport
from goldbench.records.query import DroppedQuery, Query
from goldbench.records.relevance import RELEVANT, Relevance, settled
from goldbench.stages.canaries import findings, tally

TOO_MANY, TOO_MUCH = 8, 0.40
"""A query is too broad with this many relevant chunks in its pool, or with more than this share (0.40 = 40 %)."""

JUDGE_CHECK, UNJUDGED, NOTHING_FOUND = "judge-check", "unjudged", "nothing-found"
"""Why a query is left out; ``nothing-found`` is a query that came without a label and waits for another judge."""
GRADING_STAGES = ("pool", "grade", "judge-check")
"""The stages that a grading reports on."""


@dataclass(slots=True)
class Outcome:
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


def outcome_of(gold: GradableSet, pool: Pool, answers: Answers) -> Outcome:
    """Return the result of the answers about a pool.

    Args:
        gold: The set.
        pool: Its pool.
        answers: What the judges answered.
    """
    made, judged, checks = Outcome(), answers.pairs(), answers.checks()
    canaries: dict[str, list[Judgment]] = {}
    for item in answers.canaries():
        canaries.setdefault(item.query_id, []).append(item)
    for position, query in enumerate(gold.queries):
        rows = pool.pairs[query.query_id]
        grades: dict[str, Relevance] = {}
        for row in rows:
            found = judged.get((query.query_id, row.shared_from or row.chunk_id), ())
            if found:
                grades[row.chunk_id] = settled([item.relevance for item in found])
                made.judgments.extend(found if row.shared_from is None else _shared(found, row.chunk_id))
        made.judgments.extend(canaries.get(query.query_id, ()))
        made.checks.extend(checks.get(query.query_id, ()))
        own = [row.chunk_id for row in rows if row.shared_from is None]
        query = _described(query, own, grades, checks.get(query.query_id, ()), pool)  # noqa: PLW2901  the same, graded
        reason = _reason(query, own, grades)
        if reason is None:
            made.kept.append(_with_source(query, own, grades) if query.query_id in gold.unlabelled else query)
            made.grades[query.query_id] = grades
        elif query.query_id in gold.unlabelled:
            made.waiting.append(reason[0])
        else:
            made.dropped.append(DroppedQuery(position=position, filter=reason[0], reason=reason[1], query=query))
    made.reports = list(_reports(gold, pool, answers, made))
    return made


def _with_source(query: Query, own: Sequence[str], grades: Mapping[str, Relevance]) -> Query:
    """Return a query that came without a label, with the best passage that was found for it as its source."""
    best = max((chunk_id for chunk_id in own if chunk_id in grades), key=lambda chunk_id: (grades[chunk_id], chunk_id))
    return query.model_copy(update={"chunk_id": best})


def _shared(found: Sequence[Judgment], chunk_id: str) -> Iterator[Judgment]:
    for item in found:
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


def _reports(gold: GradableSet, pool: Pool, answers: Answers, made: Outcome) -> Iterator[StageReport]:
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
    rules = Counter(item.filter for item in made.dropped if item.filter == JUDGE_CHECK)
    rules.update(NOTHING_FOUND for reason in made.waiting if reason == JUDGE_CHECK)
    waiting = len(made.dropped) + len(made.waiting) - rules.total()
    yield StageReport(
        stage="judge-check",
        reads=JUDGMENTS,
        writes=DATASET,
        read=len(gold.queries),
        written=len(made.kept),
        rejected=rules.total(),
        unused=waiting,
        rules=dict(rules),
    )


def _rows(pool: Pool) -> Iterator[Pooled]:
    return (row for rows in pool.pairs.values() for row in rows)


def figures(
    settings: GradeSettings, panel: Assessors, pool: Pool, answers: Answers, made: Outcome, *, own: str | None = None
) -> Grading:
    """Return the figures of a grading.

    Args:
        settings: The settings of the grading.
        panel: The judges.
        pool: The pool.
        answers: What the judges answered.
        made: The result of the answers.
        own: Why no answer of the set was written by the judge's model, if so.
    """
    pairs = {key: found for key, found in answers.pairs().items() if found}
    counts, unanswered = tally(answers.canaries()), answers.unanswered_canaries()
    found = findings(counts, sources=answers.sources(), unanswered=unanswered.total())
    held = guardrails(answers.canaries(), own=own)
    crossed = [f"guardrail, {one}" for one in failed_guardrails(held)]
    everything = [item for judgments in pairs.values() for item in judgments]
    final = [settled([item.relevance for item in judgments]) for judgments in pairs.values()]
    shared = sum(row.shared_from is not None for row in _rows(pool))
    several = [[item.relevance for item in judgments] for judgments in pairs.values() if len(judgments) > 1]
    return Grading(
        assessors=list(panel.assessors),
        panel=settings.panel.value,
        depth=settings.depth,
        passages_per_call=settings.passages_per_call if panel.many else 1,
        rubric=panel.rubric,
        method="written" if panel.thresholds is None else "yes-no",
        thresholds=panel.thresholds and astuple(panel.thresholds),
        retrievers=list(pool.retrievers),
        runs=list(pool.runs),
        feedback=sum(row.origin is Origin.FEEDBACK for row in _rows(pool)),
        pairs=len(pool) - shared,
        judged=len(pairs),
        shared=shared,
        unjudged=len(pool) - shared - len(pairs),
        escalated=len(several),
        capped=sum(judgments[0].capped for judgments in pairs.values()),
        flagged=dict(sorted(Counter(item.flag.value for item in everything if item.flag is not Flag.NONE).items())),
        spread=dict(sorted(Counter(int(max(grades) - min(grades)) for grades in several).items())),
        grades=dict(sorted(Counter(map(int, final)).items())),
        too_broad=sum(bool(query.too_broad) for query in made.kept),
        unreachable=sum(bool(query.unreachable) for query in made.kept),
        canaries={
            kind.value: CanaryCount(graded=graded, relevant=relevant, unanswered=unanswered[kind])
            for kind in Canary
            for graded, relevant in [counts.get(kind, (0, 0))]
            if graded or unanswered[kind]
        },
        canary_verdict=CanaryVerdict.WARNING if crossed and found.verdict is CanaryVerdict.PASSED else found.verdict,
        canary_findings=[*found.failed, *found.warnings, *crossed],
        guardrails=held,
    )
