"""Critics: one question about one query per call, shown only what the question needs.

Reads: a candidate that passed the mechanical checks. Writes: scores from 1 to 5.
Fails: as the chat model does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from goldbench.ports import Brief, ChatModel, ChatRequest
from goldbench.prompts.loader import Prompt
from goldbench.records.query import Candidate
from goldbench.records.replies import Verdict
from goldbench.text.draws import number_of
from goldbench.text.injection import delimiter


class Critic(StrEnum):
    """The question. Only ``grounded`` sees the passage, which would influence the other answers."""

    GROUNDED = "grounded"
    STAND_ALONE = "stand-alone"
    USEFUL = "useful"

    @property
    def prompt_id(self) -> str:
        """The id of the prompt in use."""
        return f"critic-{self.value}.v1"


GOOD = 4
"""Lowest score of a critic, from 1 to 5, with which a query is kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCritics:
    """Asks each critic in a separate call, because scores in one reply are near-copies of one another.

    ``share`` is the share of candidates that are judged, from 0 to 1, drawn by chunk and wording.
    """

    model: ChatModel
    prompts: Mapping[Critic, Prompt]
    context: str = ""
    share: float = 1.0
    seed: int = 0

    async def judge(self, brief: Brief, candidate: Candidate) -> dict[str, int]:
        """Return the score of every critic by name; empty if the candidate is not in the sample."""
        if number_of(self.seed, "critic", candidate.chunk_id, candidate.text) >= self.share * 2**64:
            return {}
        scores = await asyncio.gather(*(self._ask(critic, brief, candidate) for critic in self.prompts))
        return {critic.value: score for critic, score in zip(self.prompts, scores, strict=True)}

    async def _ask(self, critic: Critic, brief: Brief, candidate: Candidate) -> int:
        prompt = self.prompts[critic]
        values = {"query": candidate.text}
        if critic is Critic.GROUNDED:
            values |= {"passage": brief.chunk.text, "delimiter": delimiter(brief.chunk.text, candidate.text)}
        else:
            context = " ".join(self.context.split()) or "not described"
            values |= {"context": context, "delimiter": delimiter(candidate.text)}
        system, user = prompt.render(**values)
        request = ChatRequest(
            stage=f"critic {critic.value}",
            prompt=prompt.id,
            system=system,
            user=user,
            answer=Verdict,
            temperature=0.0,
            max_tokens=300,
        )
        return (await self.model.complete(request)).answer.score
