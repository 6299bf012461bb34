"""Choose how a model is asked, at length or in short, by what a few passages yield."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from goldbench.pipeline.build.drawn_queries import ChunkResult, Outcome
from goldbench.pipeline.build.first_replies import Trial
from goldbench.pipeline.build.inputs import brief_for
from goldbench.pipeline.build.waves import Drawing, bounded
from goldbench.pipeline.config import Config, Generator, PromptStyle
from goldbench.pipeline.errors import Message
from goldbench.pipeline.ports import QueryGenerator

TRIAL_PASSAGES = 5
_LEAD = 2
"""Passages more that the other style must yield a query for: one of five is chance."""


async def in_better_style(
    config: Config, drawing: Drawing, other_style: QueryGenerator | None, positions: Sequence[int]
) -> tuple[PromptStyle, Drawing, Message | None]:
    """Return the prompt style to ask in, what asks in it, and a line with the figures if both styles were tried.

    Every reply is stored, so that a run in the chosen style gets those of the trial for nothing.

    Args:
        config: The configuration, with the style of ``drawing``, which is kept unless the other is clearly better.
        drawing: Asks about passages.
        other_style: Asks in the other style; None if the style is settled.
        positions: The positions of a few passages.
    """
    style = config.generate.prompt_style
    if other_style is None:
        return style, drawing, None
    yields, _ = await count_fruitful(drawing, positions)
    needed = yields + _LEAD if yields else 1
    if needed > len(positions):
        return style, drawing, None
    other_config = config.in_style(style.opposite)
    other = replace(
        drawing,
        generator=other_style,
        brief=partial(brief_for, other_config),
        trial=None if drawing.trial is None else trial_of(other_config),
    )
    other_yields, count = await count_fruitful(other, positions, needed=needed)
    chosen = style.opposite if other_yields >= needed else style
    if not yields and not other_yields:
        chosen = PromptStyle.SHORT  # it costs less until the model is given up
    figures = Message(
        "If the model is asked {}, {} of {} passages yield a query, {} {} of {}: it is asked {}.",
        style.words, yields, len(positions), style.opposite.words, other_yields, count, chosen.words,
    )  # fmt: skip
    return chosen, other if chosen is not style else drawing, figures


def trial_of(config: Config) -> Trial | None:
    """Return the trial of the model that writes the queries, None if none does."""
    if config.generate.generator is not Generator.MODEL:
        return None
    if config.generate.asks_in_short:
        return Trial("write queries", Message("use another model or {generator='simulated'}"))
    return Trial("write queries", Message("use another model, {prompt_style='short'} or looser constraints"))


def _is_sound(outcome: Outcome) -> bool:
    """Return whether an outcome passes the rules that hold in both styles; only in short is its likelihood known."""
    return outcome.failure is None and (outcome.finding is None or outcome.finding.filter == "unlikely")


async def count_fruitful(drawing: Drawing, positions: Sequence[int], *, needed: int | None = None) -> tuple[int, int]:
    """Return for how many passages a query passes the checks that look at it alone, and how many were asked about.

    Args:
        drawing: Asks about the passages.
        positions: The positions of the passages.
        needed: Ask about one after another until it is certain whether so many yield a query; None asks about all.
    """
    fruitful = 0
    asked_about = 0

    def take(result: ChunkResult) -> None:
        nonlocal fruitful, asked_about
        asked_about += 1
        fruitful += any(map(_is_sound, result.outcomes))

    def ahead() -> int | None:
        if needed is None:
            return None
        return 1 if fruitful < needed <= fruitful + len(positions) - asked_about else 0

    alone = replace(drawing, trial=None, critics=None, advance=lambda _: None)
    await bounded(alone.attempt, positions, limit=drawing.concurrency, take=take, ahead=ahead)
    return fruitful, asked_about
