"""Choose how a model is asked, at length or in short, by what a few passages yield."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

from goldbench.config import Config, Generator, PromptStyle
from goldbench.errors import Message
from goldbench.generate.attempts import Attempts
from goldbench.generate.bounded_work import bounded
from goldbench.generate.drawn_queries import DrawnCandidate, Task, TaskResult
from goldbench.generate.first_replies import FAULTS, Trial
from goldbench.generate.inputs import brief_for
from goldbench.generate.task_source import TaskSource
from goldbench.ports import QueryGenerator
from goldbench.records.manifest import Failure

TRIAL_PASSAGES = 5
_LEAD = 2
"""Passages more that the other style must yield a query for: one of five is chance."""


async def in_better_style(
    config: Config, attempts: Attempts, other_style: QueryGenerator | None, source: TaskSource, *, count: int
) -> tuple[PromptStyle, Attempts, Message | None]:
    """Return the prompt style to ask in, what asks in it, and a line with the figures if both styles were tried.

    Every reply is stored, so that a run in the chosen style gets those of the trial for nothing.

    Args:
        config: The configuration, with the style of ``attempts``, which is kept unless the other is clearly better.
        attempts: Asks about passages.
        other_style: Asks in the other style; None if the style is settled.
        source: The passages.
        count: About how many of them both are tried.
    """
    style = config.generate.prompt_style
    if other_style is None:
        return style, attempts, None
    tasks = list(islice(source.about_one_passage(), count))
    yields, asked_about, failed = await count_fruitful(attempts, tasks, limit=2 * config.model.calls_at_once)
    needed = yields + _LEAD if yields else 1
    if needed > len(tasks) or failed == asked_about:
        return style, attempts, None
    other_config = config.in_style(style.opposite)
    tasks = [replace(task, brief=brief_for(other_config, task.chunks[0])) for task in tasks]
    in_other_style = replace(attempts, generator=other_style)
    other_yields, asked_about, _ = await count_fruitful(
        in_other_style, tasks, needed=needed, limit=2 * config.model.calls_at_once
    )
    chosen = style.opposite if other_yields >= needed else style
    if not yields and not other_yields:
        chosen = PromptStyle.SHORT  # it costs less until the model is given up
    figures = Message(
        "If the model is asked {}, {} of {} passages yield a query, {} {} of {}: it is asked {}.",
        style.words, yields, len(tasks), style.opposite.words, other_yields, asked_about, chosen.words,
    )  # fmt: skip
    return chosen, attempts if chosen is style else in_other_style, figures


def trial_of(config: Config) -> Trial | None:
    """Return the trial of the model that writes the queries, None if none does."""
    if config.generate.generator is not Generator.MODEL:
        return None
    if config.generate.asks_in_short:
        return Trial("write queries", Message("use another model or {generator='simulated'}"))
    return Trial("write queries", Message("use another model, {prompt_style='short'} or looser constraints"))


def _is_sound(outcome: DrawnCandidate) -> bool:
    """Return whether an outcome passes the rules that hold in both styles; only in short is its likelihood known."""
    return outcome.failure is None and (outcome.finding is None or outcome.finding.filter == "unlikely")


async def count_fruitful(
    attempts: Attempts, tasks: Sequence[Task], *, limit: int, needed: int | None = None
) -> tuple[int, int, int]:
    """Return for how many passages a query passes the checks of its own, how many were asked, how many got no reply.

    Args:
        attempts: Asks about passages.
        tasks: The tasks about the passages.
        limit: How many tasks are worked on at once.
        needed: Ask about one after another until it is certain whether so many yield a query; None asks about all.
    """
    fruitful = 0
    asked_about = 0
    failed = 0

    def take(result: TaskResult) -> None:
        nonlocal fruitful, asked_about, failed
        asked_about += 1
        fruitful += any(map(_is_sound, result.outcomes))
        failed += isinstance(result.end, Failure) and result.end.kind not in FAULTS

    def ahead() -> int | None:
        if needed is None:
            return None
        return 1 if fruitful < needed <= fruitful + len(tasks) - asked_about else 0

    alone = replace(attempts, advance=lambda _: None)
    await bounded(alone.carry_out, tasks, limit=limit, take=take, ahead=ahead)
    return fruitful, asked_about, failed
