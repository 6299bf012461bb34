"""How a simulated query is fitted to the user's constraints: words are left out, never invented."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import regex

from goldbench.records.query import Constraints
from goldbench.text.words import words

_SPACE = regex.compile(r"[\s\p{Cc}\p{Cs}\p{Co}\p{Cn}\p{Z}\ufeff\u202a-\u202e\u2066-\u2069]+")
_MARK = regex.compile(r"[\p{P}\p{S}]+")
_NUMBERING = regex.compile(
    r"^\s*(?:(?:q|question|frage|pregunta|вопрос|问题?|問題?)\s*\d*\s*[:：.)]|\d+(?:\.\d+)+[.):]?(?=\s)|(?:\d+|\p{L}|[IVX]+)\s*[.):、．）](?!\d)"
    r"|\([\p{L}\d]{1,3}\)|[#*•·▪–—>|=+\-@]+|[①-⑳]|[一二三四五六七八九十]{1,3}、|第[一二三四五六七八九十\d]+[章节節条條题題][:：、.]?)\s*",
    regex.IGNORECASE,
)
_OPTIONS = regex.compile(r"(?:^|\s)\(?[A-Da-d][).、．]\s.*\s\(?[B-Eb-e][).、．]\s")


def one_line(text: str) -> str:
    """Return the text on one line, control characters and runs of white space replaced by single spaces."""
    return str(_SPACE.sub(" ", text)).strip()


def allowed_terms(forms: Iterable[str], constraints: Constraints) -> list[str]:
    """Return the forms that a keyword query may use, split at their marks if no punctuation is allowed."""
    allowed: list[str] = []
    for form in forms:
        parts = [form] if constraints.punctuation else _MARK.sub(" ", form).split()
        allowed.extend(part for part in map(one_line, parts) if part and not _is_banned(part, constraints))
    return list(dict.fromkeys(allowed))


def fitted_terms(ranked: Sequence[str], constraints: Constraints) -> list[str]:
    """Return the first terms that together fit into the allowed length; none if that leaves too few words."""
    chosen: list[str] = []
    for term in ranked:
        if _fits(" ".join([*chosen, term]), constraints):
            chosen.append(term)
    text = " ".join(chosen)
    return chosen if obeys(text, constraints) else []


def obeys(text: str, constraints: Constraints) -> bool:
    """Return whether the text obeys every constraint that can be checked on the text alone."""
    return (
        len(words(text)) >= constraints.min_words
        and _fits(text, constraints)
        and not _is_banned(text, constraints)
        and (constraints.punctuation or not _MARK.search(text))
        and (constraints.numbering or not _NUMBERING.match(text))
        and (constraints.option_lists or not _OPTIONS.search(text))
    )


def _fits(text: str, constraints: Constraints) -> bool:
    short = constraints.max_characters is None or len(text) <= constraints.max_characters
    return short and len(words(text)) <= constraints.max_words


def _is_banned(text: str, constraints: Constraints) -> bool:
    folded = text.casefold()
    return any(word.casefold() in folded for word in constraints.banned)
