"""What a query says, held against the chunk it was written from."""

from __future__ import annotations

from pipeline.stages.check.finding import CheckContext, Finding, quoted
from pipeline.stages.check.overlap import copied_run, holds_answer, overlap
from pipeline.text.deixis import deixis as pointing_words
from pipeline.text.language import same_language, same_script, script_fits
from pipeline.text.words import content_terms
from schemas.query import Candidate

SHORTEST_COPIED_RUN = 6
"""Words in a row."""

FEWEST_TERMS_OF_A_COPY = 5


def language(candidate: Candidate, context: CheckContext) -> Finding | None:
    """Turn down a query that is clearly in another language than asked for.

    Simulated queries are made of the collection's own words, not always sentences: their script alone is judged. Where
    no language is known the script must be one of the chunk's.
    """
    expected = context.language
    if expected is None:
        fits: bool | None = same_script(candidate.text, context.chunk.text)
    elif candidate.recipe is None:
        fits = same_language(candidate.text, expected)
    else:
        fits = script_fits(candidate.text, expected)
    if fits is not False:
        return None
    asked = f"the language asked for ({expected})" if expected else "a script of the text"
    return Finding("language", f"it is not in {asked}")


def evidence(candidate: Candidate, context: CheckContext) -> Finding | None:
    """Turn down a query whose evidence does not stand in the chunk; a model must give some, a simulation need not."""
    chunk = context.chunk
    if not candidate.evidence and candidate.recipe is None:
        reason = (
            "the quotation given as evidence is not in the text" if candidate.quote else "it comes without evidence"
        )
        return Finding("evidence", reason)
    for item in (*candidate.evidence, *candidate.masked):
        start = item.start - chunk.span.start
        if not chunk.span.contains(item) or chunk.text[start : start + len(item.quote)] != item.quote or not item.quote:
            return Finding("evidence", "its evidence is not what stands at that place of the text")
    return None


def deixis(candidate: Candidate, context: CheckContext) -> Finding | None:
    """Turn down a query that points at something its reader cannot see."""
    wording = pointing_words(candidate.text, candidate.language or context.language)
    if wording is None:
        return None
    return Finding("deixis", f"it points at something its reader cannot see: {quoted(wording)}")


def leak(candidate: Candidate, context: CheckContext) -> Finding | None:
    """Turn down a query that holds its own answer."""
    if candidate.answer and holds_answer(candidate.text, candidate.answer, context.language):
        return Finding("answer-leak", "it contains its own answer")
    return None


def copied(candidate: Candidate, context: CheckContext) -> Finding | None:
    """Turn down a query that copies six or more words in a row."""
    run = copied_run(candidate.text, context.indexed_text)
    if run < SHORTEST_COPIED_RUN:
        return None
    return Finding("copied-run", f"it copies {run:.3g} words in a row from the text; use other words", run)


def overlapping(candidate: Candidate, context: CheckContext) -> Finding | None:
    """Turn down a query of five or more content terms that all stand in the chunk."""
    share = overlap(candidate.text, context.indexed_text, context.language)
    if share != 1.0 or len(set(content_terms(candidate.text, context.language))) < FEWEST_TERMS_OF_A_COPY:
        return None
    return Finding("overlap", "every word that matters in it stands in the text; use other words for some", share)
