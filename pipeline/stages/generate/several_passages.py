"""One query about several passages, and the check that none of them is enough alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from pydantic import BaseModel

from goldbench.pipeline.ports import Brief, ChatModel, ChatRequest
from goldbench.pipeline.stages.generate.one_passage import describe_constraints, examples_shown, locate, one_line
from goldbench.pipeline.text.injection import delimiter
from goldbench.prompts.loader import Prompt
from goldbench.schemas.corpus import Chunk
from goldbench.schemas.query import Candidate, QueryKind
from goldbench.schemas.replies import Completeness, JoinedQuery, UnansweredQuery

A = TypeVar("A", bound=BaseModel)

MULTI_HOP, CROSS_COMPARISON, ENOUGH = "multi-hop.v1", "cross-comparison.v1", "one-passage-enough.v1"
UNANSWERABLE, GRADE_MANY = "unanswerable.v1", "grade-many.v1"
PROMPTS = {
    QueryKind.MULTI_HOP: MULTI_HOP,
    QueryKind.CROSS_COMPARISON: CROSS_COMPARISON,
    QueryKind.UNANSWERABLE: UNANSWERABLE,
}
"""The prompt that writes each kind beyond a single passage."""
_CHECKS = {QueryKind.MULTI_HOP: ENOUGH, QueryKind.CROSS_COMPARISON: ENOUGH, QueryKind.UNANSWERABLE: GRADE_MANY}
"""The prompt with which each of them is checked."""

_CHECK_TOKENS = 300


def prompts_of_kinds(kinds: Mapping[QueryKind, float]) -> tuple[str, ...]:
    """Return the ids of the prompts that the kinds with a share need, beside those about single passages."""
    asked = [kind for kind in PROMPTS if kinds.get(kind, 0) > 0]
    return tuple(dict.fromkeys([*(PROMPTS[kind] for kind in asked), *(_CHECKS[kind] for kind in asked)]))


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelKindWriter:
    """Writes the kinds of queries that one request about one passage cannot, with a chat model.

    Args:
        model: The chat model.
        prompts: The prompts, by their id.
        context: Description of the collection.
        examples: Queries of its users, for their style.
        temperature: Of the requests that write.
        max_answer_tokens: The most tokens of their replies.
    """

    model: ChatModel
    prompts: Mapping[str, Prompt]
    context: str = ""
    examples: Sequence[str] = ()
    temperature: float | None = 0.8
    max_answer_tokens: int = 1500

    async def join(self, brief: Brief, chunks: Sequence[Chunk]) -> Candidate | str:
        """Return a query that needs all of the passages, or the model's reason for none.

        Args:
            brief: What is asked for, with the first passage.
            chunks: The passages, the first one first.
        """
        kind = brief.assignment.kind
        reply = await self.ask(
            kind.value.replace("_", " "),
            PROMPTS[kind],
            JoinedQuery,
            {**self.described(brief), "count": str(len(chunks)), "passages": _shown(chunks)},
        )
        if not reply.query.strip():
            return one_line(reply.skip_reason or "")[:200] or "the model gave no query"
        quotes = reply.evidence[: len(chunks)]
        found = tuple(item for quote, chunk in zip(quotes, chunks, strict=False) for item in locate(quote, chunk))
        return Candidate(
            chunk_id=chunks[0].chunk_id,
            text=reply.query.strip(),
            generator=self.prompts[PROMPTS[kind]].id,
            evidence=found,
            quote="\n".join(quotes) or None,
            language=brief.language,
            kind=kind,
            style=reply.style,
            asked=brief.assignment,
            answer=reply.answer.strip() or None,
            subject=reply.subject.strip() or None,
            needs=tuple(chunk.chunk_id for chunk in chunks),
        )

    async def lead_astray(self, brief: Brief, chunks: Sequence[Chunk]) -> Candidate | str:
        """Return a query that the passages do not answer although it sounds so, or the model's reason for none.

        Args:
            brief: What is asked for, with the first passage.
            chunks: The passages, the source first, then those that are most like it.
        """
        values = {**self.described(brief), "passages": _shown(chunks)}
        reply = await self.ask("unanswerable", UNANSWERABLE, UnansweredQuery, values)
        if not reply.query.strip():
            return one_line(reply.skip_reason or "")[:200] or "the model gave no query"
        return Candidate(
            chunk_id=chunks[0].chunk_id,
            text=reply.query.strip(),
            generator=self.prompts[UNANSWERABLE].id,
            language=brief.language,
            kind=QueryKind.UNANSWERABLE,
            style=reply.style,
            asked=brief.assignment,
            subject=reply.subject.strip() or None,
        )

    async def enough(self, query: str, chunk: Chunk) -> bool:
        """Return whether the query can be answered completely from one passage.

        Args:
            query: The query.
            chunk: The passage.
        """
        reply = await self.ask(
            "one-passage check",
            ENOUGH,
            Completeness,
            {
                "query": query,
                "title": one_line(chunk.title) or "none",
                "headings": one_line(" > ".join(chunk.headings)) or "none",
                "delimiter": delimiter(query, chunk.text),
                "passage": chunk.text,
            },
            max_tokens=_CHECK_TOKENS,
            temperature=0.0,
        )
        return reply.answered == "completely"

    def described(self, brief: Brief) -> dict[str, str]:
        """Return the values that every prompt which writes a query takes."""
        return {
            "context": one_line(self.context) or "not described",
            "examples": examples_shown(self.examples),
            "constraints": describe_constraints(brief.constraints),
            "language": brief.language or "the language of the passages",
            "style": brief.assignment.style.value,
            "persona": one_line(brief.assignment.persona or "") or "any user of the collection",
        }

    async def ask(
        self,
        stage: str,
        prompt: str,
        answer: type[A],
        values: Mapping[str, str],
        *,
        max_tokens: int | None = None,
        temperature: float | None = None,
    ) -> A:
        """Return the reply to a prompt.

        Args:
            stage: The account that the call is booked to.
            prompt: Id of the prompt.
            answer: The schema of the reply.
            values: The values of the prompt's placeholders.
            max_tokens: Most tokens of the reply, None for as many as a reply that writes.
            temperature: None for that of a reply that writes.
        """
        system, user = self.prompts[prompt].render(**values)
        request = ChatRequest(
            stage=stage,
            prompt=self.prompts[prompt].id,
            system=system,
            user=user,
            answer=answer,
            temperature=self.temperature if temperature is None else temperature,
            max_tokens=max_tokens or self.max_answer_tokens,
        )
        return (await self.model.complete(request)).answer


def _shown(chunks: Sequence[Chunk]) -> str:
    """Return passages as they stand in a prompt, numbered, between marker lines that no text can forge."""
    mark = delimiter(*(part for chunk in chunks for part in (chunk.title, *chunk.headings, chunk.text)))
    return "\n".join(_marked(number, chunk, mark) for number, chunk in enumerate(chunks, 1))


def _marked(number: int, chunk: Chunk, mark: str) -> str:
    """Return a passage with its title and headings above it."""
    title, headings = one_line(chunk.title) or "none", one_line(" > ".join(chunk.headings)) or "none"
    return f"<<<PASSAGE {number} {mark}>>>\nTitle: {title}\nHeadings: {headings}\n\n{chunk.text}\n<<<END {mark}>>>"
