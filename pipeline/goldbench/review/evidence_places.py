"""Where evidence for a judgment stands in the passages of a set, after the judged passage changed."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping

from goldbench.goldset.whereabouts import TELLING
from goldbench.review.meanings import PassageMeaning, QueryMeaning
from goldbench.text.evidence import Place, Stretch, find_quote


class EvidencePlaces:
    """The passages of a set, in which evidence is looked for.

    Args:
        passages: The passages by id.
    """

    def __init__(self, passages: Mapping[str, PassageMeaning]) -> None:
        self._passages = passages
        self._plain = {chunk_id: _plain(one.text) for chunk_id, one in passages.items()}

    def of(self, judged: PassageMeaning, asked: QueryMeaning, quoted: str) -> str | None:
        """Return the one passage that holds the evidence for a judgment, None if there is none or several.

        Args:
            judged: The passage as it was judged.
            asked: The query, whose evidence counts if the person quoted none.
            quoted: What the person quoted from the passage; may be empty.
        """
        if quoted.strip():
            found = find_quote(quoted, judged.text)
            stretches = [] if found is None else [found]
        else:
            stretches = judged.stretches(asked.evidence)
        places = {self._holder(Stretch.of(judged.text, *one), judged.source) for one in stretches}
        return places.pop() if len(places) == 1 else None

    def _holder(self, stretch: Stretch, source: str) -> str | None:
        """Return the passage that holds a stretch, in its own document or else in any; None if it is not told.

        In another document a few words without anything that stood around them may be there by chance.
        """
        plain = _plain(stretch.quote)
        if not plain:
            return None
        found = [
            (place, chunk_id)
            for chunk_id, text in self._plain.items()
            if plain in text
            for place in stretch.places(self._passages[chunk_id].text)
        ]
        near = [one for one in found if self._passages[one[1]].source == source]
        told = len(stretch.quote) >= TELLING
        return _told(near) or _told([one for one in found if told or one[0].sure])


def _told(places: Iterable[tuple[Place, str]]) -> str | None:
    """Return the passage whose surroundings tell it from all others."""
    ranked = sorted(places, key=lambda one: one[0].alike, reverse=True)
    if not ranked:
        return None
    if len(ranked) > 1 and not (ranked[0][0].sure and ranked[0][0].alike > ranked[1][0].alike):
        return None
    return ranked[0][1]


def _plain(text: str) -> str:
    return " ".join((text if text.isascii() else unicodedata.normalize("NFC", text)).split())
