"""Write a graded set: judgments, labels with explicit zeros, and the manifest that tells how they were made."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from goldbench.generate.steps import FAILURES_LISTED
from goldbench.goldset.dataset import GoldContents, passages, title_use
from goldbench.goldset.folder import Draft, with_reports
from goldbench.grade.gradable_set import GradableSet
from goldbench.grade.outcome import GRADING_STAGES, Outcome
from goldbench.grade.panel import ACCOUNTS
from goldbench.grade.retriever_pool import Pool
from goldbench.llm.prices import added
from goldbench.records.manifest import CanaryVerdict, Failure, Grading, Manifest, RefusedGrading, StageUsage

_ACCOUNTS = (*ACCOUNTS, "embed")


def write_graded(place: Draft, gold: GradableSet, pool: Pool, made: Outcome, grading: Grading) -> None:
    """Write everything but the manifest.

    Args:
        place: The draft.
        gold: The set that is graded.
        pool: Its pool.
        made: The outcome of the grading.
        grading: The figures of the grading.

    Raises:
        OSError: The disk is full or the folder cannot be written.
    """
    given = next((path for path in (gold.folder.given_labels, gold.folder.labels) if path.is_file()), None)
    kept_labels = given.read_bytes() if given else b""
    place.pool.write(row for rows in pool.pairs.values() for row in rows)
    place.judgments.write(made.judgments)
    place.checks.write(made.checks)
    place.ungraded.write(made.dropped)
    place.queries.write(made.kept)
    place.write_gold(
        GoldContents(
            queries=made.kept,
            corpus=functools.partial(passages, gold.chunks, gold.queries, title_use(gold.metadata)),
            relevance=made.grades,
            metadata=described(gold.metadata, grading),
            unanswerable=list(gold.folder.unanswerable.read_any()),
        )
    )
    place.given_labels.write_bytes(kept_labels)


def described(metadata: Mapping[str, Any], grading: Grading) -> dict[str, Any]:
    """Return the set's metadata with how it was graded, and a warning if the judge failed its test."""
    earlier = metadata.get("grading")
    before = str(earlier.get("notice") or "") if isinstance(earlier, Mapping) else ""
    notice = notice_of(grading)
    base = str(metadata.get("notice") or "").removesuffix(before).strip()
    told = " ".join(part for part in (base, notice or "") if part)
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
    return {**rest, "grading": shown, **({"notice": told} if told else {})}


def notice_of(grading: Grading) -> str | None:
    """Return the warning of a set whose judge failed its test, or None."""
    if grading.canary_verdict is CanaryVerdict.FAILED:
        return f"The judge failed its test, its grades are not to be trusted: {grading.canary_findings[0]}."
    return None


def manifest_of(
    manifest: Manifest,
    made: Outcome,
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
        made: The outcome of the grading.
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
            "queries": len(made.kept),
            "stages": with_reports(manifest.stages, made.reports),
            "failures": [*before, *failures[:FAILURES_LISTED]],
            "usage": spent,
            "prompts": {**kept_prompts, **prompts},
            "grading": grading,
            "refused_grading": None,
        }
    )


def with_refusal(manifest: Manifest, told: Manifest, usage: Mapping[str, StageUsage], reason: str) -> Manifest:
    """Return the manifest of a set that stays as it was, with a record of the grading that was refused.

    Args:
        manifest: The manifest of the set.
        told: The manifest that the graded set would have had.
        usage: What the calls cost, by account.
        reason: Why the grading was refused.
    """
    assert told.grading is not None
    refused = RefusedGrading(
        reason=reason,
        grading=told.grading,
        stages=[report for report in told.stages if report.stage in GRADING_STAGES],
        failures=[failure for failure in told.failures if failure.stage in _ACCOUNTS],
        usage=dict(usage),
    )
    return manifest.model_copy(update={"refused_grading": refused})
