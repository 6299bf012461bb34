"""The checks that look at one candidate alone, in the order they are made."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, replace

from pipeline.stages.check import content, form
from pipeline.stages.check.finding import CheckContext, Finding
from pipeline.stages.check.overlap import overlap
from schemas.query import Candidate, Query, Recipe


@dataclass(frozen=True, slots=True)
class Check:
    """One rule. ``rewrite``: other words could mend what it finds. ``simulated``: the recipes it applies to."""

    name: str
    find: Callable[[Candidate, CheckContext], Finding | None]
    rewrite: bool
    simulated: frozenset[Recipe]


ALL = frozenset(Recipe)
SENTENCES = frozenset({Recipe.HEADING, Recipe.HELD_OUT})
"""Recipes that give what a person wrote. The others give bags of terms, which point at nothing."""

CHECKS: tuple[Check, ...] = (
    Check("schema", form.schema, rewrite=True, simulated=ALL),
    Check("length", form.length, rewrite=True, simulated=ALL),
    Check("constraints", form.constraints, rewrite=True, simulated=ALL),
    Check("evidence", content.evidence, rewrite=False, simulated=ALL),
    Check("language", content.language, rewrite=True, simulated=ALL),
    Check("deixis", content.deixis, rewrite=True, simulated=SENTENCES),
    Check("answer-leak", content.leak, rewrite=False, simulated=ALL),
    Check("copied-run", content.copied, rewrite=True, simulated=ALL),
    Check("overlap", content.overlapping, rewrite=True, simulated=ALL),
)


def check_candidate(candidate: Candidate, context: CheckContext) -> Finding | None:
    """Return the first rule that a candidate breaks, None where it breaks none.

    Args:
        candidate: The candidate, its evidence already found again in the chunk.
        context: What to hold it against.
    """
    for check in CHECKS:
        if candidate.recipe is not None and candidate.recipe not in check.simulated:
            continue
        finding = check.find(candidate, context)
        if finding:
            return replace(finding, rewrite=check.rewrite)
    return None


def accepted(candidate: Candidate, context: CheckContext) -> Query:
    """Return the query that a candidate becomes once every check is passed."""
    return Query(
        **dict(candidate),
        query_id=query_id(candidate.text),
        overlap=overlap(candidate.text, context.indexed_text, context.language),
    )


def query_id(text: str) -> str:
    """Return the id of a query's text: the same for the same words, whatever their case and white space."""
    normal = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    return f"q{hashlib.sha256(normal.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"
