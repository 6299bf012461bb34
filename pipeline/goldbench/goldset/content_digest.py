"""What a gold set holds, as digests: of the whole, and of each query with its labels.

The content digest of a set can be computed from its ``dataset.json`` by any program. It is over entries, each a JSON
array: ``["queries", id, text]``, ``["corpus", id, text]``, ``["relevance_scores", query, passage, grade]`` (if the set
has no grades, ``["relevant_docs", query, passage]``), and ``[member, id, value]`` for every entry of every other member
except ``mode`` and ``metadata``; a value that is a list of strings is sorted. Each array is written as canonical JSON
(RFC 8785: no white space, keys sorted, UTF-8) and hashed with SHA-256. The hexadecimal digests, sorted, each with a
line feed, are hashed with SHA-256 once more. Order, times and who made the set do not count.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from goldbench.errors import InputError
from goldbench.formats.json_maps import read_json
from goldbench.formats.jsonl import as_line
from goldbench.formats.packed_files import Source
from goldbench.goldset.gold_path import METADATA, read_metadata
from goldbench.text.display import shell_command

_MEMBERS_OF_A_QUERY = ("queries", "history", "standalone")
"""The members that a retrieval system is asked with."""

_HEADER, _START = b'": {\n', b'{\n"queries": {\n'
_END = b"\n}\n"
_SIZE = sha256().digest_size
_NOT_HASHED = ("mode", "metadata", "relevant_docs")

Entry = tuple[str, str, Any]
"""The member of ``dataset.json``, the id in it, and the value."""


@dataclass(slots=True)
class Content:
    """A gold set as digests.

    ``sha256`` is its content digest. ``queries`` holds a digest of each query's text, its earlier turns and its labels
    by the texts of their passages: where two are equal, a retrieval system is measured by the same.
    """

    sha256: str = ""
    queries: dict[str, str] = field(default_factory=dict)


class _Digests:
    """Digests of entries, packed: a set can have millions of passages."""

    def __init__(self) -> None:
        self._by_first_byte = [bytearray() for _ in range(256)]

    def add(self, digest: bytes) -> None:
        self._by_first_byte[digest[0]] += digest

    def joined(self) -> str:
        """Return the digest of all, in the order of their hexadecimal form."""
        whole = sha256()
        for packed in self._by_first_byte:
            every = sorted(packed[place : place + _SIZE].hex() for place in range(0, len(packed), _SIZE))
            whole.update("".join(f"{one}\n" for one in every).encode())
        return whole.hexdigest()


def read_content(path: Path) -> Content:
    """Return a ``dataset.json`` as digests; the texts of passages are read one by one if goldbench wrote the file.

    Raises:
        InputError: The file cannot be read, or is not a ``dataset.json``.
    """
    digests = _Digests()
    texts: dict[str, bytes] = {}
    members: dict[str, dict[str, Any]] = {}
    try:
        for member, key, value in _entries(path):
            if member == "corpus":
                digests.add(_passage_digest(texts, key, value))
                continue
            members.setdefault(member, {})[key] = value
            for entry in _hashed(member, key, value):
                digests.add(sha256(_canonical(entry)).digest())
    except (OSError, ValueError, TypeError, AttributeError):
        raise InputError(path, "is damaged: it does not hold a gold set; make it again") from None
    labels = _labels(members)
    labelled = {chunk_id for grades in labels.values() for chunk_id in grades}
    texts |= _stored_texts(path, labelled - texts.keys())
    queries = {query_id: _measured(query_id, members, labels, texts) for query_id in members.get("queries", {})}
    return Content(digests.joined(), queries)


def stamp_content(dataset: Path) -> str:
    """Write the digest of its content into the metadata of a set, and return it.

    The metadata are the last line but one of the file.

    Raises:
        InputError: The file is damaged, or was not written by goldbench.
    """
    digest = read_content(dataset).sha256
    metadata = {**read_metadata(dataset), "content_sha256": digest}
    line = METADATA + as_line(json.dumps(metadata, ensure_ascii=False, sort_keys=True)) + "}\n"
    at = _metadata_at(dataset)
    with dataset.open("r+b") as file:
        file.truncate(at)
        file.seek(at)
        file.write(line.encode())
    return digest


def _metadata_at(dataset: Path) -> int:
    """Return at which byte the line of the metadata begins.

    Raises:
        InputError: The file was not written by goldbench.
    """
    size = dataset.stat().st_size
    tail = 1 << 16
    with dataset.open("rb") as file:
        while True:
            start = max(0, size - tail)
            file.seek(start)
            block = file.read()
            at = block[: -len(_END)].rfind(b"\n") + 1
            if at or not start:
                break
            tail *= 4
    if not block.endswith(_END) or not block[at:].startswith(METADATA.encode()):
        raise InputError(dataset, "was not written by goldbench; import it with " + shell_command("import"))
    return start + at


def _passage_digest(texts: dict[str, bytes], key: str, value: bytes | str) -> bytes:
    """Return the digest of a passage's entry.

    Args:
        texts: Takes the digest of the text, if the text is given.
        key: Its id.
        value: The canonical JSON of its entry, or its text.
    """
    if isinstance(value, bytes):
        return sha256(value).digest()
    texts[key] = sha256(_utf8(value)).digest()
    return sha256(_canonical(["corpus", key, value])).digest()


def _labels(members: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    """Return the grades by query; 2 where the set has none."""
    given = {**members.get("relevant_docs", {}), **members.get("relevance_scores", {})}
    return {key: value if isinstance(value, dict) else dict.fromkeys(value, 2) for key, value in given.items()}


def _measured(
    query_id: str,
    members: Mapping[str, Mapping[str, Any]],
    labels: Mapping[str, Mapping[str, int]],
    texts: Mapping[str, bytes],
) -> str:
    """Return the digest of a query and its labels, in which passages are known by their texts."""
    needed = members.get("needs", {}).get(query_id, ())
    graded = [
        [texts.get(chunk_id, b"").hex(), int(grade), chunk_id in needed]
        for chunk_id, grade in labels.get(query_id, {}).items()
    ]
    texts_of_query = [members.get(member, {}).get(query_id) for member in _MEMBERS_OF_A_QUERY]
    return sha256(_canonical([*texts_of_query, sorted(graded)])).hexdigest()


def _hashed(member: str, key: str, value: Any) -> Iterator[list[Any]]:  # noqa: ANN401  whatever a member holds
    if member == "relevance_scores":
        yield from ([member, key, chunk_id, grade] for chunk_id, grade in value.items())
    elif member == "relevant_docs":
        yield from ([member, key, chunk_id] for chunk_id in value)
    elif isinstance(value, list) and all(isinstance(one, str) for one in value):
        yield [member, key, sorted(value)]
    else:
        yield [member, key, value]


def _canonical(value: object) -> bytes:
    return _utf8(json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":")))


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _entries(path: Path) -> Iterator[Entry]:
    """Yield every entry that counts; one by one from a file with an entry per line, as this project writes it."""
    with path.open("rb") as file:
        ours = file.read(len(_START)) == _START
    if ours:
        yield from _entries_by_line(path)
        return
    found = read_json(Source(path))
    if not isinstance(found, dict) or "relevant_docs" not in found:
        raise ValueError("not a gold set")
    graded = found.get("relevance_scores") is not None
    left_out = {*_NOT_HASHED} - (set() if graded else {"relevant_docs"})
    for member, entries in found.items():
        if isinstance(entries, dict) and member not in left_out:
            yield from ((member, key, value) for key, value in entries.items())


def _entries_by_line(path: Path) -> Iterator[Entry]:
    """Yield the entries; a passage as the canonical JSON of its entry where the line shows it."""
    member = ""
    with path.open("rb") as file:
        for line in file:
            if line.endswith(_HEADER):
                member = str(json.loads(line[: -len(_HEADER) + 1]))
            elif line == b"},\n":
                member = ""
            elif member and member not in _NOT_HASHED:
                yield (member, *(_stored_entry(line) if member == "corpus" else _parsed(line)))


def _stored_entry(line: bytes) -> tuple[str, bytes | str]:
    """Return the id of a passage, and the canonical JSON of its entry; its text if an escape may be another one there.

    Args:
        line: Its line: the id and the text in quotation marks, and what separates them.
    """
    ends = line.find(b'": "') + 1
    if not ends or b"\\u" in line or b"\\" in line[:ends]:
        return _parsed(line)
    return line[1 : ends - 1].decode(), b'["corpus",' + line[:ends] + b"," + line[ends + 2 :].rstrip(b",\n") + b"]"


def _parsed(line: bytes) -> tuple[str, Any]:
    ((key, value),) = json.loads(b"{" + line.rstrip(b",\n") + b"}").items()
    return key, value


def _stored_texts(path: Path, chunk_ids: set[str]) -> dict[str, bytes]:
    """Return the digests of the texts of passages in a file with an entry per line."""
    if not chunk_ids:
        return {}
    found, inside = dict[str, bytes](), False
    keys = {json.dumps(one, ensure_ascii=False).encode() for one in chunk_ids}
    with path.open("rb") as file:
        for line in file:
            if line.endswith(_HEADER) or line == b"},\n":
                inside = line == b'"corpus": {\n'
            elif inside and (b"\\u" in line or line[: line.find(b'": "') + 1] in keys):
                key, text = _parsed(line)
                if key in chunk_ids:
                    found[key] = sha256(_utf8(text)).digest()
    return found
