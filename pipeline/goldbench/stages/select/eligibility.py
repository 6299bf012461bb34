"""Rules that a chunk must pass before a query is written about it: does it stand alone, and would anyone look it up?

The rules are deterministic and hold in any language; only the licence rule uses words of particular languages. Whether
a chunk names its own subject needs understanding: that is left to the generator, which may skip a chunk.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from goldbench.text import table
from goldbench.text.scripts import is_spaceless, letter_count
from goldbench.text.words import word_count


@dataclass(frozen=True, slots=True)
class Limits:
    """The thresholds of the rules.

    In scripts without spaces 1.6 characters count as a word (the usual length of a Chinese word), so 64 characters
    stand for 40 words.
    """

    min_words: int = 40
    min_characters: int = 64
    max_characters: int | None = None
    """Most characters of a chunk, for rows of a table; chunks cut by the splitter are never longer."""
    min_letters: float = 0.60
    """Lowest share of letters among the characters that are not white space."""
    sentence_words: int = 4
    """Fewest words before an end mark that make a sentence (without spaces, 1.6 times as many characters)."""
    unmarked_sentence_words: int = 20
    """Fewest words on a line that make a sentence without an end mark, which Thai lacks and a chunk may cut off."""
    list_share: float = 0.50
    """Share of contents entries, menu lines or links from which a chunk is a list, a menu or links."""
    list_lines: int = 4
    """Fewest lines of a list."""
    short_line_words: int = 4
    """Most words of a menu entry, a line without an end mark (or 1.6 times as many characters)."""


READY = Limits(min_words=10, min_characters=20)
"""Limits for rows of a table, often a sentence or two; a shorter row hardly makes a statement."""


@dataclass(frozen=True, slots=True)
class CandidatePassage:
    """A chunk as the rules see it."""

    text: str
    spaceless: bool
    size: int
    """Words, or characters in scripts without spaces."""

    @property
    def per_word(self) -> float:
        """Counted units in a word."""
        return CHARACTERS_PER_WORD if self.spaceless else 1.0

    @property
    def lines(self) -> list[str]:
        """The lines that hold more than white space."""
        return [line for line in self.text.split("\n") if line and not line.isspace()]


CHARACTERS_PER_WORD = 1.6

_END_MARK = re.compile(r"(?<![.!?…])[.!?…]++[\"'”’)\]»*_]*+(?=\s|$)|[。！？｡؟۔।॥።។၊။]|\n\s*\n")
_ENDS = re.compile(r"[.!?…。！？｡؟۔।॥።។။:：][\"'”’)\]»」』）*_]*\s*$")
_PAGE_NUMBER = re.compile(r"(?:\.{3}|…|\. \.|\t|[ ]{3}|\|)[ ]*(?:\d{1,4}|[ivxlcIVXLC]{1,7})[ ]*\|?\s*$")
_NUMBERED = re.compile(
    r"\s*(?:[-*#|>]+\s*)?\[?(?:"
    r"(?:chapter|part|section|book|volume|appendix|kapitel|teil|chapitre|partie|cap[ií]tulo|глава|часть)\b"
    r"|第\s*[0-9０-９一二三四五六七八九十百]+\s*[章节節编編回部分条條]|\d+(?:\.\d+)+\.?\s)",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"<?(?:https?|ftp)://[^\s>)\]]+>?|\bwww\.[^\s>)\]]+")
_LINK = re.compile(
    rf"{_ADDRESS.pattern}|!?(?P<open>\[)[^\]\n]*+"
    r"(?P<whole>\]\((?:[^)\s\]]|\](?!\())*+(?:\s\"[^\"\n]*+\")?\))?+"
)
"""An address, a link, or a bracket that begins no link up to the next ``]``: then no bracket within begins one."""
_BREADCRUMB = re.compile(r"\s(?:[|›»·•>]|::)\s")
_BREADCRUMB_MARKS = ("|", "›", "»", "·", "•", ">", "::")
LICENCE_SIGNS = 3
"""Kinds of licence phrase, of seven, from which a text is a licence; an article on a subject of law has one or two."""


def passage(text: str) -> CandidatePassage:
    """Return a chunk as the rules see it."""
    return CandidatePassage(text=text, spaceless=is_spaceless(text), size=word_count(text))


def too_short(p: CandidatePassage, limits: Limits) -> str | None:
    """Reject a chunk with too few words, or characters in scripts without spaces."""
    least, unit = (limits.min_characters, "characters") if p.spaceless else (limits.min_words, "words")
    return f"{p.size} {unit}, fewer than {least}" if p.size < least else None


def too_long(p: CandidatePassage, limits: Limits) -> str | None:
    """Reject a chunk that exceeds the chunk limit."""
    most = limits.max_characters
    return f"{len(p.text)} characters, more than {most}" if most is not None and len(p.text) > most else None


def few_letters(p: CandidatePassage, limits: Limits) -> str | None:
    """Reject tables of numbers, formulas and code, which have few letters among their characters."""
    dark = _dark(p.text)
    share = letter_count(p.text) / dark if dark else 0.0
    return f"{share:.0%} letters, fewer than {limits.min_letters:.0%}" if share < limits.min_letters else None


def _dark(text: str) -> int:
    """Return the number of characters that are not white space."""
    return len("".join(text.split()))


def contents_list(p: CandidatePassage, limits: Limits) -> str | None:
    """Reject tables of contents and indexes: lines that end in a page number or begin with a chapter's number."""
    lines = p.lines
    if len(lines) < limits.list_lines:
        return None
    entries = sum(map(_is_entry, lines))
    return (
        f"{entries} of {len(lines)} lines are contents entries" if entries >= limits.list_share * len(lines) else None
    )


def _is_entry(line: str) -> bool:
    return bool(_PAGE_NUMBER.search(line[-24:])) or bool(_NUMBERED.match(line) and not _ENDS.search(line[-8:]))


def link_list(p: CandidatePassage, limits: Limits) -> str | None:
    """Reject a chunk of which most characters are links and addresses."""
    if not ("](" in p.text or "://" in p.text or "www." in p.text):
        return None
    linked = sum(end - start for start, end in _links(p.text))
    dark = _dark(p.text)
    return f"{linked} of {dark} characters are links" if linked and linked >= limits.list_share * dark else None


def _links(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of every link, and of every address that stands alone."""
    for match in _LINK.finditer(text):
        if match["open"] and not match["whole"]:
            yield from (address.span() for address in _ADDRESS.finditer(text, *match.span()))
        else:
            yield match.span()


def navigation(p: CandidatePassage, limits: Limits) -> str | None:
    """Reject menus: mostly lines of a few words without an end mark, or one line of entries between marks."""
    lines = p.lines
    most = limits.short_line_words * p.per_word
    if len(lines) < limits.list_lines:
        crumbs = len(_BREADCRUMB.findall(p.text)) if any(mark in p.text for mark in _BREADCRUMB_MARKS) else 0
        return f"{crumbs} marks between entries" if crumbs >= 5 and crumbs * (most + 1) >= p.size else None
    short = sum(len(line) for line in lines if _is_short(line, most, p.spaceless) and not _ENDS.search(line[-8:]))
    total = sum(map(len, lines))
    return f"{short} of {total} characters stand in menu-like lines" if short >= limits.list_share * total else None


def _is_short(line: str, most: float, spaceless: bool) -> bool:
    return len(line) < 80 and (word_count(line) if spaceless else len(line.split())) <= most


def licence(p: CandidatePassage, limits: Limits) -> str | None:  # noqa: ARG001 - every rule has the same form
    """Reject licence and copyright pages, which hold phrases of several kinds in ``text/licences.toml``."""
    text = p.text.casefold().replace("\n", " ")
    kinds = sum(any(phrase in text for phrase in phrases) for phrases in table("licences").values())
    return f"{kinds} kinds of licence phrase" if kinds >= LICENCE_SIGNS else None


def no_sentence(p: CandidatePassage, limits: Limits) -> str | None:
    """Reject a chunk without a sentence: a few words up to an end mark, or many words on one line."""
    marked = limits.sentence_words * p.per_word
    unmarked = limits.unmarked_sentence_words * p.per_word
    for stretch, ended in _stretches(p.text):
        if word_count(stretch) >= (marked if ended else unmarked):
            return None
    return "no sentence"


def _stretches(text: str) -> Iterator[tuple[str, bool]]:
    """Yield each stretch between end marks and blank lines, and whether an end mark closes it."""
    start = 0
    for mark in _END_MARK.finditer(text):
        yield text[start : mark.start()], not mark[0].isspace()
        start = mark.end()
    yield text[start:], False


RULES: tuple[tuple[str, Callable[[CandidatePassage, Limits], str | None]], ...] = (
    ("too-short", too_short),
    ("too-long", too_long),
    ("few-letters", few_letters),
    ("contents-list", contents_list),
    ("link-list", link_list),
    ("navigation", navigation),
    ("licence", licence),
    ("no-sentence", no_sentence),
)
"""The rules in order; the first one that gives a reason names the fault."""


def fault(text: str, limits: Limits) -> str | None:
    """Return the name of the first rule that rejects a chunk's text, None for an eligible chunk."""
    seen = passage(text)
    return next((name for name, rule in RULES if rule(seen, limits)), None)
