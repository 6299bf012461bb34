"""The sentences of a passage that are worth asking about: complete, about something named, and true by themselves."""

from __future__ import annotations

import bisect
import re
from collections.abc import Sequence
from dataclasses import dataclass

from goldbench.pipeline.text import table
from goldbench.pipeline.text.boundaries import sentence_spans
from goldbench.pipeline.text.words import content_terms, word_count, words
from goldbench.schemas.corpus import Chunk

FEWEST_WORDS, MOST_WORDS = 6, 40
"""Words of a sentence that is asked about: shorter ones say little, longer ones say several things."""

_CONNECTIVE = re.compile(
    r"^(?:However|Therefore|Thus|Hence|Moreover|Furthermore|Similarly|Likewise|Finally|Consequently|Also|Nevertheless"
    r"|Nonetheless|In addition|In fact|In particular|As a result|In contrast|By contrast|Additionally|Unfortunately"
    r"|Generally|Usually|Typically|Normally|Today|Note that|Please note that|Tip|Note|Important|Warning|Caution)"
    r"\b[,:]? (?=\S)"
)
_POINTING_START = frozenset(str(table("english")["no_statement"]).split())
_POINTING = re.compile(
    r"\b(?:this|these|those|above|below|following|aforementioned|former|latter|respectively|herein|thereof|here)\b"
    r"|\b(?:figs?\.|figure|table|section|chapter|eq\.|equation|page|article|appendix) ?\(?\d"
    r"|\bthe (?:present |current )?(?:author|authors|paper|article|study|chapter|section|report|document)\b"
    r"|\b(?:see|cf\.|e\.g\.|i\.e\.|ibid)(?: |$)",
    re.IGNORECASE,
)
_FIRST_PERSON = re.compile(r"\b(?:I|[Ww]e|[Oo]ur|us|[Mm]y|me|mine|ours)\b")
_PRONOUN = re.compile(r"\b(?:he|she|they|it|him|her|them|his|hers|their|its)\b", re.IGNORECASE)
_CODE = re.compile(r"https?://|www\.|@|[{}<>\\=~]|\.\.\.|…|_\w|\w_|--")
_TELLING = re.compile(
    r"\d|\b(?:because|so that|in order to|due to|if|when|unless|means|called|known as|before|after|must|until|only)\b"
)
_LIST = re.compile(r"\n(?![^\S\n]*\n)[^\S\n]*+(?:[-*•|#>]|\d+[.)]\s)")
_MARKS = (
    (re.compile(r"!?\[([^\[\]\n]*+)\]\((?:[^)\n\]]|\](?!\())*+\)"), r"\1"),
    (re.compile(r"\[(?:\d+|citation needed|note \d+|[a-z])\]"), ""),
    (re.compile(r":\d+(?:[–-]\d+)?(?:,\d+(?:[–-]\d+)?)*(?= |$)"), ""),
    (re.compile(r"\*\*|__|`"), ""),
    (re.compile(r"(?<!\w)[*_](\S[^*_]*)[*_](?!\w)"), r"\1"),
    (re.compile(r"^\s*(?:[-*•>]+|\d+[.)]|\d+(?:\.\d+)+\.?(?= +[A-Z]))\s+"), ""),
)
_HEADING = re.compile(r"^#{1,6} +(\S.*)$", re.MULTILINE)
MOST_CHARACTERS = 1000
"""The length of the longest text that is looked at as one sentence; a longer one has more than `MOST_WORDS` words."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence worth asking about.

    ``text`` is the sentence without markup, ``start`` and ``end`` its place in the chunk's text, ``topic`` the title
    and the nearest heading, ``worth`` how much it promises (higher is better).
    """

    text: str
    topic: str
    start: int
    end: int
    worth: float


def statements(chunk: Chunk) -> list[Statement]:
    """Return the sentences worth asking about, the most promising first."""
    found: list[Statement] = []
    headings = [(match.start(), match[1].rstrip("# ")) for match in _HEADING.finditer(chunk.text)]
    for start, end in sentence_spans(chunk.text):
        if end - start > MOST_CHARACTERS:
            continue
        raw = chunk.text[start:end]
        text = without_markup(raw)
        if _LIST.search(raw) or raw.lstrip().startswith("#") or not is_statement(text):
            continue
        before = bisect.bisect_left(headings, (start, ""))
        topic = topic_of(chunk, [heading for _, heading in headings[max(0, before - 1) : before]])
        found.append(Statement(_without_connective(text), topic, start, end, worth(text, topic)))
    return sorted(found, key=lambda one: (-one.worth, one.start))


def is_statement(text: str) -> bool:
    """Return whether a sentence is complete, and can be understood without the sentences around it."""
    found = words(text)
    if not FEWEST_WORDS <= len(found) <= MOST_WORDS or not re.match(r"[A-Z0-9]", text):
        return False
    if not re.search(r"[a-z0-9%)\"”°][.!]$", text) or found[0].lower() in _POINTING_START or "|" in text:
        return False
    if text.count('"') % 2 or text.count("“") != text.count("”") or text.count("(") != text.count(")"):
        return False
    if _CODE.search(text) or _POINTING.search(text) or _FIRST_PERSON.search(text):
        return False
    letters = sum(character.isalpha() or character == " " for character in text)
    return letters >= 0.8 * len(text) and len(set(content_terms(text, "en"))) >= 3


def worth(text: str, topic: str) -> float:
    """Return how much a statement promises: a fitting length, a fact that can be asked for, names, no pronouns."""
    length = word_count(text)
    value = 1.0 if 8 <= length <= 24 else -1.0 if length > 32 else 0.0
    value += 0.7 * bool(_TELLING.search(text)) + 0.5 * bool(re.search(r"[a-z,] [A-Z]\w", text))
    value += 0.5 * bool(set(content_terms(topic, "en")) & set(content_terms(text, "en")))
    pronoun = _PRONOUN.search(text)
    if pronoun:
        value -= 1.2 if pronoun.start() < 0.4 * len(text) else 0.5
    return value


def topic_of(chunk: Chunk, nearest: Sequence[str]) -> str:
    """Return the title and the nearest heading, without repetition.

    Args:
        chunk: The chunk.
        nearest: The nearest heading inside the chunk before the sentence, or nothing: then the chunk's own is taken.
    """
    parts = [without_markup(part.replace("_", " ")) for part in (chunk.title, *(nearest or chunk.headings[-1:]))]
    return " > ".join(dict.fromkeys(part for part in parts if re.search(r"[^\W\d_]{3}", part)))


def without_markup(text: str) -> str:
    """Return a sentence on one line, without Markdown, list marks and reference numbers."""
    for pattern, replacement in _MARKS:
        text = pattern.sub(replacement, text)
    return " ".join(text.split())


def _without_connective(text: str) -> str:
    rest = _CONNECTIVE.sub("", text)
    return rest[:1].upper() + rest[1:]
