"""How often a retriever with a model declines to answer: queries without an answer should be, others should not.

A question is declined if ``ask`` would show an answer that rests on no passage, or if no passage was found.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from goldbench.config import Config
from goldbench.errors import ModelError
from goldbench.explore.dialogue import LONGEST, PROMPT, STAGE, Chat, rejection_of, request_for, rests_on
from goldbench.llm.rehearsal import PlannedStage, Planning
from goldbench.llm.server_settings import ModelSettings
from goldbench.llm.store import read_unchanged
from goldbench.measures.statistics.shares import wilson
from goldbench.ports import ChatRequest, Progress, Retriever
from goldbench.prompts.loader import load
from goldbench.score.runs import Gold
from goldbench.score.searched_queries import conversations
from goldbench.text.display import one_line, queries

_AT_ONCE = 200
"""Requests that are handed to the model's path together; the progress advances after each such part."""


@dataclass(frozen=True, slots=True)
class RetrievedQuestions:
    """The questions of a set with the passages found for each; empty where none was found."""

    questions: Mapping[str, str]
    passages: Mapping[str, Sequence[str]]
    unanswerable: frozenset[str]

    def requests(self) -> dict[str, ChatRequest[Any]]:
        """Return the request for each question with a passage."""
        prompt = load(PROMPT)
        retrieved = {query_id: texts for query_id, texts in self.passages.items() if texts}
        return {query_id: request_for(prompt, self.questions[query_id], texts) for query_id, texts in retrieved.items()}


@dataclass(frozen=True, slots=True)
class DeclineCount:
    """Of how many questions that were answered or declined how many were declined; ``failed`` got no usable reply."""

    questions: int
    declined: int
    failed: int

    def line(self, name: str) -> str:
        """Return a line with the share and its 95 % interval.

        Args:
            name: What the questions are called.
        """
        failed = f"; {queries(self.failed)} without a usable reply not counted" if self.failed else ""
        if not self.questions:
            return f"{name}: none was answered or declined{failed}."
        low, high = wilson(self.declined, self.questions)
        share = f"{self.declined / self.questions:.4f} [{low:.4f}, {high:.4f}]"
        return f"{name}: {self.declined:,} of {self.questions:,} declined, {share}{failed}."


def asked_of(gold: Gold, corpus: Mapping[str, str], retriever: Retriever, *, k: int) -> RetrievedQuestions:
    """Return the queries of a set with the passages that a retriever finds; of a conversation its stand-alone form.

    Args:
        gold: The gold set.
        corpus: Text by id of the indexed passages.
        retriever: A retriever that has indexed them.
        k: Passages per question.
    """
    without = gold.unanswerable()
    texts = {query_id: text for query_id, text in gold.queries().items() if query_id in gold.qrels} | without
    texts |= {
        query_id: conversation.judged for query_id, conversation in conversations(gold).items() if query_id in texts
    }
    questions = {query_id: one_line(text)[:LONGEST] for query_id, text in texts.items()}
    results = retriever.search(questions, k=k) if questions else {}
    passages = {
        query_id: [corpus[chunk_id] for chunk_id in results.get(query_id, {}) if chunk_id in corpus]
        for query_id in questions
    }
    return RetrievedQuestions(questions, passages, frozenset(without))


def decline_rates(
    retrieved_questions: RetrievedQuestions, chat: Chat, *, progress: Progress
) -> tuple[dict[bool, DeclineCount], list[ModelError]]:
    """Return how often answerable (True) and unanswerable (False) questions were declined, and the failures.

    Args:
        retrieved_questions: The questions with their passages.
        chat: Sends requests to a model.
        progress: Shows how many were sent.
    """
    requests = retrieved_questions.requests()
    declined = {query_id: True for query_id in retrieved_questions.questions if query_id not in requests}
    failures: list[ModelError] = []
    with progress.stage(STAGE, len(requests)) as step:
        query_ids = list(requests)
        for first in range(0, len(query_ids), _AT_ONCE):
            part = query_ids[first : first + _AT_ONCE]
            for query_id, reply in zip(part, chat([requests[query_id] for query_id in part]), strict=True):
                rejected = reply if isinstance(reply, ModelError) else rejection_of(reply.answer)
                if rejected is not None:
                    failures.append(rejected)
                elif not isinstance(reply, ModelError):
                    declined[query_id] = not rests_on(reply.answer, len(retrieved_questions.passages[query_id]))
            step.advance(len(part))
    rates = {}
    for answerable in (False, True):
        ids_of_kind = [
            query_id
            for query_id in retrieved_questions.questions
            if (query_id not in retrieved_questions.unanswerable) is answerable
        ]
        declines_known = [declined[query_id] for query_id in ids_of_kind if query_id in declined]
        rates[answerable] = DeclineCount(
            len(declines_known), sum(declines_known), len(ids_of_kind) - len(declines_known)
        )
    return rates, failures


def lines(rates: Mapping[bool, DeclineCount]) -> Iterator[str]:
    """Yield a line for each group of questions."""
    for answerable, name in ((False, "Unanswerable queries"), (True, "Answerable queries (wrongly declined)")):
        if rates[answerable].questions or rates[answerable].failed:
            yield rates[answerable].line(name)


async def planned(retrieved_questions: RetrievedQuestions, config: Config, answers: Path) -> Sequence[PlannedStage]:
    """Return what asking would take; send and write nothing.

    Args:
        retrieved_questions: The questions with their passages.
        config: Names the model.
        answers: The store of answers, which need not exist.
    """
    with read_unchanged(answers) as known:
        model = Planning(settings=ModelSettings.of(config.model), store=known)
        requests = retrieved_questions.requests().values()
        replies = await asyncio.gather(*map(model.complete, requests), return_exceptions=True)
        for error in replies:
            if isinstance(error, BaseException) and not isinstance(error, ModelError):
                raise error
        return model.report()
