"""Words in plain Latin letters, as people type them who lack the right keyboard."""

from __future__ import annotations

import unicodedata

_PAIRS = """
а a б b в v г g д d е e ё e ж zh з z и i й y к k л l м m н n о o п p р r с s т t у u ф f х kh ц ts ч ch ш sh щ shch
ъ - ы y ь - э e ю yu я ya і i ї yi є ye ґ g
α a β v γ g δ d ε e ζ z η i θ th ι i κ k λ l μ m ν n ξ x ο o π p ρ r σ s τ t υ y φ f χ ch ψ ps ω o ς s
ά a έ e ή i ί i ό o ύ y ώ o ϊ i ϋ y ΐ i ΰ y
ß ss æ ae œ oe ø o ł l đ d ð d þ th ı i
"""
_PLACES = _PAIRS.replace("-", '""').split()
_TABLE = dict(zip(_PLACES[::2], (written.strip('"') for written in _PLACES[1::2]), strict=True))
_BY_LANGUAGE = {"de": {"ä": "ae", "ö": "oe", "ü": "ue"}, "uk": {"г": "h", "и": "y"}, "bg": {"щ": "sht", "ъ": "a"}}
"""Where a language writes a letter otherwise."""


def in_latin(text: str, language: str | None) -> str:
    """Return a text with its Cyrillic and Greek letters in Latin ones, and Latin letters without their marks.

    Letters of other scripts stay.

    Args:
        text: The text, in composed form (NFC).
        language: ISO 639-1 code; None if it is not known.
    """
    table = _TABLE | _BY_LANGUAGE.get(language or "", {})
    return "".join(_plain(letter, table) for letter in text)


def _plain(letter: str, table: dict[str, str]) -> str:
    small = letter.lower()
    letters = table.get(small)
    if letters is None:
        taken_apart = unicodedata.normalize("NFD", letter)
        return taken_apart[0] if len(taken_apart) > 1 and taken_apart[0].isascii() else letter
    return letters if letter == small else letters.capitalize()
