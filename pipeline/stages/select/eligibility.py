"""Rules a chunk must pass before a question is asked about it: does it stand alone, and would anyone look it up?

They are the deterministic part of that judgement and hold in any language; words of a language appear in one of them,
the licence rule. What needs understanding (whether a chunk names its own subject) is the generator's, which may skip.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pipeline.text.scripts import is_spaceless, letter_count
from pipeline.text.words import word_count


@dataclass(frozen=True, slots=True)
class Limits:
    """The thresholds of the rules.

    In scripts without spaces a word is counted as 1.6 characters (the usual length of a Chinese one), so 64 characters
    stand for 40 words.
    """

    min_words: int = 40
    min_characters: int = 64
    max_characters: int | None = None
    """The chunk limit. What was cut by it is within it; this is for rows that came ready."""
    min_letters: float = 0.60
    """Letters among the characters that are not white space."""
    sentence_words: int = 4
    """Words before an end mark that make a sentence (in scripts without spaces, 1.6 times as many characters)."""
    unmarked_sentence_words: int = 20
    """Words in one line that make a sentence without an end mark: Thai has none, and a chunk may end before it."""
    list_share: float = 0.50
    """Share of a chunk that is a contents list, navigation or links from which the chunk is one."""
    list_lines: int = 4
    """Lines from which on a chunk can be a list."""
    short_line_words: int = 4
    """Words up to which a line without an end mark is a menu entry (or 1.6 times as many characters)."""


READY = Limits(min_words=10, min_characters=20)
"""For rows that came as ready chunks: their owner cut them, often into a sentence or two. Below this hardly a statement
is left to ask about."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk as the rules see it."""

    text: str
    spaceless: bool
    size: int
    """Words, or characters in scripts without spaces."""

    @property
    def per_word(self) -> float:
        """How many of the counted units make a word."""
        return CHARACTERS_PER_WORD if self.spaceless else 1.0

    @property
    def lines(self) -> list[str]:
        """The lines that hold more than white space."""
        return [line for line in self.text.split("\n") if line and not line.isspace()]


CHARACTERS_PER_WORD = 1.6
_WHITE = bytes(code for code in range(128) if chr(code).isspace())

_END_MARK = re.compile(r"[.!?…]+[\"'”’)\]»*_]*(?=\s|$)|[。！？｡؟۔।॥።។၊။]|\n\s*\n")
_ENDS = re.compile(r"[.!?…。！？｡؟۔।॥።។။:：][\"'”’)\]»」』）*_]*\s*$")
_PAGE_NUMBER = re.compile(r"(?:\.{3}|…|\. \.|\t|[ ]{3}|\|)[ ]*(?:\d{1,4}|[ivxlcIVXLC]{1,7})[ ]*\|?\s*$")
_NUMBERED = re.compile(
    r"\s*(?:[-*#|>]+\s*)?\[?(?:"
    r"(?:chapter|part|section|book|volume|appendix|kapitel|teil|chapitre|partie|cap[ií]tulo|глава|часть)\b"
    r"|第\s*[0-9０-９一二三四五六七八九十百]+\s*[章节節编編回部分条條]|\d+(?:\.\d+)+\.?\s)",
    re.IGNORECASE,
)
_LINK = re.compile(r"!?\[[^\]\n]*\]\([^)\s]*(?:\s\"[^\"\n]*\")?\)|<?(?:https?|ftp)://[^\s>)\]]+>?|\bwww\.[^\s>)\]]+")
_BREADCRUMB = re.compile(r"\s(?:[|›»·•>]|::)\s")
_BREADCRUMB_MARKS = ("|", "›", "»", "·", "•", ">", "::")
_LICENCE = (
    (
        *("all rights reserved", "alle rechte vorbehalten", "tous droits réservés", "todos los derechos reservados"),
        *(
            "tutti i diritti riservati",
            "все права защищены",
            "版权所有",
            "版權所有",
            "保留所有权利",
            "保留一切權利",
            "無断転載",
        ),
    ),
    ("©", "(c) 19", "(c) 20", "copyright", "urheberrecht", "droit d’auteur", "版权", "著作権", "著作权", "авторск"),
    (" liable", " liability", "disclaim", "infring", "haftung", "responsabilité", "免责声明", "免責事項"),
    ("trademark", "project gutenberg", "warenzeichen", "商标", "登録商標"),
    (
        *("permission is hereby granted", "redistribution", "redistribute", "free to copy", "free to share"),
        *("distribute copies", "distributing", "weitergabe"),
    ),
    (
        *("without warrant", "no warrant", "warranties of", "merchantab", "fitness for a particular", " as-is"),
        *("“as is”", '"as is"', "‘as-is’", "ohne gewähr"),
    ),
    (
        *("licensed under", "licenced under", "this license", "this licence", "this agreement"),
        *("general public license", "creative commons", "gutenberg license", "gutenberg™ license"),
        *("gutenberg-tm license", "apache license", "mit license", "bsd license"),
        *("许可协议", "許可證", "ライセンス条項", "лицензи"),
    ),
)
"""Kinds of phrases that licences and copyright pages are made of, in lower case."""
LICENCE_SIGNS = 3
"""How many of the seven kinds of licence phrase make a licence; an article on one subject of law shows one or two."""


def passage(text: str) -> Passage:
    """Return what the rules look at."""
    return Passage(text=text, spaceless=is_spaceless(text), size=word_count(text))


def too_short(p: Passage, limits: Limits) -> str | None:
    """Turn down what has too few words, or characters in scripts without spaces."""
    least, unit = (limits.min_characters, "characters") if p.spaceless else (limits.min_words, "words")
    return f"{p.size} {unit}, fewer than {least}" if p.size < least else None


def too_long(p: Passage, limits: Limits) -> str | None:
    """Turn down what exceeds the chunk limit."""
    most = limits.max_characters
    return f"{len(p.text)} characters, more than {most}" if most is not None and len(p.text) > most else None


def few_letters(p: Passage, limits: Limits) -> str | None:
    """Turn down tables of numbers, formulas and code: too few letters among the characters that are not white space."""
    dark = _dark(p.text)
    share = letter_count(p.text) / dark if dark else 0.0
    return f"{share:.0%} letters, fewer than {limits.min_letters:.0%}" if share < limits.min_letters else None


def _dark(text: str) -> int:
    """Return how many characters are not white space."""
    if text.isascii():
        return len(text.encode().translate(None, _WHITE))
    return len("".join(text.split()))


def contents_list(p: Passage, limits: Limits) -> str | None:
    """Turn down tables of contents and indexes: lines that end in a page number or open with a chapter's number."""
    lines = p.lines
    if len(lines) < limits.list_lines:
        return None
    entries = sum(map(_is_entry, lines))
    return (
        f"{entries} of {len(lines)} lines are contents entries" if entries >= limits.list_share * len(lines) else None
    )


def _is_entry(line: str) -> bool:
    return bool(_PAGE_NUMBER.search(line[-24:])) or bool(_NUMBERED.match(line) and not _ENDS.search(line[-8:]))


def link_list(p: Passage, limits: Limits) -> str | None:
    """Turn down what consists of links and addresses for the most part, by characters."""
    if not ("](" in p.text or "://" in p.text or "www." in p.text):
        return None
    linked = sum(match.end() - match.start() for match in _LINK.finditer(p.text))
    dark = _dark(p.text)
    return f"{linked} of {dark} characters are links" if linked and linked >= limits.list_share * dark else None


def navigation(p: Passage, limits: Limits) -> str | None:
    """Turn down menus: mostly lines of a few words without an end mark, or one line of entries between marks."""
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


def licence(p: Passage, limits: Limits) -> str | None:  # noqa: ARG001 - every rule has the same form
    """Turn down licence and copyright pages: phrases of several kinds, in the languages listed with the phrases."""
    text = p.text.casefold().replace("\n", " ")
    kinds = 0
    for left, phrases in zip(range(len(_LICENCE), 0, -1), _LICENCE, strict=True):
        if kinds + left < LICENCE_SIGNS:
            return None
        kinds += any(phrase in text for phrase in phrases)
    return f"{kinds} kinds of licence phrase" if kinds >= LICENCE_SIGNS else None


def no_sentence(p: Passage, limits: Limits) -> str | None:
    """Turn down what holds no sentence.

    A verb cannot be told in every language; this stands for it: a few words up to an end mark, or many in one line.
    """
    marked = limits.sentence_words * p.per_word
    unmarked = limits.unmarked_sentence_words * p.per_word
    for stretch, ended in _stretches(p.text):
        if word_count(stretch) >= (marked if ended else unmarked):
            return None
    return "no sentence"


def _stretches(text: str) -> Iterator[tuple[str, bool]]:
    """Yield what lies between end marks and blank lines, and whether a mark ends it."""
    start = 0
    for mark in _END_MARK.finditer(text):
        yield text[start : mark.start()], not mark[0].isspace()
        start = mark.end()
    yield text[start:], False


RULES: tuple[tuple[str, Callable[[Passage, Limits], str | None]], ...] = (
    ("too-short", too_short),
    ("too-long", too_long),
    ("few-letters", few_letters),
    ("contents-list", contents_list),
    ("link-list", link_list),
    ("navigation", navigation),
    ("licence", licence),
    ("no-sentence", no_sentence),
)
"""The rules in order; the first that gives a reason names the fault."""


def fault(text: str, limits: Limits) -> str | None:
    """Return the name of the first rule that turns a chunk's text down, None for an eligible chunk."""
    seen = passage(text)
    return next((name for name, rule in RULES if rule(seen, limits)), None)
