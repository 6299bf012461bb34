"""One query about several passages, and the check that none of them is enough alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel

from goldbench.ports import Brief, ChatModel, ChatRequest
from goldbench.prompts.loader import Prompt
from goldbench.records.corpus import Chunk
from goldbench.records.query import Candidate, QueryKind, Turn
from goldbench.records.replies import (
    Completeness,
    Conversation,
    GeneratedQueries,
    GeneratedQuery,
    JoinedQuery,
    UnansweredQuery,
    Verdict,
)
from goldbench.stages.generate.one_passage import (
    describe_constraints,
    examples_shown,
    headings_shown,
    locate,
    one_line,
    why_none,
)
from goldbench.text.injection import delimiter
from goldbench.text.suggestion import language_name

A = TypeVar("A", bound=BaseModel)

MULTI_HOP = "multi-hop.v1"
CROSS_COMPARISON = "cross-comparison.v1"
ONE_ENOUGH = "one-passage-enough.v1"
UNANSWERABLE = "unanswerable.v1"
GRADE_MANY = "grade-many.v1"
TEMPORAL = "temporal.v1"
CONVERSATION = "conversation.v1"
STAND_ALONE = "stand-alone.v1"
PROMPTS = {
    QueryKind.MULTI_HOP: MULTI_HOP,
    QueryKind.CROSS_COMPARISON: CROSS_COMPARISON,
    QueryKind.TEMPORAL: TEMPORAL,
    QueryKind.UNANSWERABLE: UNANSWERABLE,
    QueryKind.CONVERSATIONAL: CONVERSATION,
}
"""The prompt that writes each kind beyond a single passage."""
_CHECKS = {
    QueryKind.MULTI_HOP: ONE_ENOUGH,
    QueryKind.CROSS_COMPARISON: ONE_ENOUGH,
    QueryKind.UNANSWERABLE: GRADE_MANY,
    QueryKind.CONVERSATIONAL: STAND_ALONE,
}
"""The prompt with which each of them is checked, if a request is needed for it."""
UNDERSTOOD = 4
"""Score of the check ``stand-alone``, 1 to 5, from which a question needs no earlier one."""

_CHECK_TOKENS = 300


def prompts_of_kinds(kinds: Mapping[QueryKind, float]) -> tuple[str, ...]:
    """Return the ids of the prompts that the kinds with a share need, beside those about single passages."""
    wanted = [kind for kind in PROMPTS if kinds.get(kind, 0) > 0]
    return tuple(
        dict.fromkeys([*(PROMPTS[kind] for kind in wanted), *(_CHECKS[kind] for kind in wanted if kind in _CHECKS)])
    )


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
    max_answer_tokens: int

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
            return why_none(reply.skip_reason)
        quotes = reply.evidence[: len(chunks)]
        evidence = tuple(item for quote, chunk in zip(quotes, chunks, strict=False) for item in locate(quote, chunk))
        return self._candidate(
            reply,
            brief,
            kind,
            evidence=evidence,
            quote="\n".join(quotes) or None,
            answer=reply.answer.strip() or None,
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
            return why_none(reply.skip_reason)
        return self._candidate(reply, brief, QueryKind.UNANSWERABLE)

    async def converse(self, brief: Brief) -> Candidate | str:
        """Return the last question of a conversation, its history and its stand-alone form, or the reason for none.

        Args:
            brief: What is asked for, with the passage.
        """
        reply = await self.ask("conversational", CONVERSATION, Conversation, self.about_one(brief))
        if not reply.query.strip():
            return why_none(reply.skip_reason)
        turns = [(one_line(turn.question), one_line(turn.answer)) for turn in reply.turns]
        return self._candidate(
            reply,
            brief,
            QueryKind.CONVERSATIONAL,
            evidence=locate(reply.evidence, brief.chunk),
            quote=reply.evidence,
            answer=reply.answer.strip() or None,
            history=tuple(Turn(question=question, answer=answer or None) for question, answer in turns if question),
            standalone=reply.standalone.strip(),
        )

    async def understood(self, query: str) -> bool:
        """Return whether a question can be understood without the earlier ones.

        Args:
            query: The question.
        """
        values = {"context": one_line(self.context) or "not described", "query": query, "delimiter": delimiter(query)}
        reply = await self.ask(
            "conversation check", STAND_ALONE, Verdict, values, max_tokens=_CHECK_TOKENS, temperature=0.0
        )
        return reply.score >= UNDERSTOOD

    async def date(self, brief: Brief, moment: str) -> Candidate | str:
        """Return a query whose answer depends on a date or a version, or the model's reason for none.

        Args:
            brief: What is asked for, with the passage.
            moment: The date or the version that the passage is about.
        """
        values = {**self.about_one(brief), "moment": moment}
        reply = await self.ask("temporal", TEMPORAL, GeneratedQueries, values, items=1)
        if not reply.candidates:
            return why_none(reply.skip_reason)
        candidate = reply.candidates[0]
        return self._candidate(
            candidate,
            brief,
            QueryKind.TEMPORAL,
            evidence=locate(candidate.evidence, brief.chunk),
            quote=candidate.evidence,
            answer=candidate.answer.strip() or None,
        )

    def _candidate(
        self,
        written: JoinedQuery | UnansweredQuery | Conversation | GeneratedQuery,
        brief: Brief,
        kind: QueryKind,
        **more: Any,  # noqa: ANN401  fields of a candidate
    ) -> Candidate:
        """Return what the model wrote as a candidate, with what only its kind has."""
        return Candidate(
            chunk_id=brief.chunk.chunk_id,
            text=written.query.strip(),
            generator=self.prompts[PROMPTS[kind]].id,
            language=brief.language,
            kind=kind,
            style=written.style,
            asked=brief.assignment,
            subject=written.subject.strip() or None,
            **more,
        )

    def about_one(self, brief: Brief) -> dict[str, str]:
        """Return the values of a prompt that writes about one passage."""
        chunk = brief.chunk
        return {
            **self.described(brief),
            "title": one_line(chunk.title) or "none",
            "headings": headings_shown(chunk),
            "delimiter": delimiter(chunk.title, *chunk.headings, chunk.text),
            "passage": chunk.text,
        }

    async def enough(self, query: str, chunk: Chunk) -> bool:
        """Return whether the query can be answered completely from one passage.

        Args:
            query: The query.
            chunk: The passage.
        """
        reply = await self.ask(
            "one-passage check",
            ONE_ENOUGH,
            Completeness,
            {
                "query": query,
                "title": one_line(chunk.title) or "none",
                "headings": headings_shown(chunk),
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
            "language": language_name(brief.language) if brief.language else "the language of the passages",
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
        items: int | None = None,
    ) -> A:
        """Return the reply to a prompt.

        Args:
            stage: The account that the call is booked to.
            prompt: Id of the prompt.
            answer: The schema of the reply.
            values: The values of the prompt's placeholders.
            max_tokens: Most tokens of the reply, None for as many as a reply that writes.
            temperature: None for that of a reply that writes.
            items: The most items of a list in the reply.
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
            examples=self.prompts[prompt].turns(),
            items=items,
        )
        return (await self.model.complete(request)).answer


def _shown(chunks: Sequence[Chunk]) -> str:
    """Return passages as they stand in a prompt, numbered, between marker lines that no text can forge."""
    mark = delimiter(*(part for chunk in chunks for part in (chunk.title, *chunk.headings, chunk.text)))
    return "\n".join(_marked(number, chunk, mark) for number, chunk in enumerate(chunks, 1))


def _marked(number: int, chunk: Chunk, mark: str) -> str:
    """Return a passage with its title and headings above it."""
    title = one_line(chunk.title) or "none"
    headings = headings_shown(chunk)
    return f"<<<PASSAGE {number} {mark}>>>\nTitle: {title}\nHeadings: {headings}\n\n{chunk.text}\n<<<END {mark}>>>"
