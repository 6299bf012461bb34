"""Text whose lines are in different encodings: most in UTF-8, others in a code page.

Whether a text is mixed is decided by the runs of bytes above 127 that are valid UTF-8. In a text that is wholly in one
code page few are, and by chance: how few, the other runs of the text tell. Runs beside letters of ASCII speak for
UTF-8 if the others stand alone, as Cyrillic words do. Each different run counts once, because one word may stand on
every line. Lines that may be UTF-8, but are too few to decide, are told as a doubt.

A line that is not UTF-8 is a *stray*: narrow, if its bytes above 127 stand alone between letters of ASCII as in Western
Europe, or wide, if they make whole words as in Russian. Each sort is guessed for itself. A line in which three quarters
of the bytes above 127 are valid UTF-8 is a damaged one instead: what is not valid there is read as U+FFFD.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass, field

from goldbench.formats.encoding_guess import confidence, evidence, guessed, reads
from goldbench.text.display import amount

_HIGH = re.compile(rb"[\x80-\xff]+")
_AMID = re.compile(rb"[A-Za-z][\x80-\xff]+|(?<![\x80-\xff])[\x80-\xff]++(?=[A-Za-z])")
_CHARACTER = re.compile(
    rb"[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]|[\xe1-\xec\xee\xef][\x80-\xbf]{2}|\xed[\x80-\x9f][\x80-\xbf]"
    rb"|\xf0[\x90-\xbf][\x80-\xbf]{2}|[\xf1-\xf3][\x80-\xbf]{3}|\xf4[\x80-\x8f][\x80-\xbf]{2}"
)
"""A character of UTF-8 beyond ASCII."""
_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_SINGLE, _PAIRS = 0.001, 0.15
"""How often two bytes of a code page are valid UTF-8 by chance: accented letters, pairs of Chinese bytes."""
_AMIDST, _STRAY = 0.3, ("narrow", "wide")
_CLEAR = 5.0
"""The logarithm of how many times likelier a mixture must be to be read as one: 150 times."""
_DOUBTFUL = 2.0
"""The same to be told as a doubt: 7 times."""
_RUNS, _LONGEST = 10_000, 8
_SAMPLE = 200_000
"""Most bytes of one line, and of all stray lines of a sort, that are examined."""
_CONTEXT = 50
"""Bytes before the first one above 127 with which the examined part of a longer line begins."""
_SHORT = 8
"""Bytes above 127 below which a narrow stray line is taken for cp1252, the commonest code page."""


@dataclass(frozen=True, slots=True)
class LineEncodings:
    """How the lines of a mixed text are read: UTF-8, the others in ``narrow`` or ``wide``, None if there are none."""

    narrow: str | None
    wide: str | None

    @property
    def names(self) -> tuple[str, ...]:
        """The encodings, UTF-8 first."""
        return tuple(dict.fromkeys(name for name in ("utf-8", self.narrow, self.wide) if name))

    def decode(self, line: bytes) -> str:
        """Return the text of a line.

        Raises:
            UnicodeDecodeError: The line is in none of the encodings.
        """
        try:
            return line.decode("utf-8")
        except UnicodeDecodeError:
            sort = _sort(line)
        if sort == "damaged":
            return line.decode("utf-8", "replace")
        return line.decode((self.narrow if sort == "narrow" else self.wide) or "utf-8")


@dataclass(slots=True)
class Mixture:
    """The lines of a text seen so far, sorted by what they may be; memory is bounded for a text of any size."""

    runs: dict[str, set[bytes]] = field(default_factory=lambda: {"valid": set(), "damaged": set(), "invalid": set()})
    """Different runs of bytes above 127: of UTF-8 lines, characters of damaged lines, runs of stray lines."""
    amid: dict[str, set[bytes]] = field(default_factory=lambda: {"valid": set(), "invalid": set()})
    """Those runs beside a letter of ASCII."""
    utf_8: int = 0
    """Lines with bytes above 127 that are UTF-8."""
    strays: dict[str, list[bytes]] = field(default_factory=lambda: {"narrow": [], "wide": [], "damaged": []})
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(("narrow", "wide", "damaged"), 0))
    _sizes: dict[str, int] = field(default_factory=lambda: dict.fromkeys(("narrow", "wide", "damaged"), 0))

    def add(self, line: bytes) -> None:
        """Take the next line."""
        if line.isascii():
            return
        try:
            line.decode("utf-8")
        except UnicodeDecodeError:
            sort = _sort(line)
            self.counts[sort] += 1
            if self._sizes[sort] < _SAMPLE:
                self.strays[sort].append(_sample(line))
                self._sizes[sort] += len(line)
        else:
            sort = "valid"
            self.utf_8 += 1
        sample, runs = _sample(line), self.runs["invalid" if sort in _STRAY else sort]
        if len(runs) < _RUNS:
            runs.update((_CHARACTER if sort == "damaged" else _HIGH).findall(sample))
        if sort != "damaged" and len(amid := self.amid["invalid" if sort in _STRAY else sort]) < _RUNS:
            amid.update(run.strip(_LETTERS) for run in _AMID.findall(sample))

    def encodings(self) -> LineEncodings | None:
        """Return how the lines are read, None if the text is not a mixture with UTF-8."""
        if not (self.runs["valid"] or self.runs["damaged"]) or self._odds() < _CLEAR:
            return None
        found = {sort: _encoding(self.strays[sort], sort) for sort in ("narrow", "wide")}
        if any(self.counts[sort] and found[sort] is None for sort in found):
            return None
        return LineEncodings(**found)

    def doubt(self) -> str:
        """Return in words that some lines may be UTF-8, for a text that is not read as a mixture; "" if none may be."""
        lines = self.utf_8 + self.counts["damaged"]
        return f"{amount(lines, 'line')} of it may be UTF-8" if lines and self._odds() > _DOUBTFUL else ""

    def confidence(self) -> float:
        """Return how sure the encodings of the stray lines are, as of a file in one of them."""
        counts = [evidence(b"\n".join(self.strays[sort])) for sort in ("narrow", "wide") if self.counts[sort]]
        return min(map(confidence, counts), default=1.0)

    def remark(self, encodings: LineEncodings) -> str:
        """Return how many lines are not UTF-8, in words."""
        counts: Counter[str] = Counter()
        for sort, name in (("narrow", encodings.narrow), ("wide", encodings.wide)):
            counts[name or ""] += self.counts[sort]
        parts = [f"{amount(count, 'line')} in {name}" for name, count in sorted(counts.items()) if count]
        if damaged := self.counts["damaged"]:
            parts.append(f"{amount(damaged, 'line')} with damaged characters, shown as U+FFFD")
        return ", ".join(parts)

    def _odds(self) -> float:
        """Return the logarithm of how many times likelier a mixture is than a text that is wholly in a code page."""
        valid, damaged, invalid = self.runs["valid"], self.runs["damaged"] - self.runs["valid"], self.runs["invalid"]
        by_chance = _SINGLE if 2 * sum(map(len, invalid)) < 3 * len(invalid) else self._pairs()
        odds = -math.log(by_chance) * sum(min(_LONGEST, len(run) / 2) for run in valid)
        odds -= math.log(max(by_chance, _PAIRS)) * sum(min(_LONGEST, len(run) / 2) for run in damaged)
        odds -= math.log((_AMIDST + len(self.amid["invalid"])) / (1 + len(invalid))) * len(self.amid["valid"])
        # The sample of a damaged line may hold none of its characters; each count is at least 1.
        one = max(1, min(len(valid), self.utf_8) + len(damaged))
        other = max(1, min(len(invalid) + self.counts["damaged"], sum(self.counts.values())))
        share = other / (one + other)
        return odds + one * math.log(1 - share) + other * math.log(share)

    def _pairs(self) -> float:
        """Return how often runs of the code page begin with valid UTF-8, as long as few are seen near `_PAIRS`."""
        runs = [run for run in self.runs["invalid"] if len(run) >= 4]
        return (_PAIRS + sum(bool(_CHARACTER.match(run)) for run in runs)) / (1 + len(runs))


def _sample(line: bytes) -> bytes:
    """Return the part of a line that is examined: of a long one, from shortly before its first byte above 127."""
    first = _HIGH.search(line) if len(line) > _SAMPLE else None
    return line[max(0, first.start() - _CONTEXT) :][:_SAMPLE] if first else line


def _sort(line: bytes) -> str:
    characters = sum(map(len, _CHARACTER.findall(line)))
    high = _HIGH.findall(line)
    whole = sum(map(len, high))
    if characters >= 4 and 4 * characters >= 3 * whole:
        return "damaged"
    return "narrow" if whole <= 2 * len(high) else "wide"


def _encoding(lines: list[bytes], sort: str) -> str | None:
    sample = b"\n".join(lines)
    if not sample:
        return None
    if sort == "narrow" and evidence(sample) < _SHORT and reads(sample, "cp1252"):
        return "cp1252"
    guess = guessed(sample, 0)
    if guess is None or guess.encoding.startswith(("utf-16", "utf-32")):  # line ends are not theirs
        return None
    return guess.encoding if all(reads(line, guess.encoding) for line in lines) else None
