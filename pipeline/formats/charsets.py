"""Bytes to text: which encoding a file is in, and whether it is text at all.

Tried in this order: a byte order mark; UTF-16 and UTF-32 without a mark, recognised by their NUL bytes; strict UTF-8;
what ``chardet`` recognises (the charset an HTML page declares, then statistics over some 80 encodings; Macintosh and
mainframe code pages are left out, because they win over Windows code pages on short texts). Decoding is strict: only
the byte order mark is removed, no other character is replaced or dropped, and line ends are read as LF.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from pathlib import Path
from typing import BinaryIO

from chardet import EncodingEra, detect

from goldbench.pipeline.formats.faults import Fault
from goldbench.pipeline.formats.lines import MAX_LINE
from goldbench.pipeline.formats.regular_files import open_regular, read_whole

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_WIDER = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
}
"""Encodings that are read as their superset, because files that claim them hold its characters, too."""
_ERAS = EncodingEra.ALL & ~EncodingEra.MAINFRAME & ~EncodingEra.LEGACY_MAC
_WINDOW = 200_000
_PIECE = re.compile(rb"[\r\n]+|(?<=[.!?>;])(?= )")  # at bytes that are part of no other character
_CONTROL = re.compile(r"[\x00-\x06\x0e-\x1a\x1c-\x1f\x7f-\x84\x86-\x9f]")


def read_text(path: Path, *, megabytes: int) -> str:
    """Return the text of a file; `decode` and `regular_files.read_whole` say what is refused."""
    return decode(read_whole(path, megabytes=megabytes))


def decode(data: bytes) -> str:
    """Return the text of a file's bytes, its byte order mark removed and its line ends read as LF.

    Raises:
        Fault: The bytes are not text in any encoding that is recognised.
    """
    text, sure = _decoded(data)
    controls = len(_CONTROL.findall(text))
    # A few NULs or bells occur in real text; a program, a picture or noise is full of them.
    bearable = max(8, len(text) // 20) if sure else len(text) // 100
    if data.startswith(b"%PDF-") or controls > bearable or 2 * controls > len(text):
        raise _not_text()
    return text.replace("\r\n", "\n").replace("\r", "\n")


def encoding_of(path: Path) -> str:
    """Return the Python name of a file's encoding, reading it once in small pieces.

    Raises:
        Fault: The file is not text, or one line is longer than ``MAX_LINE`` bytes.
    """
    with open_regular(path) as file:
        encoding = _by_mark(file.read(4))
        if encoding is not None:
            return encoding
        file.seek(0)
        return _by_reading(file)


def _by_reading(file: BinaryIO) -> str:
    decoder = codecs.getincrementaldecoder("utf-8")("strict")
    before, since_line_end = b"", 0
    while piece := file.read(2**20):
        last = max(piece.rfind(b"\n"), piece.rfind(b"\r"))
        since_line_end = len(piece) - last if last >= 0 else since_line_end + len(piece)
        if since_line_end > MAX_LINE:
            raise Fault(f"holds a line of more than {MAX_LINE // 2**20} MB")
        try:
            decoder.decode(piece)
        except UnicodeDecodeError as error:
            return _recognised(before + piece, len(before) + error.start)
        if not before and (encoding := _without_bytes_above_127(piece)):
            return encoding
        before = piece
    if decoder.getstate()[0]:
        return _recognised(before, max(0, len(before) - 4))
    return "utf-8"


def _decoded(data: bytes) -> tuple[str, bool]:
    """Return the text, and whether its encoding was known rather than guessed."""
    guessed = False
    encoding = _by_mark(data)
    if encoding == "utf-32":
        try:
            return data.decode("utf-32"), True
        except UnicodeDecodeError:
            encoding = "utf-16"
    if encoding is None:
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as error:
            encoding, guessed = _recognised(data, error.start), True
        else:
            encoding = _without_bytes_above_127(data)
            if encoding is None:
                return text, True
    try:
        return data.decode(encoding), not guessed
    except (UnicodeDecodeError, LookupError):
        raise Fault(f"is not valid {encoding}, the encoding it seems to be in: save it as UTF-8") from None


def _by_mark(data: bytes) -> str | None:
    return next((encoding for mark, encoding in _MARKS if data.startswith(mark)), None)


def _without_bytes_above_127(data: bytes) -> str | None:
    """Return the encoding of bytes that are valid UTF-8 but meant otherwise, by their escape sequences or NUL bytes."""
    if b"\x1b$" in data:
        found = detect(data[:_WINDOW], compat_names=False)["encoding"]
        return found if found and found.startswith("iso2022") else None
    return _by_nul(data[: _WINDOW // 4 * 4])


def _recognised(data: bytes, position: int) -> str:
    """Return the encoding of data that is not UTF-8 from a position on."""
    encoding = _by_nul(data[: _WINDOW // 4 * 4]) or _detected(_telling(data, position)) or _detected(data[:_WINDOW])
    if encoding is None:
        raise _not_text()
    return _WIDER.get(encoding, encoding)


def _detected(sample: bytes) -> str | None:
    return detect(sample, encoding_era=_ERAS, max_bytes=max(1, len(sample)), compat_names=False)["encoding"]


def _telling(data: bytes, position: int) -> bytes:
    """Return what tells encodings apart: pieces with other bytes than ASCII, and lines that declare a charset.

    Without the plain ASCII lines, which outweigh the others: one Russian line among a hundred counts as noise.
    """
    start = max(data.rfind(b"\n", 0, position), position - 1000) + 1
    pieces = [piece for piece in _PIECE.split(data[start : start + 20 * _WINDOW]) if not piece.isascii()]
    declared = [line for line in data[:4096].split(b"\n") if b"charset" in line or b"encoding=" in line]
    return b"\n".join(declared + pieces)[: 2 * _WINDOW]


def _by_nul(sample: bytes) -> str | None:
    """Return UTF-16 or UTF-32 without a mark, if the NUL bytes of the sample show its byte order."""
    nuls = sample.count(0)
    if nuls < 4 or 100 * nuls < len(sample):
        return None
    for encoding, step, high in (("utf-32-le", 4, 3), ("utf-32-be", 4, 0), ("utf-16-le", 2, 1), ("utf-16-be", 2, 0)):
        if len(sample) % step or (step == 2 and 10 * sample[high::2].count(0) < 9 * nuls):
            continue
        try:
            text = sample.decode(encoding)
        except UnicodeDecodeError:
            continue
        if not any(unicodedata.category(char) in {"Cn", "Co", "Cs", "Cc"} for char in set(text) - set("\t\r\n\f")):
            return encoding
    return None


def _not_text() -> Fault:
    return Fault("holds binary data, though its name says text")
