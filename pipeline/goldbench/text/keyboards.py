"""The keys beside a key, on the keyboard that people of a language type with."""

from __future__ import annotations

from functools import cache

_LAYOUTS = {
    "qwerty": ("qwertyuiop", "asdfghjkl", "zxcvbnm"),
    "qwertz": ("qwertzuiopü", "asdfghjklöä", "yxcvbnm"),
    "azerty": ("azertyuiop", "qsdfghjklm", "wxcvbn"),
    "cyrillic": ("йцукенгшщзхъ", "фывапролджэ", "ячсмитьбю"),
    "greek": ("ςερτυθιοπ", "ασδφγηξκλ", "ζχψωβνμ"),
    "hebrew": ("קראטוןםפ", "שדגכעיחלךף", "זסבהנמצתץ"),
    "arabic": ("ضصثقفغعهخحجد", "شسيبلاتنمكط", "ئءؤرىةوزظ"),
}
"""The rows of letters from the top. Characters of other scripts have no key beside them."""
_LATIN = {**dict.fromkeys(("de", "cs", "sk", "hu", "hr", "sl", "sq"), "qwertz"), "fr": "azerty"}
"""The layout of Latin letters by language; qwerty elsewhere."""
_OTHERS = ("cyrillic", "greek", "hebrew", "arabic")


def neighbours(letter: str, language: str | None) -> str:
    """Return the letters on the keys around that of a letter, in its case; empty if its key is not known.

    Args:
        letter: One character.
        language: ISO 639-1 code, which tells the layout of Latin letters; None if it is not known.
    """
    names = (_LATIN.get(language or "", "qwerty"), *_OTHERS)
    small = letter.lower()
    keys_beside = next((keys[small] for name in names if small in (keys := _beside(name))), "")
    return keys_beside.upper() if letter != small else keys_beside


@cache
def _beside(layout: str) -> dict[str, str]:
    """Return the letters around each letter; a row is set half a key to the right of the one above."""
    rows = _LAYOUTS[layout]
    beside = {}
    for number, row in enumerate(rows):
        for at, letter in enumerate(row):
            near = [(number, at - 1), (number, at + 1), (number + 1, at - 1), (number + 1, at), (number - 1, at)]
            near.append((number - 1, at + 1))
            beside[letter] = "".join(
                rows[line][key] for line, key in near if 0 <= line < len(rows) and 0 <= key < len(rows[line])
            )
    return beside
