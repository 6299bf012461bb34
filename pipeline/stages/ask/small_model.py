"""Asking with a small model: the code picks a sentence and forms its questions, the model writes one of them.

Reads: briefs, each with a chunk. Writes: the best question of a chunk, with its sentence as the evidence; a chunk that
the model cannot serve goes to another generator by name. Fails: as the chat model does.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from goldbench.pipeline.errors import AnswerRejected
from goldbench.pipeline.ports import Brief, ChatModel, ChatRequest, Likelihood, Proposal, QueryGenerator
from goldbench.pipeline.stages.ask.forms import Form, forms
from goldbench.pipeline.stages.ask.passages import why_not
from goldbench.pipeline.stages.ask.statements import Statement, statements
from goldbench.prompts.loader import Prompt
from goldbench.schemas.query import Candidate, QueryKind, QueryStyle
from goldbench.schemas.replies import chosen_question

MOST_STATEMENTS = 3
"""Sentences of a chunk that are asked about at most; the first good question ends it."""
MOST_FORMS = 12
"""Questions about one sentence that the model may choose from."""
GOOD, FAIR = Likelihood(-1.0, -6.0), Likelihood(-1.8, -9.0)
"""Natural logarithms of the likelihood of a question's tokens, on average and at worst. A question at least as likely
as the first is taken at once; one below the second is dropped as wrong grammar. Read by eye: XQuAD and manuals."""
ANSWER_TOKENS = 60
SHORT = 3
"""Content terms up to which a question is preferred to longer ones: a longer one repeats its sentence."""

_KINDS = {
    "definition": QueryKind.DEFINITION,
    "condition": QueryKind.CONDITION,
    "reason": QueryKind.REASON,
    "manner": QueryKind.PROCEDURE,
}
_LAST_CHOICE = "subject"
"""What is asked for only if nothing else can be: such a question repeats most of its sentence."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question that the model wrote about a statement; ``likelihood`` is None where the server gives none."""

    statement: Statement
    form: Form
    likelihood: Likelihood | None

    @property
    def rank(self) -> float:
        """How good the question is, by the mean likelihood of its tokens; higher is better."""
        return FAIR.mean if self.likelihood is None else self.likelihood.mean


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallModelGenerator:
    """Writes questions with a small model; ``simulation`` serves the chunks that the model cannot, or all abstracts."""

    model: ChatModel
    prompt: Prompt
    simulation: QueryGenerator
    abstracts: bool = False
    evidence_level: str = "smoke"

    @property
    def name(self) -> str:
        """The id of the prompt in use."""
        return self.prompt.id

    async def propose(self, brief: Brief) -> Proposal:
        """Return the best questions about one chunk, best first, or those of the simulation."""
        if brief.language is None and not self.abstracts:
            return Proposal(skip_reason="the language of the chunk is not clear")
        if self.abstracts or why_not(brief.chunk, brief.language) is not None:
            return await self.simulation.propose(brief)
        asked = await self._ask(brief)
        if not asked:
            return Proposal(skip_reason="no sentence of the chunk gives a question that the model finds likely")
        best = sorted(asked, key=lambda one: -one.rank)[: brief.constraints.per_chunk]
        return Proposal(tuple(self._candidate(one, brief) for one in best))

    async def rewrite(self, brief: Brief, candidate: Candidate, complaint: str) -> Candidate | None:
        """Return another wording by the simulation for its own queries; a small model has none.

        Args:
            brief: As in `propose`.
            candidate: The rejected query.
            complaint: Why it was rejected, one sentence.
        """
        if candidate.generator != self.simulation.name:
            return None
        return await self.simulation.rewrite(brief, candidate, complaint)

    async def _ask(self, brief: Brief) -> list[Asked]:
        """Ask about the most promising sentences until one gives a good question for every query wanted.

        Raises:
            AnswerRejected: No reply about the chunk could be used.
        """
        fair: list[Asked] = []
        unusable: list[AnswerRejected] = []
        wanted, tried = brief.constraints.per_chunk, 0
        for statement, offered in itertools.islice(_askable(brief), MOST_STATEMENTS * wanted):
            tried += 1
            try:
                asked = await self._question(statement, offered)
            except AnswerRejected as rejected:
                unusable.append(rejected)  # another sentence may do
                continue
            if is_at_least(asked.likelihood, FAIR):
                fair.append(asked)
            if sum(is_at_least(one.likelihood, GOOD) for one in fair) >= wanted:
                break
        if unusable and len(unusable) == tried:
            raise unusable[-1]
        return fair

    async def _question(self, statement: Statement, offered: list[Form]) -> Asked:
        system, user = self.prompt.render(topic=statement.topic or "none", sentence=statement.text)
        request = ChatRequest(
            stage="generate",
            prompt=self.prompt.id,
            system=system,
            user=user,
            answer=chosen_question(tuple(form.question for form in offered)),
            temperature=0.0,
            max_tokens=ANSWER_TOKENS,
            examples=self.prompt.examples,
            weighed=True,
        )
        completion = await self.model.complete(request)
        chosen = next(form for form in offered if form.question == completion.answer.question)
        return Asked(statement, chosen, completion.likelihood)

    def _candidate(self, asked: Asked, brief: Brief) -> Candidate:
        evidence = brief.chunk.evidence(asked.statement.start, asked.statement.end)
        return Candidate(
            chunk_id=brief.chunk.chunk_id,
            text=asked.form.question,
            generator=self.name,
            evidence=(evidence,),
            quote=evidence.quote,
            language=brief.language,
            kind=_KINDS.get(asked.form.asks, QueryKind.FACT),
            style=QueryStyle.QUESTION,
            answer=asked.statement.text,
        )


def _askable(brief: Brief) -> Iterator[tuple[Statement, list[Form]]]:
    """Yield the sentences of a chunk that give questions, the most promising first, with the questions offered."""
    for statement in statements(brief.chunk):
        offered = choices(forms(statement.text, brief.chunk.text))
        if offered:
            yield statement, offered


def choices(found: list[Form]) -> list[Form]:
    """Return the questions to choose from: short ones before long ones, those for the subject if there is no other."""
    preferred = [form for form in found if form.asks != _LAST_CHOICE] or found
    return ([form for form in preferred if form.terms <= SHORT] or preferred)[:MOST_FORMS]


def is_at_least(likelihood: Likelihood | None, least: Likelihood) -> bool:
    """Return whether a question is likely enough; without a likelihood the rules for forming it decide alone."""
    return likelihood is None or (likelihood.mean >= least.mean and likelihood.least >= least.least)
