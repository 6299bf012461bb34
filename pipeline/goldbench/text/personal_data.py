r"""Personal data in a query of a user's: found by five rules that a person can read, none of them a guarantee.

Every rule looks at a few characters around each place, so a hostile line takes no longer than its length.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote

import regex

from goldbench.text.scripts import SPACELESS

RULES: Mapping[str, str] = {
    "secret": "a URL with a user or password before its @, or with a token, key, session or password in it",
    "mail": "a mail address, also with (at) or [at] in the place of @",
    "account": "an account number that looks like an IBAN",
    "number": "a number of 6 digits or more, also with spaces or marks between the digits, in any script",
    "name": "a name of the list that was given",
}
"""The rules by their names, in the order in which they are tried."""

_LONG_NUMBER = 6
"""Digits of the shortest number that counts as personal data."""

_ACCENT = regex.compile("[\u0300-\u036f]")
_APOSTROPHE = regex.compile("['’‘ʼ`´]")
_HIDDEN = regex.compile(r"\p{Cf}+")
_SECRET = regex.compile(
    r"://[^\s/?#@]*+@"
    r"|[?&#;](?:[\p{L}_.-]{0,30}(?:(?:token|secret|passw(?:or)?d|pwd|signature|credential)[\p{L}_.-]{0,30}|key|auth)"
    r"|(?:php)?sess(?:ion)?[_-]?(?:id|key)?|sid|sig|pin|otp|code|jwt)=[^\s&#;]"
    r"|(?<!\S)(?:api[_-]?key|(?:access[_-]?)?token|passw(?:or)?d|pwd|secret)=[^\s&#;]{3}"
    r"|\beyj[\w-]{8}|\b(?:bearer|basic) (?=[\w+/.=-]{0,40}\d)[\w+/.=-]{16}"
)
_MAIL = regex.compile(
    r"[^\s@]\s?@\s?[\p{L}\p{N}][^\s@]*?\.\s?\p{L}|[\p{L}\p{N}]@(?:\[[\p{N}a-f]|\p{L}{3})|[^\s@]\s?[\[({<]\s?(?:at|@)\s?[\])}>]\s?[\p{L}\p{N}]"
)
_ACCOUNT = regex.compile(r"(?<![\p{L}\p{N}])[a-z]{2}\d{2}(?:[ -]?[a-z0-9]{4}){2,7}")
_SEPARATORS = r"[\s\p{M}.,:;/\\()\[\]'’´`·•_|*#+\p{Pd}−]{0,3}"
_NUMBER = regex.compile(rf"\p{{Nd}}(?:{_SEPARATORS}\p{{Nd}}){{{_LONG_NUMBER - 1}}}|[〇零一二三四五六七八九]{{6}}")
_RUN = regex.compile(r"[\p{L}\p{M}\p{N}]+")
_UNSPACED = regex.compile("[" + "".join(rf"\p{{Script={name}}}" for name in sorted(SPACELESS)) + "]")


@dataclass(frozen=True, slots=True)
class PersonNames:
    """Names to look for: the words of each by its first word, and those of scripts without spaces as they are."""

    by_first: Mapping[str, tuple[tuple[str, ...], ...]] = field(default_factory=dict)
    unspaced: tuple[str, ...] = ()

    @classmethod
    def of(cls, names: Iterable[str]) -> PersonNames:
        """Return the names of a list, one an entry; entries without a letter are left out."""
        by_word: dict[str, dict[tuple[str, ...], None]] = {}
        unspaced: dict[str, None] = {}
        for name in names:
            text = _plain(name)
            if _UNSPACED.search(text):
                unspaced["".join(_RUN.findall(text))] = None
                continue
            for words in map(tuple, _readings(text)):
                for order in (words, (*words[-1:], *words[:-1])) if words else ():
                    by_word.setdefault(order[0], {})[order] = None
        return cls({first: tuple(rest) for first, rest in by_word.items()}, tuple(unspaced))

    def stands_in(self, plain: str) -> bool:
        """Return whether a name stands in a text as whole words; in scripts without spaces, anywhere.

        Accents and apostrophes do not count, and the last word of a name may stand first.
        """
        for words in _readings(plain):
            for position, word in enumerate(words):
                if any(tuple(words[position : position + len(name)]) == name for name in self.by_first.get(word, ())):
                    return True
        joined = "".join(_RUN.findall(plain)) if self.unspaced else ""
        return any(name in joined for name in self.unspaced)


def personal_data(text: str, names: PersonNames | None = None) -> str | None:
    """Return the name of the first rule of ``RULES`` that a query meets, None if it meets none.

    The query is also read with its percent-encoded characters decoded. The rules find what looks like personal data; a
    name that is not in the list, an address in words or a number of five digits goes through.

    Args:
        text: A query.
        names: Names of people to look for, in any case and width.
    """
    for reading in dict.fromkeys((text, unquote(text), unquote(unquote(text)))):
        if (rule := _rule_met(_plain(reading), names)) is not None:
            return rule
    return None


def _rule_met(plain: str, names: PersonNames | None) -> str | None:
    if _SECRET.search(plain):
        return "secret"
    if _MAIL.search(plain):
        return "mail"
    if any(sum(map(str.isdigit, match.group())) >= _LONG_NUMBER for match in _ACCOUNT.finditer(plain)):
        return "account"
    if _NUMBER.search(plain):
        return "number"
    return "name" if names is not None and names.stands_in(plain) else None


def _readings(plain: str) -> tuple[list[str], list[str]]:
    """Return the words of a text without accents: as they are, and with apostrophes left out."""
    bare = _ACCENT.sub("", unicodedata.normalize("NFD", plain))
    return _RUN.findall(bare), _RUN.findall(_APOSTROPHE.sub("", bare))


def _plain(text: str) -> str:
    """Return the text in one width and case, without hidden characters."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", _HIDDEN.sub("", text)).casefold())
