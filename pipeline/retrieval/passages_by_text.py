"""Which passage a retrieved text is, for systems that give back texts without ids.

A text is a passage if either contains the other, after both are evened out; an equal text goes before one that is only
contained.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping

from pipeline.text.similarity import normal

_START = 24
"""So many characters of a passage find it within a longer text; shorter passages are looked for one by one."""
_BREAK = "\n"
"""Stands between passages; no text that is evened out holds it."""


class PassagesByText:
    """The passages of a corpus, found by text."""

    def __init__(self, passages: Mapping[str, str]) -> None:
        """Take the text of each passage by its id."""
        self._texts = {doc_id: text for doc_id in sorted(passages) if (text := normal(passages[doc_id]))}
        self._equal: dict[str, list[str]] = {}
        self._starting: dict[str, list[str]] = {}
        self._short: list[str] = []
        self._ids, self._starts, place = list(self._texts), [], 0
        for doc_id, text in self._texts.items():
            self._equal.setdefault(text, []).append(doc_id)
            if len(text) < _START:
                self._short.append(doc_id)
            else:
                self._starting.setdefault(text[:_START], []).append(doc_id)
            self._starts.append(place)
            place += len(text) + len(_BREAK)
        self._whole = _BREAK.join(self._texts.values())

    def find(self, text: str, *, taken: Collection[str] = ()) -> str | None:
        """Return the id of the passage that the text is, None where it is none, or only passages that are taken."""
        text = normal(text)
        if not text:
            return None
        return next((doc_id for doc_id in self._candidates(text) if doc_id not in taken), None)

    def _candidates(self, text: str) -> Iterator[str]:
        yield from self._equal.get(text, [])
        at = self._whole.find(text)
        while at >= 0:
            yield self._ids[bisect_right(self._starts, at) - 1]
            at = self._whole.find(text, at + 1)
        for start in range(len(text) - _START + 1):
            for doc_id in self._starting.get(text[start : start + _START], ()):
                if text.startswith(self._texts[doc_id], start):
                    yield doc_id
        yield from (doc_id for doc_id in self._short if self._texts[doc_id] in text)
