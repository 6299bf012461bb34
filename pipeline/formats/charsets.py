"""Bytes to text: which encoding a file is in, and whether it is text at all.

In this order: a byte order mark; strict UTF-8; what ``chardet`` recognises (UTF-16 and UTF-32 without a mark, the
charset an HTML page declares, then statistics over some 80 encodings; Macintosh and mainframe code pages are left out,
because they win over Windows code pages on short texts). Decoding is strict: no character is replaced or dropped but
the byte order mark, and line ends are read as LF.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from pathlib import Path
from typing import BinaryIO

from chardet import EncodingEra, detect

from pipeline.errors import UnreadableDocument
from pipeline.formats.opening import open_regular, shown

MAX_LINE = 16 * 2**20
"""The longest line of a table, in bytes (and in characters of a record)."""

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
"""Encodings that are in practice written as their superset."""
_ERAS = EncodingEra.ALL & ~EncodingEra.MAINFRAME & ~EncodingEra.LEGACY_MAC
_WINDOW = 200_000
_CONTROL = re.compile(r"[\x00-\x06\x0e-\x1a\x1c-\x1f\x7f-\x84\x86-\x9f]")


def decode(data: bytes, path: Path) -> str:
    """Return the text of a file, its byte order mark removed and its line ends read as LF.

    Raises:
        UnreadableDocument: the bytes are no text in any encoding that is recognised.
    """
    text = _decoded(data, path)
    controls = len(_CONTROL.findall(text))
    # A few NULs or bells occur in real text; a program, a picture or noise is full of them.
    if data.startswith(b"%PDF-") or 2 * controls > len(text) or (controls > 8 and 20 * controls > len(text)):
        raise _not_text(path)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def encoding_of(path: Path) -> str:
    """Return the Python name of a file's encoding, reading it once in small pieces.

    Raises:
        UnreadableDocument: it is not text, or one line is longer than ``MAX_LINE`` bytes.
    """
    with open_regular(path) as file:
        encoding = _by_mark(file.read(4))
        if encoding is not None:
            return encoding
        file.seek(0)
        return _by_reading(file, path)


def _by_reading(file: BinaryIO, path: Path) -> str:
    decoder = codecs.getincrementaldecoder("utf-8")("strict")
    before, since_line_end, nuls, total = b"", 0, 0, 0
    while piece := file.read(2**20):
        last = max(piece.rfind(b"\n"), piece.rfind(b"\r"))
        since_line_end = len(piece) - last if last >= 0 else since_line_end + len(piece)
        if since_line_end > MAX_LINE:
            raise UnreadableDocument(shown(path), f"holds a line of more than {MAX_LINE // 2**20} MB")
        nuls, total = nuls + piece.count(0), total + len(piece)
        try:
            decoder.decode(piece)
        except UnicodeDecodeError as error:
            return _recognised(_around(before + piece, len(before) + error.start), path)
        if 5 * nuls > total:
            return _recognised(piece[:_WINDOW], path)
        before = piece
    if decoder.getstate()[0]:
        return _recognised(before[-_WINDOW:], path)
    return "utf-8"


def _decoded(data: bytes, path: Path) -> str:
    encoding = _by_mark(data)
    if encoding == "utf-32":
        try:
            return data.decode("utf-32")
        except UnicodeDecodeError:
            encoding = "utf-16"
    if encoding is not None:
        return _strictly(data, encoding, path)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        return _strictly(data, _recognised(_around(data, error.start), path), path)
    if 5 * text.count("\0") > len(text):
        return _strictly(data, _recognised(data[:_WINDOW], path), path)
    return text


def _by_mark(data: bytes) -> str | None:
    return next((encoding for mark, encoding in _MARKS if data.startswith(mark)), None)


def _around(data: bytes, position: int) -> bytes:
    """Return a window about the first byte that is not UTF-8, of whole lines, so that no character is cut."""
    start = data.rfind(b"\n", 0, max(0, position - 1000)) + 1
    end = data.find(b"\n", start + max(_WINDOW, position - start + 1000))
    return data[start : end + 1 or len(data)]


def _recognised(sample: bytes, path: Path) -> str:
    found = detect(sample, encoding_era=_ERAS, max_bytes=len(sample) or 1, compat_names=False)["encoding"]
    encoding = found or _utf_16_without_mark(sample)
    if encoding is None:
        raise _not_text(path)
    return _WIDER.get(encoding, encoding)


def _utf_16_without_mark(sample: bytes) -> str | None:
    """Return the byte order in which every character of a sample with NUL bytes is an assigned one."""
    if b"\0" not in sample:
        return None
    even = sample[: len(sample) // 2 * 2]
    for encoding in ("utf-16-le", "utf-16-be"):
        try:
            text = even.decode(encoding)
        except UnicodeDecodeError:
            continue
        if not any(unicodedata.category(char) in {"Cn", "Co", "Cs", "Cc"} for char in set(text) - set("\t\r\n\f")):
            return encoding
    return None


def _strictly(data: bytes, encoding: str, path: Path) -> str:
    try:
        return data.decode(encoding)
    except (UnicodeDecodeError, LookupError):
        raise UnreadableDocument(
            shown(path), f"is no valid {encoding}, the encoding it seems to be in: save it as UTF-8"
        ) from None


def _not_text(path: Path) -> UnreadableDocument:
    return UnreadableDocument(shown(path), f"holds binary data, though it is named {shown(path.suffix) or 'as text'}")
