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
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from goldbench.errors import InputError
from goldbench.formats.json_maps import read_json
from goldbench.formats.packed_files import Source

_MEMBERS_OF_A_QUERY = ("queries", "history", "standalone")
"""The members that a retrieval system is asked with."""


class ContentDigest:
    """The content digest of a set, computed entry by entry in any order."""

    def __init__(self) -> None:
        self._digests: list[bytes] = []

    def add(self, member: str, key: str, value: object) -> None:
        """Add an entry of ``dataset.json``."""
        for entry in _hashed_entries(member, key, value):
            self._digests.append(sha256(_canonical(entry)).digest())

    def hexdigest(self) -> str:
        """Return the digest of all entries."""
        whole = sha256()
        for digest in sorted(self._digests):
            whole.update(f"{digest.hex()}\n".encode())
        return whole.hexdigest()


@dataclass(frozen=True, slots=True)
class Content:
    """A gold set as digests.

    ``sha256`` is its content digest. ``queries`` holds a digest of each query's text, its earlier turns and its labels
    by the texts of their passages: where two are equal, a retrieval system is measured by the same.
    """

    sha256: str
    queries: dict[str, str]


def read_content(path: Path) -> Content:
    """Return a ``dataset.json`` as digests.

    Raises:
        InputError: The file cannot be read, or is not a ``dataset.json``.
    """
    try:
        dataset = read_json(Source(path))
        return Content(_digest_of(dataset), _digests_of_queries(dataset))
    except (KeyError, ValueError, TypeError, AttributeError):
        raise InputError(path, "is damaged: it does not hold a gold set; make it again") from None


def _digest_of(dataset: Mapping[str, Any]) -> str:
    graded = dataset.get("relevance_scores") is not None
    left_out = {"mode", "metadata", "relevant_docs" if graded else "relevance_scores"}
    digest = ContentDigest()
    for member, entries in dataset.items():
        if member not in left_out and isinstance(entries, dict):
            for key, value in entries.items():
                digest.add(member, key, value)
    return digest.hexdigest()


def _digests_of_queries(dataset: Mapping[str, Any]) -> dict[str, str]:
    labels: dict[str, Any] = {**dataset["relevant_docs"], **(dataset.get("relevance_scores") or {})}
    digests = {}
    for query_id in dataset["queries"]:
        grades = labels.get(query_id, {})
        if not isinstance(grades, dict):
            grades = dict.fromkeys(grades, 2)
        needed = dataset.get("needs", {}).get(query_id, ())
        graded = [
            [sha256(_utf8(dataset["corpus"].get(chunk_id, ""))).hexdigest(), int(grade), chunk_id in needed]
            for chunk_id, grade in grades.items()
        ]
        texts = [dataset.get(member, {}).get(query_id) for member in _MEMBERS_OF_A_QUERY]
        digests[query_id] = sha256(_canonical([*texts, sorted(graded)])).hexdigest()
    return digests


def _hashed_entries(member: str, key: str, value: Any) -> Iterator[list[Any]]:  # noqa: ANN401  whatever a member holds
    if member == "relevance_scores":
        yield from ([member, key, chunk_id, grade] for chunk_id, grade in value.items())
    elif member == "relevant_docs":
        yield from ([member, key, chunk_id] for chunk_id in value)
    elif isinstance(value, list | tuple) and all(isinstance(text, str) for text in value):
        yield [member, key, sorted(value)]
    else:
        yield [member, key, value]


def _canonical(value: object) -> bytes:
    return _utf8(json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":")))


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
