"""Words as Lucene's ``StandardTokenizer`` finds them, as in Elasticsearch's ``standard`` and ``cjk`` analyzers.

Unicode's default word boundaries (UAX #29), and beyond them: Han and hiragana character by character, katakana in runs,
runs of Thai, Lao, Khmer and Myanmar whole, emoji as words; tokens longer than 255 characters are cut.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Iterator

import regex

LONGEST = 255
"""Characters of a token at most, as in Lucene; a longer one is cut into several."""


def _word(letter: str, digit: str, join: str, behind: str, mid_letter: str, mid_digit: str, katakana: str) -> str:
    """Return the pattern of a word made of these classes of characters.

    ``behind`` is a joiner just before the word: a word was looked for there already, so a long run of joiners is read
    only once.
    """
    run = rf"(?>{letter}(?>(?:{join}*+|{mid_letter}){letter})*+|{digit}(?>(?:{join}*+|{mid_digit}){digit})*+)++"
    part = rf"(?:{katakana}(?>{join}*+{katakana})*+|{run})"
    return rf"(?:(?<!{behind}){join}++)?+{part}(?>{join}++{part})*+{join}*+"


_EXT = r"[\p{WB=Extend}\p{WB=Format}\p{WB=ZWJ}]*+"
_PICTURE = r"\p{Extended_Pictographic}(?:\ufe0f|\p{Emoji_Modifier})?[\U000e0020-\U000e007f]*+"
_EMOJI = rf"[0-9#*]\ufe0f?\u20e3|\p{{WB=Regional_Indicator}}{{2}}|{_PICTURE}(?:\u200d{_PICTURE})*+"
_ANY_WORD = _word(
    letter=rf"(?:[\p{{WB=ALetter}}\p{{WB=Hebrew_Letter}}--\p{{LB=SA}}]{_EXT})",
    digit=rf"(?:[\p{{WB=Numeric}}\uff10-\uff19]{_EXT})",
    join=rf"(?:\p{{WB=ExtendNumLet}}{_EXT})",
    behind=r"\p{WB=ExtendNumLet}",
    mid_letter=rf"(?:[\p{{WB=MidLetter}}\p{{WB=MidNumLet}}\p{{WB=Single_Quote}}]{_EXT})",
    mid_digit=rf"(?:[\p{{WB=MidNum}}\p{{WB=MidNumLet}}\p{{WB=Single_Quote}}]{_EXT})",
    katakana=rf"(?:\p{{WB=Katakana}}{_EXT})",
)
_TOKEN = regex.compile(
    rf"(?P<emoji>{_EMOJI})|(?P<word>{_ANY_WORD})|(?P<complex>(?:\p{{LB=SA}}{_EXT})++)"
    rf"|(?P<single>[\p{{Script=Han}}\p{{Script=Hiragana}}]{_EXT})",
    regex.V1,
)
# The same words of text in ASCII, several times faster.
_NONE = r"(?!)"
_ASCII_TOKEN = re.compile(_word("[a-z]", "[0-9]", "_", "_", "[.:']", "[.,;']", _NONE))
_ASCII_RUN = re.compile("[a-z0-9_]+(?:[.:',;][a-z0-9_]+)*")
"""What holds whole words of ASCII in lower case; most are letters and digits alone, which are one word."""
_CJK = regex.compile(r"[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}ー]+")
_CJK_OR_WIDE = regex.compile(
    r"[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}ー\uff01-\uff5e\uff65-\uff9f]"
)
_WIDE_OR_NARROW = regex.compile(r"[\uff01-\uff5e\uff65-\uff9f]+")


def standard(text: str) -> list[str]:
    """Return the tokens in lower case, in order."""
    if text.isascii():
        runs = _ASCII_RUN.findall(text.lower())
        tokens = [token for run in runs for token in ([run] if run.isalnum() else _ASCII_TOKEN.findall(run))]
    else:
        tokens = [match.group().lower() for match in _TOKEN.finditer(text)]
    if max(map(len, tokens), default=0) <= LONGEST:
        return tokens
    return [piece for token in tokens for piece in _cut(token)]


def cjk_bigrams(text: str) -> list[str]:
    """Return the tokens, with pairs of neighbouring characters in Chinese, Japanese and Korean, as Lucene's ``cjk``.

    A single character is a token of its own. Unlike in Lucene, English function words stay.
    """
    if text.isascii() or not _CJK_OR_WIDE.search(text):
        return standard(text)
    terms: list[str] = []
    for characters, tokens in _runs(text):
        terms += tokens if not characters else [a + b for a, b in itertools.pairwise(characters)] or characters
    return terms


def _runs(text: str) -> Iterator[tuple[list[str], list[str]]]:
    """Yield the characters of each unbroken run of CJK, or tokens of another kind."""
    run: list[str] = []
    end = -1
    for match in _TOKEN.finditer(text):
        token = _even_width(match.group()).lower()
        is_cjk = match["emoji"] is None and _CJK.fullmatch(token) is not None
        if run and (not is_cjk or match.start() != end):
            yield run, []
            run = []
        if is_cjk:
            run += token
            end = match.end()
        else:
            yield [], _cut(token)
    if run:
        yield run, []


def _cut(token: str) -> list[str]:
    return [token] if len(token) <= LONGEST else [token[at : at + LONGEST] for at in range(0, len(token), LONGEST)]


def _even_width(token: str) -> str:
    """Return the token with full-width Latin narrow and half-width katakana wide."""
    return str(_WIDE_OR_NARROW.sub(lambda match: unicodedata.normalize("NFKC", match.group()), token))
