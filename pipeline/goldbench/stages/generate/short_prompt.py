"""Queries about one passage by a short prompt: its sentences are numbered, and one of them is to be asked for.

Reads: briefs, each with a chunk. Writes: a query, with the sentence that answers it as its evidence, or the reason why
there is none. Fails: as the chat model does.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import regex

from goldbench.ports import Brief, ChatModel, ChatRequest, Proposal
from goldbench.prompts.loader import Prompt
from goldbench.records.corpus import Chunk
from goldbench.records.query import Candidate, Constraints, QueryStyle
from goldbench.records.replies import NumberedQuery, numbered_query
from goldbench.stages.generate.one_passage import describe_constraints, examples_shown, one_line
from goldbench.text import table
from goldbench.text.boundaries import sentence_spans
from goldbench.text.deixis import deixis
from goldbench.text.query_forms import is_question, kind_of, style_of
from goldbench.text.suggestion import language_name
from goldbench.text.title_path import title_path
from goldbench.text.words import content_terms, count_words

CHOICE = 3
"""How many promising sentences of a passage the model chooses from."""
ATTEMPTS = 2
"""How many such choices a passage gets before it is given up."""

MANY_TERMS = 14
"""Content terms from which a sentence says enough to be asked for."""

STYLES = {
    QueryStyle.QUESTION: "questions that people put to a search engine, none for yes or no",
    QueryStyle.KEYWORDS: "queries of 2 to 5 keywords, no sentences, that people type into a search engine",
    QueryStyle.PROBLEM: "queries in which people tell a search engine what went wrong, without a question",
    QueryStyle.VAGUE: "queries in which people who do not know the right terms tell a search engine in everyday words "
    "what they are after",
}
"""What the prompt asks for, by style."""

_MARKUP = re.compile(r"\s*(?:[-*•|>#`<$\"“„«「『]|\d+[.)]\s)")
_LIST_HEAD = re.compile(r"[:：]\W*$")
_COMPLETE = re.compile(r"[.!。！।॥።۔](?:\[\d+\])*[\"'”’»)」』*`]*$")
_DIGIT = re.compile(r"\d")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a chunk on one line, and its place in the chunk's text."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ShortGenerator:
    """Writes queries with any chat model, one request a query.

    ``notes`` stand in the prompt for the whole run.
    """

    model: ChatModel
    prompt: Prompt
    max_answer_tokens: int
    notes: str = ""
    temperature: float = 0.3
    evidence_level: str = "model"

    @property
    def name(self) -> str:
        """The id of the prompt in use."""
        return self.prompt.id

    async def propose(self, brief: Brief) -> Proposal:
        """Return queries about the most promising sentences of a chunk; a later attempt takes the next ones."""
        sentences = sentences_of(brief.chunk)
        targets = askable(sentences, brief)
        wanted = brief.constraints.per_chunk
        size = max(1, min(CHOICE, len(targets) // (wanted + 1)))  # something is left for another attempt
        groups = [targets[first : first + size] for first in range(0, len(targets), size)]
        first = brief.attempt * wanted
        chosen = groups[first : first + wanted]
        if not chosen:
            return Proposal(skip_reason="no sentence of the passage says something complete")
        candidates = [await self._ask(brief, sentences, group) for group in chosen]
        goes_on = brief.attempt + 1 < ATTEMPTS and len(groups) > first + wanted
        return Proposal(tuple(candidates), goes_on=goes_on)

    async def rewrite(self, brief: Brief, candidate: Candidate, complaint: str) -> None:
        """Return nothing: another sentence is asked for instead."""

    async def _ask(self, brief: Brief, sentences: Sequence[Sentence], targets: Sequence[int]) -> Candidate:
        system, user = short_prompt(self.prompt, brief, sentences, targets, notes=self.notes)
        style = brief.assignment.style
        request = ChatRequest(
            stage="generate",
            prompt=self.prompt.id,
            system=system,
            user=user,
            answer=numbered_query(len(sentences)),
            temperature=self.temperature,
            max_tokens=self.max_answer_tokens,
            examples=self.prompt.turns(brief.language, style.value),
            weighed=True,
        )
        completion = await self.model.complete(request)
        candidate = candidate_of(completion.answer, brief, sentences, targets[0], self.name)
        mean = None if completion.likelihood is None else completion.likelihood.mean
        return candidate.model_copy(update={"mean_logprob": mean})


def sentences_of(chunk: Chunk) -> list[Sentence]:
    """Return the sentences of a chunk, in order; items of lists and rows of tables count as sentences."""
    return [Sentence(one_line(chunk.text[start:end]), start, end) for start, end in sentence_spans(chunk.text)]


def short_prompt(
    prompt: Prompt, brief: Brief, sentences: Sequence[Sentence], targets: Sequence[int], *, notes: str
) -> tuple[str, str]:
    """Return the system and the user message that ask for one of the sentences at the positions ``targets``."""
    style = brief.assignment.style
    persona = one_line(brief.assignment.persona or "")
    return prompt.render(
        style=STYLES[style],
        notes=notes,
        title=title_path(brief.chunk) or "none",
        sentences="\n".join(f"[{number}] {sentence.text}" for number, sentence in enumerate(sentences, 1)),
        language=language_name(brief.language) if brief.language else "that of the passage",
        number=" or ".join(str(target + 1) for target in sorted(targets)),
        persona=f"Who asks: {persona}\n" if persona else "",
    )


def first_short_prompt(prompt: Prompt, brief: Brief, *, notes: str) -> tuple[str, str]:
    """Return the prompt for the most promising sentence of a chunk, for the first one where none promises anything."""
    sentences = sentences_of(brief.chunk)
    targets = askable(sentences, brief)[:CHOICE] or [0]
    return short_prompt(prompt, brief, sentences, targets, notes=notes)


def notes_of(context: str, seed_queries: Sequence[str], constraints: Constraints) -> str:
    """Return what a user says of the collection, its queries and their form; empty if nothing is said."""
    usual = Constraints(language=constraints.language, per_chunk=constraints.per_chunk)
    parts = (
        f"The collection and its users: {one_line(context)}" if context.strip() else "",
        examples_shown(seed_queries),
        describe_constraints(constraints) if constraints != usual else "",
    )
    return "\n".join(filter(None, parts))


def askable(sentences: Sequence[Sentence], brief: Brief) -> list[int]:
    """Return the positions of the sentences that are worth asking for, the most promising first."""
    subject = set(content_terms(title_path(brief.chunk), brief.language))
    worths = {position: worth(sentence.text, subject, brief.language) for position, sentence in enumerate(sentences)}
    promising = [position for position, value in worths.items() if value > 0]
    return sorted(promising, key=lambda position: (-worths[position], position))


def worth(sentence: str, subject: set[str], language: str | None) -> float:
    """Return how much a sentence promises: complete, of a fitting length, about the subject, with something to ask for.

    Questions, parts of lists and tables, code, and sentences that lean on an earlier one promise little.

    Args:
        sentence: The sentence, on one line.
        subject: The content terms of the passage's title.
        language: ISO 639-1, None if it is not known.
    """
    length = count_words(sentence)
    letters = sum(character.isalpha() or character.isspace() for character in sentence) / len(sentence)
    value = 1.0 if 8 <= length <= 30 else 0.4 if 30 < length <= 60 else -1.0
    value += 0.6 if _COMPLETE.search(sentence) else -0.4
    terms = set(content_terms(sentence, language))
    value += 0.5 if subject & terms else 0.0
    value += 0.06 * min(len(terms), MANY_TERMS)
    value += 0.3 if _DIGIT.search(sentence) else 0.0
    value -= 1.5 if deixis(sentence, language) or _leans(sentence, language) else 0.0
    value -= 0.8 if _MARKUP.match(sentence) else 0.0
    value -= 1.0 if letters < 0.75 else 0.0
    value -= 1.5 if is_question(sentence, language) or _LIST_HEAD.search(sentence) else 0.0
    return value


def _leans(sentence: str, language: str | None) -> bool:
    """Return whether a sentence leans on an earlier one or sends its reader elsewhere; False without patterns."""
    patterns = table("wordings")["leaning"].get((language or "").split("-")[0], ())
    return any(regex.search(pattern, sentence, regex.IGNORECASE) for pattern in patterns)


def candidate_of(
    reply: NumberedQuery, brief: Brief, sentences: Sequence[Sentence], target: int, generator: str
) -> Candidate:
    """Return a reply as a candidate, with the sentence that gives the answer and the style and kind that it has."""
    answering = sentences[answering_sentence(reply, sentences, target, brief.language)]
    evidence = brief.chunk.evidence(answering.start, answering.end)
    text = reply.query.strip()
    return Candidate(
        chunk_id=brief.chunk.chunk_id,
        text=text,
        generator=generator,
        evidence=(evidence,),
        quote=evidence.quote,
        language=brief.language,
        kind=kind_of(text, brief.language),
        style=style_of(text, brief.language, brief.assignment.style),
        asked=brief.assignment,
        answer=reply.answer.strip() or None,
    )


def answering_sentence(reply: NumberedQuery, sentences: Sequence[Sentence], target: int, language: str | None) -> int:
    """Return the position of the sentence that holds most of the answer.

    Of equal ones it is the one whose number the model gave, else the one that it was asked for.
    """
    answer = set(content_terms(reply.answer, language))
    named = reply.sentence - 1

    def fit(position: int) -> tuple[int, bool, bool]:
        shared = answer & set(content_terms(sentences[position].text, language))
        return len(shared), position == named, position == target

    return max(range(len(sentences)), key=fit)
