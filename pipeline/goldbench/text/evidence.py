"""A quotation found again in the text it was taken from, in the text's own words."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile

import regex
from rapidfuzz import fuzz

from goldbench.text.numbers import number_of_word, number_words
from goldbench.text.words import word_spans

LIKENESS = 0.9
"""Lowest share of common characters, 0 to 1 (``partial_ratio``), at which a changed quotation is accepted."""

_SHORTEST_CHANGED = 12
"""Fewest folded characters of a quotation that may have been changed."""

_WHOLE_TEXT = 20_000
"""Characters of a text beyond which it is compared only around unchanged pieces of the quotation."""

_PIECE = 8
_PLACES = 64
"""Characters of an unchanged piece, and most places that are compared."""
_CLUSTER = regex.compile(r"\X")
_IGNORED = regex.compile(r"[\s\p{Cf}\p{Cc}*_`\\]")  # white space, invisible marks, Markdown emphasis
_QUOTE = regex.compile("[\"'`´‘’‚‛“”„‟‹›«»「」『』〝〞〟＂＇]")
_DASH = regex.compile(r"[\p{Pd}−‐⁃]")
_WORDLIKE = regex.compile(r"[\p{L}\p{N}]")
_SURROUNDINGS = 200
_FEWEST_AROUND = 20
"""Characters on each side of a quotation that are compared, and the fewest that tell its place among several."""
_LONGEST_WITH_NUMBERS = 500
_GAP = r"[^\p{L}\p{N}]{0,9}"
"""Characters of a quotation whose numbers may be written otherwise, and what may stand between two of its words."""
_LONGEST_CUT_WORD = 40
"""Characters by which a quotation is widened at most to complete a word."""


@dataclass(frozen=True, slots=True)
class _FoldedText:
    """A text as compared. Character ``i`` of ``text`` came from ``starts[i]`` to ``ends[i]`` of the original."""

    text: str
    starts: list[int]
    ends: list[int]


def find_quote(quote: str, text: str) -> tuple[int, int] | None:
    """Return the start and end of a quotation in a text, widened to whole words; None if it is not there.

    The quotation is searched for as it is, then without regard to case, white space, kinds of quotation marks and
    dashes, and Unicode composition, then with numbers in digits or in words, then by the best alignment with at least
    nine characters in ten in common. Of several places, the first that cuts no word is returned. A quotation without a
    letter or a digit is not found.
    """
    wanted = quote.strip()
    if not _WORDLIKE.search(wanted):
        return None
    exact = _first(wanted, text)
    if exact:
        return _whole_words(text, *exact)
    needle = _fold(wanted)
    if not needle.text:
        return None
    folded = _fold(text)
    start = folded.text.find(needle.text)
    if start >= 0:
        return _original(text, folded, start, start + len(needle.text))
    reworded = _with_other_numbers(wanted, text)
    if reworded:
        return _whole_words(text, *reworded)
    aligned = _align(needle.text, folded.text)
    return _original(text, folded, *aligned) if aligned else None


@dataclass(frozen=True, slots=True, order=True)
class StretchMatch:
    """Where a stretch stands in a changed text; of two places, the greater one has more unchanged surroundings.

    ``alike`` is the number of unchanged characters around it, 0 to 400; ``sure`` means that they tell this place from
    others.
    """

    alike: int
    sure: bool
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Stretch:
    """A stretch of a text, with what stands before and after it in one line, as it is looked for in a changed text."""

    quote: str
    before: str
    after: str

    @classmethod
    def of(cls, text: str, start: int, end: int) -> Stretch:
        """Return a stretch of a text.

        Args:
            text: The text.
            start: First character of the stretch, from 0.
            end: Character after the stretch.
        """
        return cls(text[start:end], *_around(text, start, end))

    def places(self, changed: str) -> list[StretchMatch]:
        """Return all places of the stretch in a text, unchanged but for white space and Unicode composition."""
        return [self._compared(changed, *span) for span in _places(self.quote, changed)]

    def _compared(self, changed: str, start: int, end: int) -> StretchMatch:
        left, right = _around(changed, start, end)
        same = _common(self.before[::-1], left[::-1]), _common(self.after, right)
        whole = same == (len(self.before), len(self.after)) == (len(left), len(right))
        return StretchMatch(sum(same), whole or max(same) >= _FEWEST_AROUND, start, end)


def _places(quote: str, text: str) -> list[tuple[int, int]]:
    """Return all places of a quotation; only if it is nowhere verbatim, those with other white space or composition."""
    parts = quote.split()
    if not parts:
        return []
    places = [match.span() for match in regex.finditer(regex.escape(quote), text, overlapped=True)]
    for form in (quote, *(unicodedata.normalize(form, quote) for form in ("NFC", "NFD"))):
        if places:
            break
        pattern = r"\s+".join(map(regex.escape, form.split()))
        places = [match.span() for match in regex.finditer(pattern, text, overlapped=True)]
    return places


def _around(text: str, start: int, end: int) -> tuple[str, str]:
    """Return what stands before and after a stretch, in one line."""
    before = text[max(0, start - 2 * _SURROUNDINGS) : start]
    after = text[end : end + 2 * _SURROUNDINGS]
    return " ".join(before.split())[-_SURROUNDINGS:], " ".join(after.split())[:_SURROUNDINGS]


def _common(before: str, after: str) -> int:
    """Return how many characters two texts have in common from their beginning."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, after, strict=False)))


def _first(wanted: str, text: str) -> tuple[int, int] | None:
    earliest = -1
    for _ in range(_PLACES):
        position = text.find(wanted, earliest + 1)
        if position < 0:
            break
        if _whole_words(text, position, position + len(wanted)) == (position, position + len(wanted)):
            return position, position + len(wanted)
        earliest = position
    first = text.find(wanted)
    return (first, first + len(wanted)) if first >= 0 else None


def _with_other_numbers(wanted: str, text: str) -> tuple[int, int] | None:
    """Return where a quotation stands if its numbers may be written otherwise, None if it has none or is not there."""
    if len(wanted) > _LONGEST_WITH_NUMBERS:
        return None
    parts = [wanted[start:end] for start, end in word_spans(wanted)]
    numbers = [number_of_word(part) for part in parts]
    if all(number is None for number in numbers):
        return None
    patterns = (
        regex.escape(part) if number is None else f"(?:{'|'.join(map(regex.escape, number_words(number)))})"
        for part, number in zip(parts, numbers, strict=True)
    )
    match = regex.search(rf"(?<![\p{{L}}\p{{N}}]){_GAP.join(patterns)}(?![\p{{L}}\p{{N}}])", text, regex.IGNORECASE)
    return match.span() if match else None


def _fold(text: str) -> _FoldedText:
    pieces: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for cluster in _CLUSTER.finditer(text):
        piece = _fold_cluster(cluster.group()) if len(cluster.group()) < 20 else _fold_long(cluster.group())
        pieces.append(piece)
        starts += [cluster.start()] * len(piece)
        ends += [cluster.end()] * len(piece)
    return _FoldedText("".join(pieces), starts, ends)


def _fold_long(cluster: str) -> str:
    normal = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", cluster).casefold())
    return str(_QUOTE.sub('"', _DASH.sub("-", _IGNORED.sub("", normal))))


_fold_cluster = lru_cache(maxsize=8192)(_fold_long)


def _align(needle: str, text: str) -> tuple[int, int] | None:
    if len(needle) < _SHORTEST_CHANGED or not text:
        return None
    if len(needle) >= len(text):
        return (0, len(text)) if fuzz.ratio(needle, text) >= 100 * LIKENESS else None
    best: tuple[float, int, int] | None = None
    for low, high in _regions(needle, text):
        alignment = fuzz.partial_ratio_alignment(needle, text[low:high], score_cutoff=100 * LIKENESS)
        if alignment and (best is None or alignment.score > best[0]):
            best = (alignment.score, low + alignment.dest_start, low + alignment.dest_end)
    return best[1:] if best else None


def _regions(needle: str, text: str) -> list[tuple[int, int]]:
    """Return the parts to compare: the whole text, or in a long text those around unchanged pieces of the quotation."""
    if len(text) <= _WHOLE_TEXT:
        return [(0, len(text))]
    places: set[tuple[int, int]] = set()
    for offset in range(0, len(needle) - _PIECE + 1, _PIECE):
        piece = needle[offset : offset + _PIECE]
        position = text.find(piece)
        while position >= 0 and len(places) < _PLACES:
            low = max(0, position - 2 * offset - _PIECE)
            places.add((low, min(len(text), position + 2 * (len(needle) - offset) + _PIECE)))
            position = text.find(piece, position + len(needle))
    return sorted(places)


def _original(text: str, folded: _FoldedText, start: int, end: int) -> tuple[int, int] | None:
    if end <= start:
        return None
    return _whole_words(text, folded.starts[start], folded.ends[end - 1])


def _whole_words(text: str, start: int, end: int) -> tuple[int, int]:
    """Widen a stretch to the words it cuts, unless a word is very long, and trim its white space."""
    low = max(0, start - _LONGEST_CUT_WORD)
    high = min(len(text), end + _LONGEST_CUT_WORD)
    for word_start, word_end in word_spans(text[low:high]):
        word_start, word_end = low + word_start, low + word_end  # noqa: PLW2901 (offsets of the whole text)
        if (low < word_start or low == 0) and word_start < start < word_end:
            start = word_start
        if word_start < end < word_end and (word_end < high or high == len(text)):
            end = word_end
    piece = text[start:end]
    return start + len(piece) - len(piece.lstrip()), end - len(piece) + len(piece.rstrip())
