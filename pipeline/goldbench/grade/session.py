"""Grade a set from beginning to end: in its folder, or while it is being built."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from goldbench.config import Config, JudgeMethod
from goldbench.config import Panel as Setting
from goldbench.errors import JudgeFailed, Message, NothingKept, OutputError, UsageError
from goldbench.generate.progress import calls_shown
from goldbench.generate.writers import WAVE
from goldbench.goldset.folder import Draft, GoldFolder, is_graded
from goldbench.grade.calls import (
    Answers,
    Asking,
    Slot,
    choose_judge,
    grouped,
    own_answers_missing,
    remembered,
    slots_of,
)
from goldbench.grade.outcome import (
    Outcome,
    People,
    agreement,
    figures,
    manifest_of,
    outcome_of,
    with_earlier,
    with_refusal,
    write_graded,
)
from goldbench.grade.panel import ACCOUNTS, Assessors, ModelPanel
from goldbench.grade.pool import GradableSet, Pool, Pools, pool_of, read_gradable
from goldbench.llm.rehearsal import PlannedStage
from goldbench.ports import Progress
from goldbench.records.manifest import (
    CanaryVerdict,
    Failure,
    Grading,
    Manifest,
    RefusedGrading,
    RubricChange,
    StageUsage,
)
from goldbench.stages.judge import Thresholds
from goldbench.text.display import amount, dollars, queries, shell_command

_SAMPLE = 200
"""Calls of which the prompts are made to estimate the tokens of all."""
EXPECTED_RELEVANT = 0.23
"""The share of a pool that a judge finds relevant (0.23 = 23 %): GPT-4 on the TREC Deep Learning track of 2023."""
EXPECTED_SPLIT = 0.41
"""How often a second judge disagrees about a pair in doubt (0.41 = 41 %): 400 panels drawn from LLMJudge's 33."""


class Decisions(Protocol):
    """What people decided about a set, taken off it while it is graded and put on again."""

    def take_off(self, draft: Draft, manifest: Manifest) -> None:
        """Write the set, as it was before people's decisions, into a draft."""

    async def put_on(self, draft: Draft, manifest: Manifest) -> Manifest:
        """Put the decisions into the draft, and return its manifest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What a grading works with.

    Args:
        panel: The judges.
        pools: What the pool is made of.
        progress: Shows how far the work is.
        say: Takes a line that stays on the screen.
        replace: Whether an earlier grading is replaced.
        force: Whether the grades of a judge that fails the judge checks are used.
        spent: What was spent before on the same caps, by account.
        decisions: People's decisions that were applied to the set, or None.
        people: People's grades if only pairs are asked about on which the judge is of another mind, or None.
    """

    panel: ModelPanel
    pools: Pools
    progress: Progress
    say: Callable[[str], None]
    replace: bool = False
    force: bool = False
    spent: Mapping[str, StageUsage] = field(default_factory=dict)
    decisions: Decisions | None = None
    people: People | None = None


@dataclass(frozen=True, slots=True)
class GradingResult:
    """A finished grading: the manifest, what this run cost by account, and the cap that stopped it, or None.

    ``refusal`` is set if the set stayed as it was; the manifest then holds the grading as ``refused_grading``.
    """

    manifest: Manifest
    usage: Mapping[str, StageUsage]
    limit: str | None = None
    refusal: NothingKept | None = None

    @property
    def record(self) -> Manifest | RefusedGrading:
        """What holds the figures, stages and failures of the grading."""
        return self.manifest.refused_grading or self.manifest

    @property
    def grading(self) -> Grading:
        """The figures of the grading."""
        assert self.record.grading is not None
        return self.record.grading

    @property
    def complete(self) -> bool:
        """Whether every pair is judged, nothing failed, and the judge did not fail its test."""
        failed = self.refusal is not None or self.grading.canary_verdict is CanaryVerdict.FAILED
        whole = not self.grading.unjudged and not self.failures and self.manifest.queries > 0
        return self.limit is None and not failed and whole

    @property
    def failures(self) -> list[Failure]:
        """The calls that failed."""
        return [failure for failure in self.record.failures if failure.stage in ACCOUNTS]

    def problem(self, folder: Path, *, built: bool = False) -> NothingKept | None:
        """Return the error that says why the set in a folder is not graded, or None.

        Args:
            folder: The run folder.
            built: Whether the set was built by the same command.
        """
        if self.refusal is None:
            return None
        remedy = ""
        if isinstance(self.refusal, JudgeFailed):
            remedy = Message("; grade it with another {model=}, or with {force=True} to use these grades")
        state = "is built but not graded" if built else "stays as it was"
        return type(self.refusal)(Message("{}: {}, because {}{}", folder, state, self.refusal.message, remedy))


async def grade_folder(folder: Path, work: Work) -> GradingResult:
    """Grade the set in a folder and put the graded set in its place; until then the folder stays as it is.

    A refused grading (see `GradingResult`) changes the manifest alone.

    Raises:
        InputError: The folder holds no finished set, or a damaged one.
        OutputError: It is graded by other judges, reviewed by people, or cannot be written.
        ModelUnavailable: The model's server cannot be used; what was answered is in the store.
    """
    home = GoldFolder(folder)
    with home.rewriting() as place:
        manifest = home.manifest()
        check_gradable(home, manifest, work)
        if work.decisions is None:
            found = await _grade(read_gradable(home, manifest), place, manifest, work)
        else:
            work.decisions.take_off(place, manifest)
            found = await _grade(read_gradable(place, manifest), place, manifest, work)
            found = replace(found, manifest=await work.decisions.put_on(place, found.manifest))
        place.finish(found.manifest)
    return replace(found, manifest=home.manifest())


async def grade_place(draft: Draft, manifest: Manifest, work: Work) -> GradingResult:
    """Grade a set that is written but not put in place yet; a refused grading leaves it as it was written.

    Args:
        draft: The draft.
        manifest: Its manifest so far.
    """
    return await _grade(read_gradable(draft, manifest), draft, manifest, work)


def refusal_of(grading_result: GradingResult, *, force: bool) -> NothingKept | None:
    """Return why a grading is not put into its set, or None.

    Args:
        grading_result: The grading as it would be put in place.
        force: Whether the grades of a judge that failed the judge checks are used.
    """
    if grading_result.grading.canary_verdict is CanaryVerdict.FAILED and not force:
        finding = grading_result.grading.canary_findings[0]
        return JudgeFailed(f"the judge {grading_result.grading.assessors[0]} failed the judge checks: {finding}")
    if grading_result.manifest.queries:
        return None
    if grading_result.limit is not None:
        return NothingKept(f"no query is fully judged yet: {grading_result.limit}")
    if grading_result.grading.unjudged:
        pairs = amount(grading_result.grading.unjudged, "pair")
        return NothingKept(f"no query would be left: {pairs} could not be judged")
    return None


async def plan_folder(folder: Path, work: Work) -> tuple[Sequence[PlannedStage], int]:
    """Return what grading would take, by account, and for how many queries; send and write nothing.

    Calls about pairs in doubt are known only for pairs whose first judgment is in the store.

    Args:
        folder: The run folder.
        work: What the grading would work with.
    """
    home = GoldFolder(folder)
    manifest = home.manifest()
    check_gradable(home, manifest, work)
    gold = read_gradable(home, manifest)
    pool = _pool(gold, work)
    slots = slots_of(gold, pool, share=work.panel.config.grade.canaries, judge=_judge(work))
    with work.panel.rehearse() as (rehearsed, report):
        panel = _as_before(rehearsed, manifest, work)
        await _ask(gold, panel, slots, work)
        stages = report()
        asking = _asking(gold, panel, work, advance=lambda _: None)
        pairs = sum(not slot.planted and not asking.is_known(slot) for slot in slots)
    more = more_calls(len(panel.others), work.panel.config.grade.panel)
    return [*stages, *expected_escalation(stages, pairs, more)], len(gold.queries)


def expected_escalation(stages: Sequence[PlannedStage], pairs: int, factor: float) -> list[PlannedStage]:
    """Return what the further judges are likely to take, one pair per call.

    Args:
        stages: What the first judge takes.
        pairs: Pairs that the first judge grades.
        factor: Calls of the further judges per pair, see `more_calls`.
    """
    first = next((row for row in stages if row.stage == "grade"), None)
    if first is None or not first.requests or not factor:
        return []
    return [
        PlannedStage(
            "escalate (about)",
            round(pairs * factor),
            0,
            round(first.input_tokens * factor),
            round(first.output_tokens * factor),
            None if first.usd is None else first.usd * factor,
        )
    ]


def more_calls(others: int, panel: Setting) -> float:
    """Return how many calls the further judges are likely to take per call of the first judge.

    Args:
        others: Number of further judges.
        panel: Which pairs go to them.
    """
    if panel is Setting.ALL:
        return float(others)
    return EXPECTED_RELEVANT * min(others, 1 + EXPECTED_SPLIT * max(0, others - 1))


def check_gradable(folder: GoldFolder, manifest: Manifest, work: Work) -> None:
    """Refuse to replace people's decisions or another panel's grades.

    Args:
        folder: The run folder.
        manifest: Its manifest.
        work: What the grading would work with.

    Raises:
        InputError: A file of the set is missing or was changed.
        OutputError: The set is graded by other judges, or holds people's corrections.
        UsageError: Only runs are to be added, and the set is not graded yet; or as in `check_method`.
    """
    grading, place = manifest.grading, folder.path
    if work.pools.again and not is_graded(manifest):
        raise UsageError(Message("{}: is not graded yet; grade it first, which takes {run=} as well", place))
    if work.replace or not is_graded(manifest):
        check_method(work.panel.config, batch=work.panel.batches is not None)
    problem = next(folder.changed_files(), None)
    if problem is not None:
        raise OutputError(f"{place}: {problem}; build the set again, or see {shell_command('validate', str(place))}")
    if work.people is not None and (work.replace or work.pools.runs or work.pools.feedback):
        raise UsageError(
            Message("{again=True} asks about pairs that are graded: leave out {replace=True}, runs and feedback")
        )
    if work.replace:
        return
    reviewed = folder.is_reviewed() and work.decisions is None
    if reviewed and work.pools.again:
        raise OutputError(
            f"{place}: holds what people decided in a review, which new labels of the judge would replace; "
            f"top up the set as it was before its review, then run {shell_command('review apply')}"
        )
    if reviewed:
        raise OutputError(
            Message("{}: holds what people decided in a review; give {replace=True} to grade over it", place)
        )
    if grading is None or not is_graded(manifest):
        return
    prompts = {name: digest for name, digest in manifest.prompts.items() if name.startswith("grade")}
    with work.panel.rehearse() as (rehearsed, _):
        panel = _as_before(rehearsed, manifest, work)
    if work.people is not None and panel.rubric is None:
        raise UsageError(f"{place}: its judge was asked for yes or no and reads no rubric; nothing would change")
    edited = None not in (grading.rubric, panel.rubric) and grading.rubric != panel.rubric
    if edited and work.people is None:
        raise OutputError(
            Message(
                "{}: its rubric was edited since it was graded; give {again=True} to ask again about pairs that people "
                "judged otherwise, or {replace=True} to grade everything by it",
                place,
            )
        )
    if grading.assessors != list(panel.assessors) or prompts != panel.digests:
        changed = "other wordings" if grading.assessors == list(panel.assessors) else ", ".join(grading.assessors)
        raise OutputError(
            Message(
                "{}: is graded already, by {}; give {replace=True} to put the grades of {} in their place",
                *(place, changed, panel.assessors[0]),
            )
        )


def check_method(config: Config, *, batch: bool) -> None:
    """Refuse to set the thresholds of a judge by yes or no in batches.

    Raises:
        UsageError: Batches and yes or no were asked for.
    """
    if batch and config.grade.method is JudgeMethod.YES_NO:
        raise UsageError(
            Message("{method='yes-no'}: its thresholds are set by calls one after another; leave out {batch=True}")
        )


def _as_before(panel: Assessors, manifest: Manifest, work: Work) -> Assessors:
    """Return the panel with the way of judging, and its thresholds, that the set was graded with."""
    method, grading = work.panel.config.grade.method, manifest.grading
    if grading is None or grading.thresholds is None or work.replace or method is JudgeMethod.WRITTEN:
        return panel
    return panel.by_yes_no(Thresholds(*grading.thresholds))


def _judge(work: Work) -> str:
    """Return the name of the first judge's model."""
    return work.panel.config.model.name or ""


def _pool(gold: GradableSet, work: Work) -> Pool:
    return pool_of(gold, work.pools, work.progress, depth=work.pools.depth or work.panel.config.grade.depth)


async def _grade(gold: GradableSet, draft: Draft, manifest: Manifest, work: Work) -> GradingResult:
    settings = work.panel.config.grade
    pool = _pool(gold, work)
    slots = slots_of(gold, pool, share=settings.canaries, judge=_judge(work))
    spent = {**work.spent, **work.pools.usage()}
    async with work.panel.open(spent) as opened:
        panel, answers = await _judge_all(gold, _as_before(opened, manifest, work), slots, work)
    if work.people is not None:
        answers = with_earlier(answers, gold.earlier.judgments, _disputed(gold, work.people))
    outcome = outcome_of(gold, pool, answers)
    grading = figures(settings, panel, pool, answers, outcome, own=own_answers_missing(gold, _judge(work)))
    if work.pools.again and manifest.grading is not None:
        change = manifest.grading.rubric_change
        if work.people is not None:
            change = _rubric_change(gold, work.people, panel, outcome)
        grading = grading.model_copy(update={"depth": manifest.grading.depth, "rubric_change": change})
    usage = {**work.pools.usage(), **work.panel.usage()}
    told = manifest_of(
        manifest,
        outcome,
        grading,
        failures=answers.failures,
        prompts=panel.digests,
        usage=usage,
        again=is_graded(manifest) and not work.replace,
    )
    grading_result = GradingResult(told, usage, answers.limit)
    refusal = refusal_of(grading_result, force=work.force)
    if refusal is not None:
        return replace(grading_result, manifest=with_refusal(manifest, told, usage, str(refusal)), refusal=refusal)
    write_graded(draft, gold, pool, outcome, grading)
    return grading_result


async def _judge_all(
    gold: GradableSet, panel: Assessors, slots: Sequence[Slot], work: Work
) -> tuple[Assessors, Answers]:
    """Choose how the model judges, say what that will take, and judge every pair."""
    config, known = work.panel.config, is_graded(gold.manifest) and not work.replace
    with work.progress.stage("grade", len(slots)) as step:
        asking = _asking(gold, panel, work, advance=lambda _: None)
        seconds: float | None = None
        async with calls_shown(panel, step, work.progress):
            if not known and not work.panel.batches and config.grade.method is not JudgeMethod.WRITTEN:
                choice = await choose_judge(asking, slots, must=config.grade.method is JudgeMethod.YES_NO)
                asking = choice.asking
                if choice.line:
                    work.say(choice.line)
                seconds = choice.seconds_a_call
            work.say(await forecast(gold, slots, work, asking, seconds))
            asking = replace(asking, advance=step.advance)
            return asking.panel, await asking.ask(slots, per_call=config.grade.passages_per_call)


def _disputed(gold: GradableSet, people: People) -> set[tuple[str, str]]:
    return {pair for pair, agreed in agreement(gold.earlier.judgments, people).items() if not agreed}


def _rubric_change(gold: GradableSet, people: People, panel: Assessors, outcome: Outcome) -> RubricChange:
    before, after = agreement(gold.earlier.judgments, people), agreement(outcome.judgments, people)
    compared = before.keys() & after.keys()
    grading = gold.manifest.grading
    return RubricChange(
        before=None if grading is None else grading.rubric,
        after=panel.rubric,
        compared=len(compared),
        asked=sum(not before[pair] for pair in compared),
        agreed_before=sum(before[pair] for pair in compared),
        agreed_after=sum(after[pair] for pair in compared),
    )


async def _ask(gold: GradableSet, panel: Assessors, slots: Sequence[Slot], work: Work) -> Answers:
    with work.progress.stage("grade", len(slots)) as step:
        asking = _asking(gold, panel, work, advance=step.advance)
        async with calls_shown(panel, step, work.progress):
            return await asking.ask(slots, per_call=work.panel.config.grade.passages_per_call)


def _asking(gold: GradableSet, panel: Assessors, work: Work, *, advance: Callable[[int], None]) -> Asking:
    known, known_checks = ({}, {}) if work.replace else remembered(gold.earlier)
    if work.people is not None:
        disputed = _disputed(gold, work.people)
        known = {key: item for key, item in known.items() if item.canary is not None or key[:2] not in disputed}
    return Asking(
        gold=gold,
        panel=panel,
        concurrency=WAVE if work.panel.batches else 2 * work.panel.config.model.calls_at_once,
        advance=advance,
        known=known,
        known_checks=known_checks,
        tries=not work.panel.batches,
        stops=not work.force,
    )


async def forecast(
    gold: GradableSet, slots: Sequence[Slot], work: Work, asking: Asking, seconds_a_call: float | None
) -> str:
    """Return a line on what grading will take: calls are counted, tokens and money estimated from a sample of prompts.

    Args:
        gold: The set.
        slots: The pairs to judge.
        work: What the grading works with.
        asking: How the panel will be asked.
    """
    config = work.panel.config
    per_call = config.grade.passages_per_call
    new = [group for group in grouped(slots, per_call, asking.is_known) if not asking.is_known(group[0])]
    if not new:
        return f"{amount(len(slots), 'pair')} of {queries(len(gold.queries))}, all judged before."
    sample = new[:: max(1, len(new) // _SAMPLE)]
    with work.panel.rehearse() as (rehearsed, report):
        thresholds = asking.panel.thresholds
        panel = rehearsed if thresholds is None else rehearsed.by_yes_no(thresholds)
        rehearsal = replace(asking, panel=panel, tries=False, stops=False)
        await rehearsal.ask([slot for group in sample for slot in group], per_call=per_call)
        stages = report()
    scale = len(new) / len(sample)
    more = more_calls(len(panel.others), config.grade.panel)
    requests = round(scale * sum(stage.requests for stage in stages))
    pairs = sum(not slot.planted for group in new for slot in group)
    tokens_in, tokens_out = (
        sum(getattr(stage, name) for stage in stages) * scale * (1 + more) for name in ("input_tokens", "output_tokens")
    )
    count = max(1, len(gold.queries))
    prices = [stage.usd for stage in stages]
    money = "the price is not known"
    if all(price is not None for price in prices):
        total = sum(price or 0.0 for price in prices) * scale * (1 + more)
        money = f"about {dollars(total)}, {dollars(total / count)} a query"
    line = (
        f"{amount(len(slots), 'pair')} of {queries(len(gold.queries))}, judge checks included: about "
        f"{requests:,} requests ({requests / count:.1f} a query), and about {pairs * more:,.0f} of the further judges; "
        f"about {tokens_in:,.0f} tokens in, {tokens_out:,.0f} out; {money}."
    )
    if seconds_a_call is not None and requests:
        minutes = requests * (1 + more) * seconds_a_call / 60
        pace = f"At the pace of the judge checks ({seconds_a_call:.1f} s an answer)"
        line += f" {pace} at most {max(1, round(minutes)):,} min."
    return line
