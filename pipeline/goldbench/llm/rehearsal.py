"""The chat model of a dry run: it answers from the store, and counts what asking for the other answers would cost."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import TypeVar

from pydantic import BaseModel

from goldbench.errors import NotAsked
from goldbench.llm.calls import replayed, request_key
from goldbench.llm.dialect import Dialect, first_dialect, request_body
from goldbench.llm.prices import BATCH_SHARE, PriceList
from goldbench.llm.reply_schema import answer_schema
from goldbench.llm.server_settings import ModelSettings
from goldbench.llm.store import StoredReply, find_answer, find_dialect
from goldbench.llm.token_counts import estimate_answer, estimate_body
from goldbench.ports import ChatRequest, Completion, Usage

T = TypeVar("T", bound=BaseModel)

_CALIBRATED_BY = 200
"""The most answers of a prompt that correct its estimate; more would cost time and change nothing."""


@dataclass(frozen=True, slots=True)
class PlannedStage:
    """The cost of one stage: requests to send, answers in the store, and estimates of the tokens and the US dollars."""

    stage: str
    requests: int
    replayed: int
    input_tokens: int
    output_tokens: int
    usd: float | None


@dataclass(slots=True)
class _Row:
    prompt: str
    requests: int = 0
    replayed: int = 0
    input_tokens: float = 0.0
    output_tokens: float = 0.0


@dataclass(slots=True, kw_only=True)
class Planning:
    """A ``ChatModel`` that sends nothing. It looks answers up without a pause in which tasks could interleave.

    ``store`` is an answer store opened by ``read_unchanged``. ``items`` holds, by prompt, the likely number of items in
    an answer, for prompts without stored answers.
    """

    settings: ModelSettings
    store: sqlite3.Connection
    items: Mapping[str, int] = field(default_factory=dict)
    _rows: dict[str, _Row] = field(default_factory=dict)
    _seen: set[bytes] = field(default_factory=set)
    _ratios: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    _outputs: dict[str, float] = field(default_factory=dict)
    _dialect: Dialect | None = None

    async def complete(self, request: ChatRequest[T]) -> Completion[T]:
        """Return the stored answer.

        Raises:
            NotAsked: There is none; the request was counted.
            AnswerRejected: The stored reply cannot be used.
        """
        key = request_key(request, model=self.settings.name)
        stored = find_answer(self.store, key)
        row = self._rows.setdefault(request.stage, _Row(request.prompt))
        new = key not in self._seen  # a question that comes twice in a run is asked once
        self._seen.add(key)
        if stored is None:
            if new:
                row.requests += 1
                row.input_tokens += self._input(request)
                row.output_tokens += self._output(request)
            raise NotAsked(f"{request.stage}: not asked, this is a dry run")
        if new:
            row.replayed += 1
            self._calibrate(request, stored)
        return replayed(request, stored)

    def report(self, *, batch: bool = False) -> tuple[PlannedStage, ...]:
        """Return the cost of every stage, in the order in which the stages first came.

        Args:
            batch: Whether the requests would be sent in batches, at their lower price.
        """
        prices = PriceList(self.settings, share=BATCH_SHARE if batch else 1.0)
        stages = []
        for stage, row in self._rows.items():
            usage = Usage(round(row.input_tokens * self._ratio(row.prompt)), round(row.output_tokens))
            spent = (usage.input_tokens, usage.output_tokens)
            stages.append(PlannedStage(stage, row.requests, row.replayed, *spent, prices.cost(usage)))
        return tuple(stages)

    def _input(self, request: ChatRequest[T]) -> float:
        if self._dialect is None:
            remembered = find_dialect(self.store, self.settings.shown_url(), self.settings.name)
            self._dialect = first_dialect(remembered)
        return estimate_body(request_body(request, dialect=self._dialect, settings=self.settings))

    def _output(self, request: ChatRequest[T]) -> float:
        if request.prompt not in self._outputs:
            # ``instr``, because servers add a date to a model's name
            select = (
                "SELECT avg(output_tokens) FROM answers "
                "WHERE prompt = ? AND outcome = 'answer' AND output_tokens > 0 AND instr(model, ?) > 0"
            )
            (mean,) = self.store.execute(select, (request.prompt, self.settings.name)).fetchone()
            if mean is None:
                mean = estimate_answer(answer_schema(request.answer), items=self.items.get(request.prompt, 1))
            self._outputs[request.prompt] = mean
        return min(self._outputs[request.prompt], request.max_tokens)

    def _calibrate(self, request: ChatRequest[T], stored: StoredReply) -> None:
        ratios = self._ratios[request.prompt]
        if stored.usage.input_tokens and len(ratios) < _CALIBRATED_BY:
            ratios.append(stored.usage.input_tokens / self._input(request))

    def _ratio(self, prompt: str) -> float:
        """Return the server's counts over the estimates: of this prompt, else of all prompts, else 1.

        The median, because a repaired answer was counted twice.
        """
        known = self._ratios.get(prompt) or [ratio for ratios in self._ratios.values() for ratio in ratios]
        return median(known) if known else 1.0
