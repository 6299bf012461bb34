"""Numbers and quantities in any writing: «4», «four» and «四» are one number, «14 kg» and «14,000 g» one mass."""

from __future__ import annotations

import unicodedata
from functools import cache, lru_cache
from typing import NamedTuple

import regex

from goldbench.text import table

_TENS_FROM = 21
"""Position in the table from which the words stand for 30, 40 and so on."""
_ROUNDED = 0.02
"""The share by which amounts of one quantity may differ: a month has 30.4 days, a pound is 454 g."""
_DIGITS = regex.compile(r"\d+(?:[.,'\u00a0\u202f ]\d{3})*(?:[.,]\d+)?")
_CHINESE = regex.compile("[零〇一二三四五六七八九两兩十百千万萬]+")
_CHINESE_DIGITS = {digit: value for value, digit in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2, "兩": 2}
_CHINESE_UNITS = {"十": 10, "百": 100, "千": 1000, "万": 10_000, "萬": 10_000}


@cache
def _values() -> dict[str, int]:
    """Return the value of each number word of every language."""
    values: dict[str, int] = {}
    for listed in table("numbers").values():
        for position, word in enumerate(listed.split()):
            values[word] = position if position < _TENS_FROM else (position - _TENS_FROM + 3) * 10
    return values


@cache
def _number_word() -> regex.Pattern[str]:
    listed = sorted(map(regex.escape, _values()), key=lambda word: -len(word))
    return regex.compile(rf"(?<![\p{{L}}\p{{M}}])(?:{'|'.join(listed)})(?![\p{{L}}\p{{M}}])")


class Quantity(NamedTuple):
    """An amount in the base unit of what it measures; ``unit`` is the size of the unit in which it is written."""

    measure: str
    unit: float
    amount: float

    def equals(self, quantity: Quantity) -> bool:
        """Whether both are one quantity; amounts in different units may be rounded."""
        if self.measure != quantity.measure or self.unit == quantity.unit:
            return self == quantity
        return abs(self.amount - quantity.amount) <= _ROUNDED * max(self.amount, quantity.amount)


@cache
def _units() -> dict[str, tuple[str, float]]:
    """Return what each unit measures, and its size in the base unit."""
    return {
        word: ("second" if measure == "often" else measure, float(size))
        for measure, units in table("units").items()
        for names, size in units.items()
        for word in names.split()
    }


@cache
def _quantity() -> regex.Pattern[str]:
    by_length = sorted(_units(), key=lambda word: -len(word))
    units = [regex.escape(word) for word in by_length]
    often = [word for names in table("units")["often"] for word in names.split()]
    words = "|".join(sorted(map(regex.escape, _values()), key=lambda word: -len(word)))
    return regex.compile(
        rf"(?<![\p{{L}}\p{{N}}.,])(?:(?:(?P<number>{_DIGITS.pattern}|{words}|{_CHINESE.pattern})"
        rf"|every|each|per|jede\p{{L}}*|pro|chaque|par|cada|кажд\p{{L}}+|每|毎)[\s\p{{Zs}}-]?(?P<unit>{'|'.join(units)})"
        rf"|(?P<often>{'|'.join(often)}))(?:(?<=\p{{Han}})|(?![\p{{L}}\p{{M}}]))"
    )


@lru_cache(maxsize=256)
def quantities_in(text: str) -> frozenset[Quantity]:
    """Return the quantities of a text; «monthly» and «every month» are a month."""
    quantities = set()
    for match in _quantity().finditer(text.casefold()):
        measure, size = _units()[match["unit"] or match["often"]]
        for number in numbers_in(match["number"]) if match["number"] else ("1",):
            quantities.add(Quantity(measure, size, float(number) * size))
    return frozenset(quantities)


def number_of_word(word: str) -> int | None:
    """Return the value of a word that is a whole number in digits or a number word of any language, else None."""
    folded = word.casefold()
    if folded.isdecimal() and len(folded) <= 18:
        return int(folded)
    return _chinese_value(folded) if _CHINESE.fullmatch(folded) else _values().get(folded)


def number_words(value: int) -> list[str]:
    """Return how a number is written: in digits and in the words of every language that are listed."""
    chinese = "零一二三四五六七八九十"[value : value + 1] if value <= 10 else ""
    return [str(value), *(word for word, number in _values().items() if number == value), *chinese]


@lru_cache(maxsize=256)
def numbers_in(text: str) -> frozenset[str]:
    """Return the numbers of a text in plain digits, whether it writes them in digits or in words."""
    folded = text.casefold()
    digits = {_plain(match.group()) for match in _DIGITS.finditer(folded)}
    words = {str(_values()[match.group()]) for match in _number_word().finditer(folded)}
    chinese = {str(_chinese_value(match.group())) for match in _CHINESE.finditer(folded)}
    return frozenset(digits | words | chinese)


def _plain(number: str) -> str:
    """Return a number in plain digits, without marks between its thousands, and with a point before its decimals."""
    digits = "".join(str(unicodedata.decimal(sign, sign)) for sign in number)
    whole = regex.sub(r"[.,'\u00a0\u202f ](?=\d{3}(?:\D|$))", "", digits)
    return str(whole.replace(",", ".").lstrip("0") or "0")


def _chinese_value(numeral: str) -> int:
    """Return the value of a Chinese numeral; a row of digits without units is read digit by digit."""
    if not any(character in _CHINESE_UNITS for character in numeral):
        return int("".join(str(_CHINESE_DIGITS[character]) for character in numeral))
    total = 0
    section = 0
    digit = 0
    for character in numeral:
        if character in _CHINESE_DIGITS:
            digit = _CHINESE_DIGITS[character]
            continue
        unit = _CHINESE_UNITS[character]
        if unit == 10_000:
            total += (section + digit or 1) * unit
            section = 0
        else:
            section += (digit or 1) * unit
        digit = 0
    return total + section + digit
