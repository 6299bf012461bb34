"""What can be a query at all, and the user's own rules for it."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

import regex

from pipeline.stages.check.finding import CheckContext, Finding, quoted
from pipeline.text.words import count_words
from schemas.query import Candidate

LONGEST_QUERY = 500
"""Characters. Forty long words and the spaces between them fit; what is longer is never looked at more closely."""

_BROKEN = (
    ("it holds a line break or another control character", regex.compile(r"[\p{Cc}\p{Zl}\p{Zp}]")),
    ("it holds marks that change the direction of writing", regex.compile("[\u202a-\u202e\u2066-\u2069]")),
    (
        "it holds invisible characters",
        # Joiners belong to Persian, Indic scripts and emoji, the zero-width space to scripts without spaces.
        regex.compile(
            r"(?V1)[\u00ad\u2060-\u2064\ufeff\ufff9-\ufffb\u180e\U000e0000-\U000e007f]"
            r"|(?<![[\p{L}\p{M}]--[\p{Latin}\p{Greek}\p{Cyrillic}\p{Han}]]|[\p{Extended_Pictographic}\ufe0f\U0001f3fb-\U0001f3ff])[\u200c\u200d]"
            r"|(?<![\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}])\u200b"
        ),
    ),
    ("it holds characters that stand for nothing", regex.compile(r"[\p{Co}\p{Cs}\ufffd\ufffe\uffff]")),
    (
        "it holds markup",
        regex.compile(
            r"<!--|<!doctype|<\?\w|</\w|&(?:#\d+|#x[\da-f]+|[a-z]{2,8});|```|\*\*\w|\]\(|^#{1,6} |^>"
            r"|<(?:a|abbr|b|base|body|br|button|code|div|em|font|form|h[1-6]|head|hr|html|i|iframe|img|input|li|link|meta|object|ol|p|pre|script|span|strong|style|sub|sup|svg|table|td|th|tr|u|ul|video)\b[^<>]*>",
            regex.IGNORECASE,
        ),
    ),
    ("it starts as a formula of a spreadsheet does", regex.compile(r"^\s*[=+\-@＝＋－＠]")),
    ("it starts or ends with a space", regex.compile(r"^\s|\s$")),
)
_WORDLIKE = regex.compile(r"[\p{L}\p{N}]")

_PUNCTUATION = regex.compile(r"[\p{P}~～｜|`]")
_OPTIONS = regex.compile(
    r"(?:^|[\s(（,，;；:：?？])[Aa]\s?[).、．:：）].{1,120}?[\s(（,，;；?？]?\s*[Bb]\s?[).、．:：）]"
    r"|(?:^|\s)\(?1[).]\s.{1,120}?\s\(?2[).]\s|①.*②|(?:^|[\s(（])[iⅰ][).]\s.{1,120}?(?:ii|ⅱ)[).]",
)
_NUMBERING = regex.compile(
    r"^(?:\(?\d{1,3}[)）]|\d{1,3}[.．、](?!\d)|[①-⑳]|[一二三四五六七八九十]{1,3}、|[-*•·▪–—]\s|第?[一二三四五六七八九十\d]{1,3}[题題问問][:：、.]?"
    r"|(?:q|question|query|search query|frage|pregunta|вопрос|问|問|问题|問題|查询|查詢)\s?\d{0,3}\s?[:：.)])",
    regex.IGNORECASE,
)
_WHOLE_WORD_SCRIPTS = (
    r"[\p{Latin}\p{Greek}\p{Cyrillic}\p{Armenian}\p{Georgian}\p{Devanagari}\p{Bengali}\p{Gurmukhi}\p{Gujarati}"
    r"\p{Tamil}\p{Telugu}\p{Kannada}\p{Malayalam}\p{N}]"
)
"""Scripts that keep words apart; Arabic, Hebrew and Hangul join particles to them."""


def schema(candidate: Candidate, _: CheckContext) -> Finding | None:
    """Turn down what cannot be a query: too long to look at, unprintable, marked up, or without a word."""
    text = candidate.text
    if len(text) > LONGEST_QUERY:
        return Finding("schema", f"it has {len(text)} characters, more than {LONGEST_QUERY}", float(len(text)))
    if not _WORDLIKE.search(text):
        return Finding("schema", "it holds no word")
    for reason, pattern in _BROKEN:
        if pattern.search(text):
            return Finding("schema", reason)
    return None


def length(candidate: Candidate, context: CheckContext) -> Finding | None:
    """Hold the query to the user's numbers of words and characters."""
    rules = context.constraints
    characters = len(unicodedata.normalize("NFC", candidate.text))
    if rules.max_characters is not None and characters > rules.max_characters:
        return Finding("length", f"it has {characters} characters, more than {rules.max_characters}", float(characters))
    count = count_words(candidate.text)
    if count < rules.min_words:
        return Finding("length", f"it has {count} words, fewer than {rules.min_words}", float(count))
    if count > rules.max_words:
        return Finding("length", f"it has {count} words, more than {rules.max_words}", float(count))
    return None


def constraints(candidate: Candidate, context: CheckContext) -> Finding | None:
    """Hold the query to the user's other rules: banned words, punctuation, lists of options, numbering."""
    text, rules = unicodedata.normalize("NFKC", candidate.text), context.constraints
    for banned in rules.banned:
        if _banned(banned).search(text):
            return Finding("constraints", f"it holds the banned {quoted(banned)}")
    mark = _PUNCTUATION.search(candidate.text)
    if not rules.punctuation and mark:
        return Finding("constraints", f"it holds the punctuation mark {mark.group()}, and no punctuation is allowed")
    if not rules.option_lists and _OPTIONS.search(candidate.text):
        return Finding("constraints", "it offers a list of options")
    number = _NUMBERING.match(candidate.text)
    if not rules.numbering and number and candidate.text[: number.end() + 6] not in context.chunk.text:
        return Finding("constraints", f"it starts with the numbering or label {quoted(number.group())}")
    return None


@lru_cache(maxsize=1024)
def _banned(word: str) -> regex.Pattern[str]:
    """Match a banned word whole where the script keeps words apart, anywhere in the others."""
    plain = unicodedata.normalize("NFKC", word).strip()
    pattern = r"\s+".join(regex.escape(part) for part in plain.split())
    before = r"(?<![\p{L}\p{M}\p{N}])" if regex.match(_WHOLE_WORD_SCRIPTS, plain[:1]) else ""
    after = r"(?![\p{L}\p{M}\p{N}])" if regex.search(_WHOLE_WORD_SCRIPTS + r"\p{M}*$", plain) else ""
    return regex.compile(before + pattern + after, regex.IGNORECASE | regex.FULLCASE)
