"""Guesses the encoding of bytes that are neither UTF-8 nor marked, and how sure the guess is.

Tried in this order: UTF-16 and UTF-32 by their NUL bytes; the charset that a page declares, unless its bytes clearly
speak against it; what ``chardet`` finds by statistics over some 80 encodings. Macintosh and mainframe code pages are
left out, because they win over Windows code pages on short texts.

The confidence is (n + 1) / (n + 2), where n counts the bytes above 127 in different words: the more of them, the
rarer a wrong guess. The scores of ``chardet`` do not tell that: they are as high for three letters as for a book. Only
where they are very low, and another encoding is half as likely, is the guess no better than one without any such byte.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from itertools import islice

from goldbench.text.scripts import script_of

_WIDER = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
}
"""Encodings that are read as their superset, because files that claim them hold its characters, too."""
_RARE = {"kz1048": "cp1251", "ptcp154": "cp1251", "koi8-t": "koi8-r", "shift_jis_2004": "cp932"}
"""Encodings before which another is taken that the same bytes speak for as much: Ukrainian is no Kazakh."""
_CJK = frozenset({"Han", "Hiragana", "Katakana"})
_NO_TEXT = frozenset({"Cn", "Co", "Cs", "Cc"})
_NO_LETTERS = bytes(byte for byte in range(256) if not (byte == 32 or (byte < 128 and chr(byte).isalpha())))
_FEWEST_HAN = 8
_FEW_BYTES = 32
"""Bytes below which text in UTF-16 may well look like letters of ASCII, or like kana of Shift JIS."""
_ALIKE, _WEAK, _NOTHING = 0.02, 0.15, 0.05
_WINDOW = 200_000
_PIECE = re.compile(rb"[\r\n]+|(?<=[.!?>;])(?= )")  # at bytes that are part of no other character
_HIGH = re.compile(rb"[\x80-\xff]+")
_DECLARED = re.compile(rb"""(?:charset|encoding)\s{0,9}=\s{0,9}["']?([A-Za-z0-9][\w.:-]{1,40})""")
_ENOUGH = 20
"""Fewest bytes above 127 with which statistics contradict a declaration."""


_BEYOND_ASCII = re.compile("[^\x00-\x7f]")
_LOOKED_AT, _FEWEST_ODD = 20_000, 2
_QUOTES = frozenset("„‚“”«»")  # but not the apostrophes, which stand within words
_JOINING = frozenset("×→®™")
"""Signs that stand between letters in texts that are read rightly: ``A→B``."""


@dataclass(frozen=True, slots=True)
class Guess:
    """An encoding by its Python name, how sure it is, and the charset that the page declares instead, or None."""

    encoding: str
    confidence: float
    contradicts: str | None = None


def guessed(data: bytes, position: int) -> Guess | None:
    """Return the encoding of data that is not UTF-8 from a position on; None if none is recognised.

    Args:
        data: The bytes of a text, or many of them.
        position: The first byte that is not UTF-8.
    """
    if by_nul := by_nul_bytes(data):
        return Guess(by_nul, confidence(data[:_WINDOW].count(0)))
    telling = _telling(data, position)
    scores = _scores(telling) or _scores(data[:_WINDOW])
    readable = [name for name in scores if reads(data, name)]
    declared = declared_charset(data)
    sure = confidence(0 if _are_weak(data, telling, scores) else evidence(telling))
    told = declared if declared is not None and reads(data, declared) else None
    if told is None and not readable:
        # The names are in order of their scores; reading says what is wrong with the first.
        first = next(iter(scores), None)
        return None if first is None else Guess(first, sure, declared)
    best = readable[0] if readable else None
    if told is None or (best is not None and _speak_against(telling, told, best, scores)):
        assert best is not None
        return Guess(best, sure, declared)
    return Guess(told, sure)


def _are_weak(data: bytes, telling: bytes, scores: dict[str, float]) -> bool:
    """Whether scores are low, and another encoding is half as likely that reads the bytes as other characters."""
    names = [name for name in scores if reads(data, name)]
    best = scores[names[0]] if names else 1.0
    if best >= _WEAK or names[0] == "cp1252":  # the commonest by far; its texts have low scores
        return False
    near = [name for name in names if 2 * scores[name] > best or best < _NOTHING]
    return len({telling.decode(name, "replace") for name in near}) > 1


def _speak_against(telling: bytes, told: str, best: str, scores: dict[str, float]) -> bool:
    """Whether the bytes say clearly that a declared encoding is not theirs."""
    if evidence(telling) < _ENOUGH or 2 * scores.get(told, 0.0) > scores[best]:
        return False
    return telling.decode(told, "replace") != telling.decode(best, "replace")


def _scores(sample: bytes) -> dict[str, float]:
    """Return the encodings that a sample may be in with their scores, the likeliest first, whatever it declares."""
    from chardet import EncodingEra, detect, detect_all  # slow to import, and seldom needed

    eras = EncodingEra.ALL & ~EncodingEra.MAINFRAME & ~EncodingEra.LEGACY_MAC
    sample = _DECLARED.sub(b"", sample)
    first = detect(sample, encoding_era=eras, max_bytes=max(1, len(sample)), compat_names=False)
    every = detect_all(sample, encoding_era=eras, max_bytes=max(1, len(sample)), compat_names=False)
    found: dict[str, float] = {}
    for one in (first, *every):
        if name := one["encoding"]:
            found.setdefault(_WIDER.get(name, name), one["confidence"])
    best = next(iter(found), "")
    common = _RARE.get(best, "")
    is_alike = common in found and found[common] >= found[best] - _ALIKE
    return {common: found[common], **found} if is_alike else found


def confidence(count: int) -> float:
    """Return how sure a guess is by the number of bytes that speak for it: from 0.5 towards 1."""
    return round((count + 1) / (count + 2), 3)


def evidence(sample: bytes) -> int:
    """Return the number of bytes above 127 in different words of a sample."""
    return sum(len(run) for word in set(sample.split()) for run in _HIGH.findall(word))


def reads(data: bytes, encoding: str) -> bool:
    """Return whether bytes are valid in an encoding, but for a character that their end may cut."""
    try:
        codecs.getincrementaldecoder(encoding)("strict").decode(data)
    except (UnicodeError, LookupError):
        return False
    return True


def reads_oddly(text: str) -> bool:
    """Return whether a text, or one of its lines, looks as if it were read in the wrong code page.

    Of its characters beyond ASCII one in ten or more is a capital letter after a small one, a sign between letters, or
    a letter of Greek or Cyrillic between those of ASCII, as in ``ÉtÉ``, ``d┌part`` and ``Wдchter``; in texts that are
    read rightly hardly any is.
    """
    odd, beyond = Counter[int](), Counter[int]()
    line = last = 0
    for found in islice(_BEYOND_ASCII.finditer(text), _LOOKED_AT):
        place = found.start()
        line += text.count("\n", last, place)
        last = place
        beyond[line] += 1
        odd[line] += _is_odd(found[0], text[place - 1 : place], text[place + 1 : place + 2])
    every = odd.total() >= _FEWEST_ODD and 10 * odd.total() >= beyond.total()
    return every or any(count >= _FEWEST_ODD and 10 * count >= beyond[line] for line, count in odd.items())


def _is_odd(character: str, before: str, after: str) -> bool:
    if character.isupper() and before.islower():
        return True
    if "\u0370" <= character <= "\u052f":
        return before.isascii() and before.isalpha() and after.isascii() and after.isalpha()
    if character in _QUOTES or (unicodedata.category(character)[0] == "S" and character not in _JOINING):
        return _has_case(before) and _has_case(after)  # Chinese puts no space before a quotation mark
    return False


def _has_case(letter: str) -> bool:
    return letter.lower() != letter.upper()


def declared_charset(data: bytes) -> str | None:
    """Return the Python name of the charset that a page of HTML or XML declares; None without one that is known."""
    start = data[:4096]
    if not start.lstrip().startswith(b"<"):
        return None
    found = _DECLARED.search(start)
    if found is None:
        return None
    try:
        name = codecs.lookup(found[1].decode("ascii").lower().replace("x-sjis", "cp932")).name
    except LookupError:
        return None
    # The page could not be read so far if it were in UTF-16.
    return None if name.startswith(("utf-16", "utf-32")) else _WIDER.get(name, name)


def by_escapes(data: bytes) -> str | None:
    """Return ISO 2022, if bytes without any above 127 hold its escape sequences."""
    if b"\x1b$" not in data:
        return None
    from chardet import detect

    found = detect(data[:_WINDOW], compat_names=False)["encoding"]
    return found if found and found.startswith("iso2022") else None


def by_nul_bytes(data: bytes) -> str | None:
    """Return UTF-16 or UTF-32 without a mark, if the NUL bytes of the beginning show its byte order."""
    sample = data[: min(len(data), _WINDOW) // 4 * 4] if len(data) > 3 else data
    nuls = sample.count(0)
    if nuls < 4 or 100 * nuls < len(sample):
        return None
    for encoding, step, high in (("utf-32-le", 4, 3), ("utf-32-be", 4, 0), ("utf-16-le", 2, 1), ("utf-16-be", 2, 0)):
        if step == 2 and 10 * sample[high::2].count(0) < 9 * nuls:
            continue
        try:
            text = codecs.getincrementaldecoder(encoding)("strict").decode(sample)
        except UnicodeDecodeError:
            continue
        if not any(unicodedata.category(char) in _NO_TEXT for char in set(text) - set("\t\r\n\f")):
            return encoding
    return None


def is_utf_16(data: bytes, encoding: str) -> bool:
    """Return whether bytes without any NUL look like text in an encoding of two bytes, as a mark before them says.

    Such text is in one script (Chinese, Japanese, Thai …) and holds no ASCII. Other bytes read in pairs give private
    and unassigned characters, a mixture of scripts, or, if they are Latin text, pairs of letters of ASCII.

    Args:
        data: The bytes after the mark.
        encoding: ``utf-16-le`` or ``utf-16-be``.
    """
    sample = data[: _WINDOW // 2 * 2]
    is_short = len(sample) < _FEW_BYTES
    if 10 * len(sample.translate(None, _NO_LETTERS)) > 7 * len(sample) and not (is_short and not sample.isascii()):
        return False
    text = sample.decode(encoding, "ignore")
    rows = Counter(ord(char) >> 8 for char in set(text) if "\u4e00" <= char <= "\u9fff")
    # Kana of Shift JIS begin with one byte.
    if not is_short and rows.total() >= _FEWEST_HAN and 3 * max(rows.values()) > rows.total():
        return False
    counts = Counter("private" if unicodedata.category(char) in _NO_TEXT else _family(char) for char in text)
    del counts["common"]
    return not counts or (10 * max(counts.values()) >= 9 * counts.total() and 50 * counts["private"] <= len(text))


def _family(character: str) -> str:
    if unicodedata.category(character)[0] not in "LM":
        return "common"
    script = script_of(character)
    return "CJK" if script in _CJK else script or "common"


def _telling(data: bytes, position: int) -> bytes:
    """Return what tells encodings apart: pieces with other bytes than ASCII.

    Without the plain ASCII lines, which outweigh the others: one Russian line among a hundred counts as noise.
    """
    start = max(data.rfind(b"\n", 0, position), position - 1000) + 1
    pieces = [piece for piece in _PIECE.split(data[start : start + 20 * _WINDOW]) if not piece.isascii()]
    return b"\n".join(pieces)[: 2 * _WINDOW]
