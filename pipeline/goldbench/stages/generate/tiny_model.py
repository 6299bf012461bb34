"""Queries of a model that can only choose: the code forms the questions of an English sentence, the model picks one.

Reads: briefs, each with a chunk. Writes: the likeliest question of a chunk, with its sentence as evidence and answer,
or the reason why there is none. Fails: as the chat model does.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from goldbench.errors import GoldbenchError
from goldbench.ports import Brief, ChatModel, ChatRequest, Likelihood, Proposal
from goldbench.prompts.loader import Prompt
from goldbench.records.query import Candidate, QueryStyle
from goldbench.records.replies import chosen_question
from goldbench.stages.generate.english_questions import ENGLISH, is_statement, questions
from goldbench.stages.generate.short_prompt import Sentence, askable, sentences_of
from goldbench.text.query_forms import kind_of
from goldbench.text.suggestion import language_name
from goldbench.text.title_path import title_path

MOST_SENTENCES = 3
"""Sentences of a chunk that are asked about for each query wanted."""
MOST_QUESTIONS = 12
LEAST = Likelihood(-1.8, -9.0)
"""Natural logarithms of the likelihood of a question's tokens, mean and least, below which its grammar is wrong.

Read by eye: XQuAD and manuals.
"""
ANSWER_TOKENS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class TinyGenerator:
    """Writes questions with a model of less than 0.3 billion parameters, about English passages alone."""

    model: ChatModel
    prompt: Prompt
    evidence_level: str = "smoke"

    @property
    def name(self) -> str:
        """The id of the prompt in use."""
        return self.prompt.id

    async def propose(self, brief: Brief) -> Proposal:
        """Return the likeliest questions about one chunk, best first."""
        if brief.language != ENGLISH:
            language = language_name(brief.language) if brief.language else "their language, which is not clear"
            return Proposal(skip_reason=f"the model does not know {language}", is_foreign=True)
        wanted = brief.constraints.per_chunk
        candidates: list[Candidate] = []
        for sentence, offered in itertools.islice(_offers(brief), MOST_SENTENCES * wanted):
            question = await self._choose(brief, sentence, offered[:MOST_QUESTIONS])
            if question is not None:
                candidates.append(_candidate(question, sentence, brief, self.name))
            if len(candidates) == wanted:
                break
        if not candidates:
            return Proposal(skip_reason="no sentence of the chunk gives a question that the model finds likely")
        return Proposal(tuple(candidates))

    async def rewrite(self, brief: Brief, candidate: Candidate, complaint: str) -> None:
        """Return nothing: the model has no other words."""

    async def _choose(self, brief: Brief, sentence: Sentence, offered: list[str]) -> str | None:
        """Return the question that the model finds likeliest, None if it finds each unlikely."""
        system, user = _choice_prompt(self.prompt, brief, sentence)
        request = ChatRequest(
            stage="generate",
            prompt=self.prompt.id,
            system=system,
            user=user,
            answer=chosen_question(tuple(offered)),
            temperature=0.0,
            max_tokens=ANSWER_TOKENS,
            examples=self.prompt.turns(),
            weighed=True,
        )
        completion = await self.model.complete(request)
        return completion.answer.question if is_likely(completion.likelihood) else None


def first_choice_prompt(prompt: Prompt, brief: Brief) -> tuple[str, str]:
    """Return the prompt for the most promising sentence of a chunk.

    Raises:
        GoldbenchError: No sentence gives a question, or the chunk is not in English: the model is sent nothing.
    """
    offer = next(_offers(brief), None) if brief.language == ENGLISH else None
    if offer is None:
        raise GoldbenchError(
            "a model this small is sent nothing about the first chunk; give other documents in English"
        )
    return _choice_prompt(prompt, brief, offer[0])


def _offers(brief: Brief) -> Iterator[tuple[Sentence, list[str]]]:
    """Yield the sentences of a chunk that questions can be formed of, the most promising first, with the questions."""
    sentences = sentences_of(brief.chunk)
    for position in askable(sentences, brief):
        sentence = sentences[position]
        formed = questions(sentence.text, brief.chunk.text) if is_statement(sentence.text) else []
        if formed:
            yield sentence, formed


def _choice_prompt(prompt: Prompt, brief: Brief, sentence: Sentence) -> tuple[str, str]:
    return prompt.render(topic=title_path(brief.chunk) or "none", sentence=sentence.text)


def is_likely(likelihood: Likelihood | None) -> bool:
    """Return whether a question is likely enough; where a server gives no likelihood, its form alone decides."""
    return likelihood is None or (likelihood.mean >= LEAST.mean and likelihood.least >= LEAST.least)


def _candidate(question: str, sentence: Sentence, brief: Brief, generator: str) -> Candidate:
    evidence = brief.chunk.evidence(sentence.start, sentence.end)
    return Candidate(
        chunk_id=brief.chunk.chunk_id,
        text=question,
        generator=generator,
        evidence=(evidence,),
        quote=evidence.quote,
        language=brief.language,
        kind=kind_of(question, ENGLISH),
        style=QueryStyle.QUESTION,
        answer=sentence.text,
    )
