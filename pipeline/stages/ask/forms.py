"""The questions that an English statement answers, formed from its own clause; a model chooses among them.

A question is formed only where the clause can be told apart without a parser: one subject, one verb that is known, an
end that is a whole phrase. What the statement says and the question leaves out is the answer.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from goldbench.pipeline.stages.ask.english import ENGLISH, PRONOUNS
from goldbench.pipeline.stages.ask.wordings import wordings
from goldbench.pipeline.text.words import content_terms, terms

FEWEST_TERMS, MOST_TERMS = 2, 5
"""Content terms of a question: with fewer it is vague, with more it repeats the sentence."""
LONGEST_COPY = 8
"""Words in a row that a question may share with its sentence."""
MOST_WORDS = 14


@dataclass(frozen=True, slots=True)
class Form:
    """A question, and what it asks for.

    ``asks`` is ``subject``, ``object``, ``adjunct``, ``number``, ``definition`` or ``condition``.
    """

    question: str
    asks: str
    terms: int
    """Different content terms of the question."""


def forms(statement: str, context: str) -> list[Form]:
    """Return the questions that a statement answers, each once.

    Args:
        statement: One sentence on one line, without markup.
        context: The text that the sentence stands in.
    """
    sentence = re.sub(r" \([^()]*\)", "", statement.rstrip('.!"” '))
    found: dict[str, Form] = {}
    for asks, wording in wordings(sentence, context):
        question = _question(wording)
        if question is not None and is_fit(question, sentence):
            found.setdefault(question, Form(question, asks, len(set(content_terms(question, ENGLISH)))))
    return list(found.values())


def is_fit(question: str, sentence: str) -> bool:
    """Return whether a question is neither vague nor a copy, points at nothing, and leaves something to answer."""
    words = re.findall(r"[\w'’-]+", question.lower())
    asked = set(content_terms(question, ENGLISH))
    return (
        len(words) <= MOST_WORDS
        and (FEWEST_TERMS <= len(asked) <= MOST_TERMS or (len(asked) == 1 and _NAMED.fullmatch(question) is not None))
        and not PRONOUNS & set(words)
        and not _POINTING.search(question)
        and question.count('"') % 2 == 0
        and not _is_vague(question)
        and bool(set(content_terms(sentence, ENGLISH)) - asked)
        and _copied(question, sentence) <= LONGEST_COPY
    )


_NAMED = re.compile(r"(?:What|Who) is (?:the )?[A-Z][\w.-]*\?")
"""A question for one thing by its name, which one term can be."""
_POINTING = re.compile(r"\b(?:of|to|from|for|in|on|at|with|by) that\b|\bsuch (?!as\b)")


def _is_vague(question: str) -> bool:
    """Return whether a question asks about «the setting» or «the display» and says nothing more of it."""
    terms_asked = set(content_terms(question, ENGLISH))
    named = re.search(r"[a-z,] (?:[A-Z]|\w*\d)", question)
    return len(terms_asked) < 3 and " the " in question and not named


def _copied(question: str, sentence: str) -> int:
    """Return the longest run of words that both share."""
    asked, there = terms(question), f" {' '.join(terms(sentence))} "
    runs = ((start, end) for start in range(len(asked)) for end in range(start + 1, len(asked) + 1))
    return max((end - start for start, end in runs if f" {' '.join(asked[start:end])} " in there), default=0)


def _question(wording: str) -> str | None:
    text = " ".join(wording.split()).strip(" ,;:")
    return f"{text[0].upper()}{text[1:]}?" if text else None
