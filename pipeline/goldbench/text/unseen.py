"""Characters that a reader does not see and that no text needs: control characters, escape sequences, hidden marks.

Invisible characters that a script or an emoji needs stay: joiners within a word of a script that joins letters,
zero-width spaces between words of scripts without spaces, marks of direction in a text from right to left.
"""

from __future__ import annotations

import regex

_PLAIN = regex.compile(r"[\t\n\x20-\x7e]*+")
_ENDS = regex.compile(r"\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
"""Characters that end a line or a page."""
_TO_THE_LEFT = regex.compile(r"[[\p{Bidi_Class=R}\p{Bidi_Class=AL}]&&\p{L}]", regex.VERSION1)
_SPACELESS = r"[\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}\p{Javanese}\p{Balinese}\p{Tai_Tham}]"
_JOINS = (
    r"[\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f[\p{M}--[\U000e0100-\U000e01ef]]"
    r"[\p{L}--[\p{Latin}\p{Greek}\p{Cyrillic}\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Armenian}\p{Georgian}]]]"
)
_UNSEEN = (
    r"\x1b\[[0-?]*[ -/]*[@-~]"
    r"|[\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\u00ad\u2060-\u2064\u206a-\u206f\ufeff\ufff9-\ufffb]"
    r"|[\u202a-\u202e\u2066-\u2069]"
    rf"|(?<!{_SPACELESS})\u200b|\u200b(?!{_SPACELESS})"
    rf"|(?<!{_JOINS})[\u200c\u200d]"
    r"|\U0001f3f4[\U000e0030-\U000e007a]{3,6}\U000e007f(*SKIP)(*FAIL)|[\U000e0000-\U000e007f]+"
    r"|(?<!\p{Han})[\U000e0100-\U000e01ef]"
)
_SELECTOR = r"\ufe00-\ufe0f\U000e0100-\U000e01ef"
_JOINER = r"\u200c\u200d"
_REPEATED = regex.compile(rf"(?<=[{_SELECTOR}])[{_SELECTOR}]+|(?<=[{_JOINER}])[{_SELECTOR}{_JOINER}]+")
"""Variation selectors after another one or a joiner, which change no character and can spell hidden text."""
_PASSES = 9
"""Most passes: what one leaves out may be all that another character was needed for. Three are hardly reached."""
_ANYWHERE = regex.compile(_UNSEEN, regex.VERSION1)
_NOT_TO_THE_LEFT = regex.compile(_UNSEEN + r"|[\u200e\u200f\u061c]", regex.VERSION1)


def without_unseen(text: str) -> tuple[str, int]:
    """Return a text without characters that a reader does not see, and how many were left out.

    Line ends of other kinds become LF, and are not counted.
    """
    if _PLAIN.fullmatch(text):
        return text, 0
    cleaned = text = _ENDS.sub("\n", text)
    unseen = _ANYWHERE if _TO_THE_LEFT.search(text) else _NOT_TO_THE_LEFT
    for _ in range(_PASSES):
        before = cleaned
        cleaned = _REPEATED.sub("", unseen.sub("", cleaned))
        if len(cleaned) == len(before):
            break
    return cleaned, len(text) - len(cleaned)
