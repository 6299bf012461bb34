"""Grade a set from beginning to end: in its folder, or while it is being built."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
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
    Choice,
    Known,
    PanelAnswers,
    PanelCalls,
    Slot,
    by_key,
    choose_judge,
    own_answers_missing,
    slots_of,
)
from goldbench.grade.outcome import (
    GradingOutcome,
    People,
    agreement,
    figures,
    manifest_of,
    outcome_of,
    with_earlier,
    with_refusal,
    write_graded,
)
from goldbench.grade.panel import ACCOUNTS, Assessors, ModelPanel, destinations_of_judging, judging
from goldbench.grade.pool import GradableSet, Pool, Pools, feedback_in, open_pools, pool_of, read_gradable
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
from goldbench.score.runs import named_runs
from goldbench.stages.judge import Thresholds
from goldbench.systems.destinations import destinations, text_line
from goldbench.text.display import amount, dollars, queries, shell_command

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


@dataclass(frozen=True, slots=True)
class GradingRequest:
    """What shapes a grading and is not a setting of a table.

    Args:
        runs: The users' runs whose results are judged, too, as ``NAME=FILE`` or ``FILE``.
        replay: Whether every answer comes from the store.
        batch: Whether requests are sent in batches.
        replace: Whether the grades of another judge are replaced.
        force: Whether the grades of a judge that fails the judge checks are used.
        again: Whether an earlier pool stays, and only the runs are added.
        depth: Results of each run; None takes the number of the configuration.
        feedback: The file of users' clicks and votes whose passages are judged first, or None.
        decisions: People's decisions that were applied to the set, or None.
        people: People's grades if only pairs are asked about on which the judge is of another mind, or None.
    """

    runs: tuple[str, ...] = ()
    replay: bool = False
    batch: bool = False
    replace: bool = False
    force: bool = False
    again: bool = False
    depth: int | None = None
    feedback: Path | None = None
    decisions: Decisions | None = None
    people: People | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What a grading works with.

    Args:
        options: What shapes it.
        panel: The judges.
        pools: What the pool is made of.
        progress: Shows how far the work is.
        say: Takes a line that stays on the screen.
        spent: What was spent before on the same caps, by account.
    """

    panel: ModelPanel
    pools: Pools
    progress: Progress
    options: GradingRequest = GradingRequest()
    say: Callable[[str], None] = lambda _: None
    spent: Mapping[str, StageUsage] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GradingPlan:
    """What a grading would send: by account, for how many queries, to which model.

    ``doubtful`` is the share of pairs that is expected to go to a second judge.
    """

    stages: Sequence[PlannedStage]
    queries: int
    model: str
    doubtful: float


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


async def run_grading(
    options: GradingRequest,
    folder: Path,
    config: Config,
    answers: Path,
    *,
    progress: Progress,
    say: Callable[[str], None],
) -> GradingResult:
    """Grade the set in a folder; raises as `grade_folder`.

    Args:
        options: How it is graded.
        folder: The run folder.
        config: The configuration.
        answers: The store of answers.
        progress: Shows how far the work is.
        say: Takes a line that stays on the screen.

    Raises:
        UsageError: No model is named, or no server.
    """
    _check_folder(folder)
    config = await judging(config, asks=not options.replay, replay=options.replay)
    say(text_line(destinations_of_judging(config, replay=options.replay)))
    panel = ModelPanel(
        config,
        answers,
        replay=options.replay,
        batches=say if options.batch else None,
        say=say,
        rubric=GoldFolder(folder).rubric(),
    )
    with _opened_pools(options, config, answers, dry_run=False) as pools:
        work = Work(options=options, panel=panel, pools=pools, progress=progress, say=say)
        return await grade_folder(folder, work)


async def preview_grading(
    options: GradingRequest, folder: Path, config: Config, answers: Path, *, progress: Progress
) -> GradingPlan:
    """Return what grading the set in a folder would send; send and write nothing.

    Args:
        options: How it would be graded.
        folder: The run folder.
        config: The configuration.
        answers: The store of answers.
        progress: Shows how far the pooling is.

    Raises:
        InputError: The folder holds no finished set, or a damaged one.
        UsageError: No model is named, or no server.
    """
    _check_folder(folder)
    config = await judging(config, asks=False, replay=options.replay)
    progress.note(text_line(destinations(config)))
    panel = ModelPanel(
        config,
        answers,
        replay=options.replay,
        batches=(lambda _: None) if options.batch else None,
        rubric=GoldFolder(folder).rubric(),
    )
    with _opened_pools(options, config, answers, dry_run=True) as pools:
        return await plan_folder(folder, Work(options=options, panel=panel, pools=pools, progress=progress))


def _check_folder(folder: Path) -> None:
    """Refuse a folder without a finished set before anything is written to it.

    Raises:
        InputError: The folder holds no finished set.
    """
    home = GoldFolder(folder)
    if not home.is_half_published():
        home.manifest()


@contextlib.contextmanager
def _opened_pools(options: GradingRequest, config: Config, answers: Path, *, dry_run: bool) -> Iterator[Pools]:
    runs = named_runs(options.runs)
    feedback = {} if options.feedback is None else feedback_in(options.feedback)
    with open_pools(config, answers, replay=options.replay, dry_run=dry_run) as pools:
        again = options.again or options.people is not None
        yield replace(pools, runs=runs, again=again, depth=options.depth, feedback=feedback)


async def grade_folder(folder: Path, work: Work) -> GradingResult:
    """Grade the set in a folder and put the graded set in its place; until then the folder stays as it is.

    A refused grading (see `GradingResult`) changes the manifest alone.

    Raises:
        InputError: The folder holds no finished set, or a damaged one.
        OutputError: It is graded by other judges, reviewed by people, or cannot be written.
        ModelUnavailable: The model's server cannot be used; what was answered is in the store.
    """
    home = GoldFolder(folder)
    with home.rewriting() as draft:
        manifest = home.manifest()
        check_gradable(home, manifest, work)
        decisions = work.options.decisions
        if decisions is None:
            result = await _grade(read_gradable(home, manifest), draft, manifest, work)
        else:
            decisions.take_off(draft, manifest)
            result = await _grade(read_gradable(draft, manifest), draft, manifest, work)
            result = replace(result, manifest=await decisions.put_on(draft, result.manifest))
        draft.finish(result.manifest)
    return replace(result, manifest=home.manifest())


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


async def plan_folder(folder: Path, work: Work) -> GradingPlan:
    """Return what grading would take; send and write nothing.

    Calls about pairs in doubt are known only for pairs whose first judgment is in the store.

    Args:
        folder: The run folder.
        work: What the grading would work with.
    """
    home = GoldFolder(folder)
    manifest = home.manifest()
    check_gradable(home, manifest, work)
    gold = read_gradable(home, manifest)
    slots = slots_of(gold, _pool(gold, work), share=work.panel.config.grade.canaries, judge=_judge(work))
    thresholds = _earlier_thresholds(manifest, work)
    stages = await _planned(gold, slots, work, thresholds)
    return GradingPlan(stages, len(gold.queries), _judge(work), EXPECTED_RELEVANT)


async def _planned(
    gold: GradableSet, slots: Sequence[Slot], work: Work, thresholds: Thresholds | None
) -> list[PlannedStage]:
    """Return what judging slots takes, by account; with thresholds the first judge is asked for yes or no."""
    with work.panel.rehearse() as (rehearsed, report):
        panel = rehearsed if thresholds is None else rehearsed.by_yes_no(thresholds)
        asking = replace(_asking(gold, panel, work), tries=False)
        await asking.ask(sorted(slots, key=lambda slot: slot.planted is None))  # the judge checks come first
        stages = report()
    pairs = sum(not slot.planted and not asking.is_known(slot) for slot in slots)
    return [*stages, *expected_escalation(stages, pairs, more_calls(len(panel.others), work.panel.config.grade.panel))]


def expected_escalation(stages: Sequence[PlannedStage], pairs: int, factor: float) -> list[PlannedStage]:
    """Return what the further judges are likely to take.

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
    grading = manifest.grading
    place = folder.path
    if work.pools.again and not is_graded(manifest):
        raise UsageError(Message("{}: is not graded yet; grade it first, which takes {run=} as well", place))
    if work.options.replace or not is_graded(manifest):
        check_method(work.panel.config, batch=work.panel.batches is not None)
    problem = next(folder.changed_files(), None)
    if problem is not None:
        raise OutputError(f"{place}: {problem}; build the set again, or see {shell_command('validate', str(place))}")
    if work.options.people is not None and (work.options.replace or work.pools.runs or work.pools.feedback):
        raise UsageError(
            Message("{again=True} asks about pairs that are graded: leave out {replace=True}, runs and feedback")
        )
    if work.options.replace:
        return
    reviewed = folder.is_reviewed() and work.options.decisions is None
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
    thresholds = _earlier_thresholds(manifest, work)
    with work.panel.rehearse() as (panel, _):
        panel = panel if thresholds is None else panel.by_yes_no(thresholds)  # noqa: PLW2901  the same judges
    if work.options.people is not None and panel.rubric is None:
        raise UsageError(f"{place}: its judge was asked for yes or no and reads no rubric; nothing would change")
    edited = None not in (grading.rubric, panel.rubric) and grading.rubric != panel.rubric
    if edited and work.options.people is None:
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


def _earlier_thresholds(manifest: Manifest, work: Work) -> Thresholds | None:
    """Return the thresholds that the set was graded with, None for a judge in writing."""
    method = work.panel.config.grade.method
    grading = manifest.grading
    if grading is None or grading.thresholds is None or work.options.replace or method is JudgeMethod.WRITTEN:
        return None
    return Thresholds(*grading.thresholds)


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
    thresholds = _earlier_thresholds(manifest, work)
    async with work.panel.open(spent) as opened:
        panel = opened if thresholds is None else opened.by_yes_no(thresholds)
        panel, answers = await _judge_all(gold, panel, slots, work)
    if work.options.people is not None:
        answers = with_earlier(answers, gold.earlier.judgments, _disputed(gold, work.options.people))
    outcome = outcome_of(gold, pool, answers)
    grading = figures(settings, panel, pool, answers, outcome, own=own_answers_missing(gold, _judge(work)))
    if work.pools.again and manifest.grading is not None:
        change = manifest.grading.rubric_change
        if work.options.people is not None:
            change = _rubric_change(gold, work.options.people, panel, outcome)
        grading = grading.model_copy(update={"depth": manifest.grading.depth, "rubric_change": change})
    usage = {**work.pools.usage(), **work.panel.usage()}
    graded = manifest_of(
        manifest,
        outcome,
        grading,
        failures=answers.failures,
        prompts=panel.digests,
        usage=usage,
        again=is_graded(manifest) and not work.options.replace,
    )
    grading_result = GradingResult(graded, usage, answers.limit)
    refusal = refusal_of(grading_result, force=work.options.force)
    if refusal is not None:
        return replace(grading_result, manifest=with_refusal(manifest, graded, usage, str(refusal)), refusal=refusal)
    write_graded(draft, gold, pool, outcome, grading)
    return grading_result


async def _judge_all(
    gold: GradableSet, panel: Assessors, slots: Sequence[Slot], work: Work
) -> tuple[Assessors, PanelAnswers]:
    """Choose how the model judges, say what that will take, and judge every pair."""
    method = work.panel.config.grade.method
    is_chosen = is_graded(gold.manifest) and not work.options.replace
    with work.progress.stage("grade", len(slots)) as step:
        choice = Choice(_asking(gold, panel, work))
        async with calls_shown(panel, step, work.progress):
            if not is_chosen and not work.panel.batches and method is not JudgeMethod.WRITTEN:
                choice = await choose_judge(choice.asking, slots, must=method is JudgeMethod.YES_NO)
                if choice.line:
                    work.say(choice.line)
            asking = replace(choice.asking, advance=step.advance)
            stages = await _planned(gold, slots, work, asking.panel.thresholds)
            work.say(forecast(stages, len(slots), len(gold.queries), choice.seconds_a_call))
            return asking.panel, await asking.ask(slots)


def _disputed(gold: GradableSet, people: People) -> set[tuple[str, str]]:
    return {pair for pair, agreed in agreement(gold.earlier.judgments, people).items() if not agreed}


def _rubric_change(gold: GradableSet, people: People, panel: Assessors, outcome: GradingOutcome) -> RubricChange:
    before = agreement(gold.earlier.judgments, people)
    after = agreement(outcome.judgments, people)
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


def _asking(gold: GradableSet, panel: Assessors, work: Work) -> PanelCalls:
    known: Known = {}
    if not work.options.replace:
        known = by_key(gold.earlier.judgments) | by_key(gold.earlier.checks, check=True)
    if work.options.people is not None:
        disputed = _disputed(gold, work.options.people)
        asked_again = {key for key in known if key[:2] in disputed and not (key.canary or key.check)}
        known = {key: judgment for key, judgment in known.items() if key not in asked_again}
    return PanelCalls(
        text_of=gold.text_of,
        panel=panel,
        concurrency=WAVE if work.panel.batches else 2 * work.panel.config.model.calls_at_once,
        known=known,
        tries=not work.panel.batches,
        stops=not work.options.force,
    )


def forecast(stages: Sequence[PlannedStage], pairs: int, query_count: int, seconds_a_call: float | None) -> str:
    """Return a line on what grading will take.

    Args:
        stages: The planned accounts.
        pairs: Pairs to judge, judge checks included.
        query_count: Queries of the set.
        seconds_a_call: The pace of the judge checks, or None.
    """
    if not stages:
        return f"{amount(pairs, 'pair')} of {queries(query_count)}, all judged before."
    requests = sum(stage.requests for stage in stages if not stage.stage.endswith("(about)"))
    further = sum(stage.requests for stage in stages) - requests
    count = max(1, query_count)
    prices = [stage.usd for stage in stages]
    money = "the price is not known"
    if all(price is not None for price in prices):
        total = sum(price or 0.0 for price in prices)
        money = f"about {dollars(total)}, {dollars(total / count)} a query"
    line = (
        f"{amount(pairs, 'pair')} of {queries(query_count)}, judge checks included: about "
        f"{requests:,} requests ({requests / count:.1f} a query), and about {further:,} of the further judges; "
        f"about {sum(stage.input_tokens for stage in stages):,} tokens in, "
        f"{sum(stage.output_tokens for stage in stages):,} out; {money}."
    )
    if seconds_a_call is not None and requests:
        minutes = (requests + further) * seconds_a_call / 60
        pace = f"At the pace of the judge checks ({seconds_a_call:.1f} s an answer)"
        line += f" {pace} at most {max(1, round(minutes)):,} min."
    return line
