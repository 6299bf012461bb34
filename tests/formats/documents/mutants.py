"""Files that are changed at random in the ways that break readers; a seed and a number give the same file again."""

from __future__ import annotations

import io
import json
import random
import warnings
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from goldbench.formats.documents.sources import KINDS
from tests.conftest import ROOT

MOST = 32 * 2**10
"""The most bytes of an original; larger ones take too long in such numbers."""
_LONGEST = 96 * 2**10
PIECES = (
    b"[", b"](", b"# a", b"```\n", b"|", b"|a", b'"', b"<", b"<a ", b"<div>", b"</p>", b" ", b"\n", b"\r\n\r", b"- ",
    b"> ", b"=\n", b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"\xc3", b"\xe2\x80\x8b", b"\xcc\x81", b"\xed\xa0\x80", b"{",
    b"&amp", b"&#x;", b"\\", b".. a::\n", b":a:`", b"\tA\n", b"<!--", b"<![CDATA[", b"<!DOCTYPE a [<!ENTITY b 'bb'>]>",
    b"1e400", b"NaN", b"9" * 40, b"\x1b[2J", b"=cmd()", b"---\n", b"obj\n", b"endstream", b"%PDF-", b"PK\3\4", b"\x93",
    b"\xd0\xbf", b"\\ud800", b"''",
)  # fmt: skip
_HEAVY = frozenset({".docx", ".pptx", ".xlsx", ".epub", ".pdf"})


def originals(collections: Path | None) -> list[tuple[str, bytes]]:
    """Return suffix and content of small files of every type: of the example and the collections, and made here."""
    places = [ROOT / "data" / "example" / "documents", *([collections / "formats"] if collections else [])]
    files = sorted(path for place in places for path in place.rglob("*") if path.is_file())
    found = [
        (path.suffix.lower(), path.read_bytes())
        for path in files
        if path.suffix.lower() in KINDS and path.stat().st_size <= MOST
    ]
    table = pa.table({"text": ["The pump is tested.", "The valve is greased."] * 20, "id": [*range(40)]})
    parquet, book = io.BytesIO(), io.BytesIO()
    pq.write_table(table, parquet)
    with zipfile.ZipFile(book, "w") as archive:
        archive.writestr(
            "word/document.xml", "<w:document><w:body><w:p><w:r><w:t>Pump</w:t></w:r></w:p></w:body></w:document>"
        )
    rows = [{"text": f"Row {n} tells of pump {n}.", "title": f"Pump {n}"} for n in range(20)]
    return [
        *found,
        (".parquet", parquet.getvalue()),
        (".docx", book.getvalue()),
        (".jsonl", "".join(json.dumps(row) + "\n" for row in rows).encode()),
        (".json", json.dumps(rows, indent=1).encode()),
        (".csv", ("title,text\n" + "".join(f'{row["title"]},"{row["text"]}"\n' for row in rows)).encode()),
        (".rst", b"Pumps\n=====\n\n.. note:: Test it.\n\n+---+---+\n| a | b |\n+---+---+\n\n`A link <b>`_ and |c|.\n"),
    ]


def mutants(seed: int, numbers: range, sources: list[tuple[str, bytes]]) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the content of the changed files with these numbers, as many of one suffix as of another."""
    by_suffix: dict[str, list[bytes]] = {}
    for suffix, data in sources:
        by_suffix.setdefault(suffix, []).append(data)
    heavy, light = sorted(by_suffix.keys() & _HEAVY), sorted(by_suffix.keys() - _HEAVY)
    for number in numbers:
        chance = random.Random(f"{seed}-{number}")
        suffix = chance.choice(heavy if chance.random() < 0.06 else light)
        data = chance.choice(by_suffix[suffix])
        for _ in range(chance.choice((1, 1, 2, 4))):
            data = chance.choice(_CHANGES)(data, chance, sources)[:_LONGEST]
        if chance.random() < 0.1:
            suffix = chance.choice(sorted(KINDS))
        yield f"{number:05}{suffix}", data


Change = Callable[[bytes, random.Random, list[tuple[str, bytes]]], bytes]


def _flipped(data: bytes, chance: random.Random, _: object) -> bytes:
    changed = bytearray(data or b"a")
    for _ in range(chance.choice((1, 3, 30, 300))):
        changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed)


def _cut(data: bytes, chance: random.Random, _: object) -> bytes:
    first, last = sorted((chance.randint(0, len(data)), chance.randint(0, len(data))))
    return chance.choice((data[:last], data[first:], data[:first] + data[last:]))


def _doubled(data: bytes, chance: random.Random, _: object) -> bytes:
    at = chance.randint(0, len(data))
    part = data[at : at + chance.choice((1, 8, 100, 2000))]
    return data[:at] + part * min(chance.choice((2, 20, 400)), 1 + _LONGEST // (len(part) + 1)) + data[at:]


def _inserted(data: bytes, chance: random.Random, _: object) -> bytes:
    at, piece = chance.randint(0, len(data)), chance.choice(PIECES)
    return data[:at] + piece * chance.choice((1, 5, 200, 5000)) + data[at:]


def _spliced(data: bytes, chance: random.Random, sources: list[tuple[str, bytes]]) -> bytes:
    other = chance.choice(sources)[1]
    return data[: chance.randint(0, len(data))] + other[chance.randint(0, len(other)) :]


def _marked(data: bytes, chance: random.Random, _: object) -> bytes:
    text = data.decode("utf-8", "replace")
    encoding = chance.choice(("utf-16", "utf-16-be", "utf-32", "cp1251", "cp1252", "shift_jis", "gb18030", "utf-7"))
    mark = chance.choice((b"", b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff"))
    return mark + text.encode(encoding, "replace")


def _mixed(data: bytes, chance: random.Random, _: object) -> bytes:
    lines = data.split(b"\n")
    for _ in range(chance.choice((1, 5))):
        at = chance.randrange(len(lines))
        lines[at] = (
            lines[at].decode("utf-8", "replace").encode(chance.choice(("cp1252", "cp1251")), "replace") + b"\xe9"
        )
    return b"\n".join(lines)


def _nested(data: bytes, chance: random.Random, _: object) -> bytes:
    opened, closed = chance.choice(
        ((b"[", b"]"), (b'{"a":', b"}"), (b"<div>", b"</div>"), (b"> ", b""), (b"<b><i>", b""))
    )
    depth = chance.choice((50, 1000, 20_000))
    return opened * depth + data + closed * depth


def _repacked(data: bytes, chance: random.Random, sources: list[tuple[str, bytes]]) -> bytes:
    """Change one member of an archive, or its name, and pack it again; other files are flipped."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = [(name, archive.read(name)) for name in archive.namelist()]
    except Exception:  # noqa: BLE001  an archive that an earlier change broke: what its library raises is its own
        members = []
    if not members:
        return _flipped(data, chance, sources)
    at = chance.randrange(len(members))
    name, content = members[at]
    if chance.random() < 0.15:
        name = chance.choice(("../outside.xml", "/etc/outside", name.upper(), f"{name}/", "a" * 300, members[0][0]))
    else:
        content = chance.choice((_flipped, _cut, _doubled, _inserted, _nested, _spliced))(content, chance, sources)
    members[at] = (name, content)
    packed = io.BytesIO()
    with warnings.catch_warnings(action="ignore"), zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for one, held in members:
            archive.writestr(one, held)
    return packed.getvalue()


_CHANGES: tuple[Change, ...] = (
    _flipped, _cut, _doubled, _inserted, _inserted, _spliced, _marked, _mixed, _nested, _repacked, _repacked,
)  # fmt: skip
