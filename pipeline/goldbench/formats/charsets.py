"""Bytes to text: which encoding a file is in, how sure that is, and whether it is text at all.

Tried in this order: a byte order mark that fits; UTF-16 and UTF-32 without a mark, recognised by their NUL bytes;
strict UTF-8; UTF-8 with lines in other encodings (``mixed_lines.py``); a guess (``encoding_guess.py``). Decoding is
strict: only byte order marks at the beginning of lines are removed, and line ends are read as LF. A character that the
end of the file cuts is left out, and what is not valid in a damaged line becomes U+FFFD; the `Judgement` says so.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from goldbench.formats.encoding_guess import (
    by_escapes,
    by_nul_bytes,
    confidence,
    declared_charset,
    evidence,
    guessed,
    is_utf_16,
    reads,
    reads_oddly,
)
from goldbench.formats.faults import Fault
from goldbench.formats.lines import MAX_LINE
from goldbench.formats.mixed_lines import LineEncodings, Mixture
from goldbench.formats.regular_files import open_regular, read_whole

_MARKS = (
    (codecs.BOM_UTF8, "utf-8", "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32", "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32", "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16", "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16", "utf-16-be"),
)
CUT_OFF = "its last character is cut off"
ODD = "capital letters, signs or letters of another script stand within words"
OTHER = "save it as UTF-8, or name its encoding as documents.encoding or in [documents.encodings]"
_DOUBTFUL = 0.9
_MISREAD = 32
"""Fewest bytes of valid UTF-8 without NUL after a mark of UTF-16 that are UTF-8 beyond doubt."""
_LINE_MARKS = re.compile("^\ufeff+", re.MULTILINE)
_CONTROL = re.compile(r"[\x00-\x06\x0e-\x1a\x1c-\x1f\x7f-\x84\x86-\x9f]")


@dataclass(frozen=True, slots=True)
class Judgement:
    """Which encoding a file is in.

    Attributes:
        encoding: Its name in Python; of mixed lines all of them: ``utf-8+cp1252``.
        confidence: From 0.5 to 1; 1 for ASCII, UTF-8, a mark that fits, and an encoding that the user gave.
        remark: What a person should know: lines in other encodings, a wrong mark, a cut end. Without text of the file.
        lines: How mixed lines are read; None if all of the file is in one encoding.
        skip: How many bytes at the beginning are a byte order mark.
    """

    encoding: str
    confidence: float = 1.0
    remark: str = ""
    lines: LineEncodings | None = None
    skip: int = 0

    @property
    def is_doubtful(self) -> bool:
        """Whether a person should look at the file."""
        return self.confidence < _DOUBTFUL or bool(self.remark)

    @property
    def told(self) -> tuple[str, float, str]:
        """The encoding, the confidence and the remark: what a person is told."""
        return self.encoding, self.confidence, self.remark


@dataclass(frozen=True, slots=True)
class Decoded:
    """The text of a file and what was found about its encoding."""

    text: str
    judgement: Judgement


def read_text(path: Path, *, megabytes: int) -> str:
    """Return the text of a file; `decode` and `regular_files.read_whole` say what is refused."""
    return decode(read_whole(path, megabytes=megabytes))


def decode(data: bytes) -> str:
    """Return the text of a file's bytes; see `decoded`."""
    return decoded(data).text


def decoded(data: bytes, encoding: str | None = None) -> Decoded:
    """Return the text of a file's bytes, its byte order mark removed and its line ends read as LF.

    Args:
        data: The bytes of the whole file.
        encoding: The encoding that the user gave; None recognises it.

    Raises:
        Fault: The bytes are not text in any encoding that is recognised, or not in the encoding given.
    """
    found = _recognised(data) if encoding is None else _as_given(data, encoding)
    text, controls = found.text, len(_CONTROL.findall(found.text))
    # A few NULs or bells occur in real text; a program, a picture or noise is full of them.
    bearable = max(8, len(text) // 20) if found.judgement.confidence == 1 else len(text) // 100
    if data.startswith(b"%PDF-") or controls > bearable or 2 * controls > len(text):
        raise _not_text()
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return Decoded(_LINE_MARKS.sub("", text) if "\ufeff" in text else text, found.judgement)


def judged_file(path: Path, encoding: str | None = None) -> Judgement:
    """Return the encoding of a file of lines, reading it in small pieces.

    Args:
        path: The file.
        encoding: As in `decoded`.

    Raises:
        Fault: The file is not text, or one line is longer than ``MAX_LINE`` bytes.
    """
    if encoding is not None:
        return Judgement(encoding)
    with open_regular(path) as file:
        marked = _marked(file.read(2**20))
        file.seek(marked.skip)
        if marked.encoding:
            return marked
        return _with_mark(_judged_pieces(file), marked)


def _judged_pieces(file: BinaryIO) -> Judgement:
    """Return the encoding of a file from where it stands; see `judged_file`."""
    begins, before, since_line_end = file.tell(), b"", 0
    decoder = codecs.getincrementaldecoder("utf-8")("strict")

    def judged(sample: bytes, position: int) -> Judgement:
        file.seek(begins)
        return _not_utf_8(sample, position, file)

    while piece := file.read(2**20):
        last = max(piece.rfind(b"\n"), piece.rfind(b"\r"))
        since_line_end = len(piece) - last if last >= 0 else since_line_end + len(piece)
        if since_line_end > MAX_LINE:
            raise Fault(f"holds a line of more than {MAX_LINE // 2**20} MB")
        try:
            decoder.decode(piece)
        except UnicodeDecodeError as error:
            return judged(before + piece, len(before) + error.start)
        if not before and (other := _seven_bits(piece)):
            return other
        before = piece
    cut = decoder.getstate()[0]
    if cut and _is_cut(before, len(before) - len(cut)):
        raise Fault("ends within a character: it was cut off; mend or remove its last line")
    return judged(before, max(0, len(before) - 4)) if cut else Judgement("utf-8")


def _recognised(data: bytes) -> Decoded:
    marked = _marked(data)
    body = data[marked.skip :]
    judgement = marked if marked.encoding else _with_mark(_judged(body), marked)
    if judgement.lines is not None:
        try:
            return Decoded("".join(map(judgement.lines.decode, body.splitlines(keepends=True))), judgement)
        except UnicodeDecodeError:
            raise Fault(f"mixes encodings, and one of its lines is in none of them: {OTHER}") from None
    text, is_cut = _strict(body, judgement.encoding)
    remark = _joined(CUT_OFF if is_cut else "", ODD if judgement.confidence < 1 and reads_oddly(text) else "")
    return Decoded(text, replace(judgement, remark=_joined(judgement.remark, remark)) if remark else judgement)


def _as_given(data: bytes, encoding: str) -> Decoded:
    try:
        return Decoded(data.decode(encoding), Judgement(encoding))
    except UnicodeError as error:
        at = f" at byte {error.start + 1:,}" if isinstance(error, UnicodeDecodeError) else ""
        raise Fault(f"is not valid {encoding}{at}, the encoding that is set for it: {OTHER}") from None


def _marked(start: bytes) -> Judgement:
    """Return what the byte order mark says; without a name where the bytes after it must be judged."""
    for mark, told, encoding in _MARKS:
        if not start.startswith(mark):
            continue
        rest, remark = start[len(mark) :], f"its byte order mark says {told}"
        if told == "utf-8" or (told == "utf-16" and _is_misread(rest, encoding)):
            return Judgement("", remark=remark, skip=len(mark))
        if told == "utf-16" and (other := by_nul_bytes(rest)) not in {None, encoding}:
            return Judgement(str(other), remark=f"{remark} in the other byte order", skip=len(mark))
        if reads(rest, encoding):
            return Judgement(encoding, skip=len(mark))
        if told == "utf-16" or b"\0" not in rest:
            return Judgement("", remark=remark, skip=len(mark))
    return Judgement("")


def _is_misread(rest: bytes, encoding: str) -> bool:
    """Whether bytes after a mark of UTF-16 are not: of real UTF-16 hardly 16 characters in a row look like UTF-8."""
    if not rest or b"\0" in rest:
        return False
    if not is_utf_16(rest, encoding):
        return True
    if not reads(rest, "utf-8") or _CONTROL.search(rest.decode("latin-1")):
        return False
    return len(rest) >= _MISREAD or len(rest) % 2 == 1 or not reads(rest, encoding)


def _with_mark(judgement: Judgement, marked: Judgement) -> Judgement:
    """Return the judgement of the bytes after a mark, with what the mark says if that is something else."""
    if not marked.skip:
        return judgement
    remark = "" if marked.remark == f"its byte order mark says {judgement.encoding.split('+')[0]}" else marked.remark
    if remark and judgement.confidence < _DOUBTFUL:
        raise Fault(f"cannot be read: {remark}, which it is not; {OTHER}")
    return replace(judgement, remark=_joined(remark, judgement.remark), skip=marked.skip)


def _judged(data: bytes) -> Judgement:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.end == len(data) and _is_cut(data, error.start):
            return Judgement("utf-8")
        return _not_utf_8(data, error.start, data.splitlines(keepends=True))
    if other := _seven_bits(data):
        return other
    declared = None if text.isascii() else declared_charset(data)
    if declared is None or declared == "utf-8":
        return Judgement("utf-8")
    return Judgement("utf-8", confidence(evidence(data[: 2**20])), f"it declares {declared}")


def _seven_bits(data: bytes) -> Judgement | None:
    """Return the encoding of bytes that are valid UTF-8 but meant otherwise, by their escape sequences or NUL bytes."""
    if escaped := by_escapes(data):
        return Judgement(escaped, confidence(data.count(b"\x1b")))
    by_nul = by_nul_bytes(data)
    return Judgement(by_nul, confidence(data[: 2**20].count(0))) if by_nul else None


def _not_utf_8(data: bytes, position: int, lines: Iterable[bytes]) -> Judgement:
    """Return the encoding of bytes that are not UTF-8 from a position on; ``lines`` are all lines of the file."""
    mixture, doubt = Mixture(), ""
    if not by_nul_bytes(data):
        for line in lines:
            mixture.add(line)
        if mixed := mixture.encodings():
            return Judgement("+".join(mixed.names), mixture.confidence(), mixture.remark(mixed), mixed)
        doubt = mixture.doubt()
    guess = guessed(data, position)
    if guess is None:
        raise _not_text()
    declared = f"it declares {guess.contradicts}" if guess.contradicts else ""
    return Judgement(guess.encoding, guess.confidence, _joined(declared, doubt))


def _is_cut(data: bytes, position: int) -> bool:
    """Whether UTF-8 ends within a character: with two bytes of it, or with a byte that begins others before."""
    before = data[:position]
    return not before.isascii() and (len(data) - position > 1 or data[position : position + 1] in before)


def _strict(data: bytes, encoding: str) -> tuple[str, bool]:
    """Return the text of bytes without a character that their end cuts, and whether there is one."""
    try:
        try:
            return data.decode(encoding), False
        except UnicodeDecodeError:
            return codecs.getincrementaldecoder(encoding)("strict").decode(data), True
    except (UnicodeError, LookupError):
        raise Fault(f"is not valid {encoding}, the encoding it seems to be in: {OTHER}") from None


def _joined(*remarks: str) -> str:
    return "; ".join(filter(None, remarks))


def _not_text() -> Fault:
    return Fault("holds binary data, though its name says text")
