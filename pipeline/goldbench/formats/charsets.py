"""Bytes to text: which encoding a file is in, and whether it is text at all.

Tried in this order: a byte order mark, strict UTF-8, and what ``chardet`` finds by statistics. Decoding is strict: a
file that does not decode is refused, and so is one in which lines in UTF-8 stand beside lines in another encoding. Only
byte order marks at the beginning of lines are removed, and line ends are read as LF.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from goldbench.formats.faults import Fault
from goldbench.formats.lines import MAX_LINE
from goldbench.formats.regular_files import open_regular

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_WIDER = {"ascii": "cp1252", "iso8859-1": "cp1252", "gb2312": "gb18030", "shift_jis": "cp932", "euc_kr": "cp949"}
"""Encodings that are read as their superset, because files that claim them hold its characters, too."""
REMEDY = "save it as UTF-8, or name its encoding as documents.encoding or in [documents.encodings]"
_START = 2**20
_DECLARATION = 4096
"""Bytes at the beginning in which NULs and escape sequences are looked for, and the charset that a page declares."""
_SAMPLE = 200_000
"""Bytes of lines beyond ASCII that ``chardet`` examines; more takes longer and changes nothing."""
_CERTAIN = 8
"""Characters of UTF-8 beyond ASCII that a line in a code page hardly ever seems to hold, and little else."""
_LINE_MARKS = re.compile("^\ufeff+", re.MULTILINE)
_CONTROL = re.compile(r"[\x00-\x06\x0e-\x1a\x1c-\x1f\x7f-\x84\x86-\x9f]")


@dataclass(frozen=True, slots=True)
class Charset:
    """An encoding by its Python name, and the confidence of ``chardet`` (0 to 1); 1 where nothing was guessed."""

    encoding: str
    confidence: float = 1.0


def decode(data: bytes, encoding: str | None = None) -> tuple[str, Charset]:
    """Return the text of a file's bytes, without byte order marks and with line ends as LF, and its encoding.

    Args:
        data: The bytes of the whole file.
        encoding: The encoding that the user gave; None recognises it.

    Raises:
        Fault: The bytes are binary data, mix encodings, or are not valid in the encoding given or recognised.
    """
    if data.startswith(b"%PDF-"):
        raise _not_text()
    charset = Charset(encoding) if encoding else _detect(data[:_START], data.splitlines())
    try:
        text = data.decode(charset.encoding)
    except UnicodeError as error:
        line = data.count(b"\n", 0, error.start) + 1 if isinstance(error, UnicodeDecodeError) else None
        source = "that is set for it" if encoding else "that most of it seems to be in"
        raise Fault(f"is not valid {charset.encoding}, the encoding {source}: {REMEDY}", line=line) from None
    # A few NULs or bells occur in real text; a program, a picture or noise is full of them.
    if len(_CONTROL.findall(text)) > min(max(8, len(text) // 20), len(text) // 2):
        raise _not_text()
    return _LINE_MARKS.sub("", text.replace("\r\n", "\n").replace("\r", "\n")), charset


def detect_file(path: Path) -> Charset:
    """Return the encoding of a file of lines, reading it line by line.

    Raises:
        Fault: The file is not text, or one line is longer than ``MAX_LINE`` bytes.
    """
    with open_regular(path) as file:
        start = file.read(_START)
        file.seek(0)
        return _detect(start, iter(lambda: file.readline(MAX_LINE + 1), b""))


def _detect(start: bytes, lines: Iterable[bytes]) -> Charset:
    """Return the encoding of a text by its first bytes and its lines; UTF-8 if some of its lines are, beyond chance."""
    for mark, encoding in _MARKS:
        if start.startswith(mark):
            return Charset(encoding)
    if b"\0" in start or b"\x1b$" in start:
        wide = _guess(start)
        if wide is not None and wide.encoding.startswith(("utf-16", "utf-32", "iso2022")):
            return wide
    # Plain lines would outweigh the others: one Russian line among a hundred counts as noise.
    sample = bytearray(start[:_DECLARATION] if start.lstrip().startswith(b"<") else b"")
    utf_8 = strays = 0
    for number, line in enumerate(lines, 1):
        if len(line) > MAX_LINE:
            raise Fault(f"is longer than {MAX_LINE:,} characters", line=number)
        if line.isascii():
            continue
        text = line.decode("utf-8", "replace")
        damaged = text.count("\ufffd")
        sound = len(text) - len(text.encode("ascii", "ignore")) - damaged
        if sound >= max(_CERTAIN, 3 * damaged):
            return Charset("utf-8")
        utf_8 += not damaged
        strays += damaged > 0
        if damaged and len(sample) < _SAMPLE:
            sample += line + b"\n"
    if utf_8 >= strays:
        return Charset("utf-8")
    guess = _guess(bytes(sample[:_SAMPLE]))
    if guess is None:
        raise _not_text()
    return guess


def _guess(sample: bytes) -> Charset | None:
    """Return what ``chardet`` finds, None for binary data."""
    from chardet import EncodingEra, detect  # slow to import, and seldom needed

    # Macintosh and mainframe code pages would win over Windows code pages on short texts.
    eras = EncodingEra.ALL & ~EncodingEra.MAINFRAME & ~EncodingEra.LEGACY_MAC
    result = detect(sample, encoding_era=eras, max_bytes=len(sample), compat_names=False)
    if result["encoding"] is None:
        return None
    encoding = _WIDER.get(result["encoding"], result["encoding"])
    if encoding in {"utf-16-le", "utf-16-be"}:  # the high byte of spaces and digits is NUL; Hindi is mistaken without
        encoding = "utf-16-be" if sample[::2].count(0) > sample[1::2].count(0) else "utf-16-le"
    return Charset(encoding, round(result["confidence"], 3))


def _not_text() -> Fault:
    return Fault("holds binary data, though its name says text")
