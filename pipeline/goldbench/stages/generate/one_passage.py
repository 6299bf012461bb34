"""Queries about one passage: one prompt per chunk.

Reads: briefs, each with a chunk. Writes: candidates, or the reason why the chunk is skipped.
Fails: as the chat model does (a call that failed for good, an unusable answer, a cap, no server).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TypeVar

from goldbench.ports import Brief, ChatModel, ChatRequest, Proposal
from goldbench.prompts.loader import Prompt
from goldbench.records.corpus import Chunk, Evidence
from goldbench.records.query import Assignment, Candidate, Constraints, QueryKind, QueryStyle
from goldbench.records.replies import GeneratedQueries, GeneratedQuery
from goldbench.text.draws import number_of
from goldbench.text.evidence import find_quote
from goldbench.text.injection import delimiter
from goldbench.text.suggestion import language_name

K = TypeVar("K")
Kind = TypeVar("Kind", bound=str)


def assign(
    chunk_id: str,
    *,
    seed: int,
    kinds: Mapping[Kind, float],
    styles: Mapping[QueryStyle, float],
    personas: Sequence[str] = (),
) -> Assignment:
    """Return the kind, style and persona to ask for, drawn by the chunk's id and the seed alone.

    Args:
        chunk_id: Id of the chunk.
        seed: Seed of the run.
        kinds: Weight of every kind of `QueryKind`, 0 or more, not all 0.
        styles: Weight of every style, 0 or more, not all 0.
        personas: Descriptions of users; one is drawn, each with equal weight.
    """
    persona = personas[int(_uniform(seed, chunk_id, "persona") * len(personas))] if personas else None
    return Assignment(
        kind=QueryKind(_draw(kinds, _uniform(seed, chunk_id, "kind"))),
        style=_draw(styles, _uniform(seed, chunk_id, "style")),
        persona=persona,
    )


def _uniform(seed: int, chunk_id: str, purpose: str) -> float:
    return number_of(seed, purpose, chunk_id) / 2**64


def _draw(weights: Mapping[K, float], uniform: float) -> K:
    names = sorted(weights, key=str)
    limit = uniform * sum(weights.values())
    for name, upto in zip(names, accumulate(weights[name] for name in names), strict=True):
        if limit < upto:
            return name
    return next(name for name in reversed(names) if weights[name] > 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelGenerator:
    """Writes queries with a chat model. ``context`` describes the collection, ``examples`` are queries of its users."""

    model: ChatModel
    prompt: Prompt
    rewrite_prompt: Prompt
    context: str = ""
    examples: Sequence[str] = ()
    temperature: float | None = 0.8
    max_answer_tokens: int
    evidence_level: str = "model"

    @property
    def name(self) -> str:
        """The id of the prompt in use."""
        return self.prompt.id

    async def propose(self, brief: Brief) -> Proposal:
        """Return the model's candidates for one chunk, with their evidence in the chunk's own words."""
        system, user = generation_prompt(self.prompt, brief, context=self.context, examples=self.examples)
        answer = await self._ask("generate", self.prompt, system, user, items=brief.constraints.per_chunk)
        if not answer.candidates:
            return Proposal(skip_reason=why_none(answer.skip_reason))
        wanted = answer.candidates[: brief.constraints.per_chunk]
        return Proposal(tuple(self._candidate(item, brief) for item in wanted))

    async def rewrite(self, brief: Brief, candidate: Candidate, complaint: str) -> Candidate | None:
        """Return the query as the model rewrites it, None if it does not.

        Args:
            brief: As in `propose`.
            candidate: The rejected query.
            complaint: Why it was rejected, one sentence.
        """
        system, user = self.rewrite_prompt.render(
            constraints=describe_constraints(brief.constraints),
            query=candidate.text,
            complaint=one_line(complaint),
            **_shared(brief, candidate.text),
        )
        answer = await self._ask("rewrite", self.rewrite_prompt, system, user, items=1)
        if not answer.candidates:
            return None
        return self._candidate(answer.candidates[0], brief).model_copy(update={"first_text": candidate.text})

    async def _ask(self, stage: str, prompt: Prompt, system: str, user: str, *, items: int) -> GeneratedQueries:
        request = ChatRequest(
            stage=stage,
            prompt=prompt.id,
            system=system,
            user=user,
            answer=GeneratedQueries,
            temperature=self.temperature,
            max_tokens=self.max_answer_tokens,
            examples=prompt.turns(),
            items=items,
        )
        return (await self.model.complete(request)).answer

    def _candidate(self, item: GeneratedQuery, brief: Brief) -> Candidate:
        return Candidate(
            chunk_id=brief.chunk.chunk_id,
            text=item.query.strip(),
            generator=self.name,
            evidence=locate(item.evidence, brief.chunk),
            quote=item.evidence,
            language=brief.language,
            kind=QueryKind(item.type),
            style=item.style,
            asked=brief.assignment,
            answer=item.answer.strip() or None,
            subject=item.subject.strip() or None,
        )


def generation_prompt(prompt: Prompt, brief: Brief, *, context: str, examples: Sequence[str]) -> tuple[str, str]:
    """Return the system and the user message that ask for queries about one chunk.

    Args:
        prompt: The template.
        brief: The chunk, what to ask for, and the user's constraints.
        context: Description of the collection; may be empty.
        examples: Queries of real users, for their style.
    """
    count = brief.constraints.per_chunk
    return prompt.render(
        count="one query" if count == 1 else f"up to {count} different queries, best first,",
        context=one_line(context) or "not described",
        examples=examples_shown(examples),
        constraints=describe_constraints(brief.constraints),
        persona=one_line(brief.assignment.persona or "") or "any user of the collection",
        **_shared(brief),
    )


def locate(quote: str, chunk: Chunk) -> tuple[Evidence, ...]:
    """Return the quote as evidence in the document's own words; empty if the chunk does not hold it."""
    span = find_quote(quote, chunk.text)
    return () if span is None else (chunk.evidence(*span),)


def describe_constraints(constraints: Constraints) -> str:
    """Return the user's constraints as sentences for a prompt; the checks enforce the same constraints."""
    rules = [f"The query has {constraints.min_words} to {constraints.max_words} words."]
    if constraints.max_characters is not None:
        rules.append(f"The query has at most {constraints.max_characters} characters.")
    if constraints.banned:
        rules.append(f"The query contains none of these: {', '.join(one_line(word) for word in constraints.banned)}.")
    if not constraints.punctuation:
        rules.append("The query has no punctuation at all, not even a question mark.")
    if constraints.option_lists:
        rules.append("The query may offer options.")
    if constraints.numbering:
        rules.append("The query may start with a number.")
    return "Also:\n" + "\n".join(f"- {rule}" for rule in rules)


def _shared(brief: Brief, *more: str) -> dict[str, str]:
    chunk = brief.chunk
    return {
        "language": language_name(brief.language) if brief.language else "the language of the passage",
        "kind": brief.assignment.kind.value,
        "style": brief.assignment.style.value,
        "title": one_line(chunk.title) or "none",
        "headings": headings_shown(chunk),
        "delimiter": delimiter(chunk.text, *more),
        "passage": chunk.text,
    }


def examples_shown(queries: Sequence[str]) -> str:
    """Return queries of real users as lines of a prompt, empty if there are none."""
    if not queries:
        return ""
    listed = "\n".join(f"- {one_line(query)}" for query in queries)
    return f"Real queries of these users, for their style only; never copy their subject or words:\n{listed}"


def headings_shown(chunk: Chunk) -> str:
    """Return the headings above a passage as a line of a prompt."""
    return one_line(" > ".join(chunk.headings)) or "none"


def why_none(skip_reason: str | None) -> str:
    """Return why a model wrote no query, in its own words if it gave any."""
    return one_line(skip_reason or "")[:200] or "the model gave no query"


def one_line(text: str) -> str:
    """Return a text with single spaces for all white space."""
    return " ".join(text.split())
