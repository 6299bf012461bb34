"""Selection: the chunks that are fit for a query, and the order in which they are drawn.

Reads: chunks (near-duplicates twice). Writes: a ``Selection`` of positions. Fails: never by itself.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from goldbench.ports import StoredRecords
from goldbench.records.corpus import Chunk
from goldbench.stages.select.eligibility import READY, RULES, Limits, fault
from goldbench.stages.select.near_duplicates import Clusters, Sketches, cluster, write_sketch
from goldbench.stages.select.page_kinds import PAGE_RULES, page_fault
from goldbench.text.draws import number_of

__all__ = ["READY", "Limits", "Selection", "chunk_fault", "draw_of", "fault", "select"]


OPENING = 80
"""Characters of a chunk, with single spaces for all white space, that say how it begins."""
_BY_ID = 2**20 - 1
_NAMES = (*(name for name, _ in RULES), *PAGE_RULES)
"""The rules in the order of their numbers, which begin at 1."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The chunks that queries may be written about.

    ``order`` holds the positions of the chunks to draw, in drawing order; the first N are a fair sample for every N.
    ``ineligible`` counts the chunks that each rule rejected first, ``near_duplicates`` the eligible chunks represented
    by another of their cluster: ``chunks == len(order) + near_duplicates + sum(ineligible.values())``.
    """

    order: npt.NDArray[np.int32]
    ineligible: Counter[str]
    near_duplicates: int
    clusters: Clusters

    @property
    def eligible(self) -> int:
        """Number of chunks that passed the rules."""
        return len(self.order) + self.near_duplicates

    def cluster_of(self, position: int) -> tuple[int, ...]:
        """Return the positions of a chunk's near-duplicates, eligible or not, its own included, ascending."""
        return self.clusters.of(position)


def select(
    chunks: StoredRecords[Chunk],
    *,
    seed: int,
    ready: bool = False,
    limits: Limits | None = None,
    advance: Callable[[int], None] | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> Selection:
    """Return the eligible chunks, one per cluster of near-duplicates, in drawing order.

    The choice depends on the chunks, the seed and the limits, not on the order of the chunks.

    Args:
        chunks: All chunks; each is read once, near-duplicates a few times more.
        seed: Any whole number; another seed draws other chunks.
        ready: Whether the chunks are rows of a table, for which shorter texts are allowed.
        limits: Thresholds of the rules; by default `READY` or `Limits()`, depending on ``ready``.
        advance: Called with the number of chunks that were looked at.
        tell: Takes a line on how far the comparison of near-duplicates is.
    """
    limits = limits or (READY if ready else Limits())
    faults = np.zeros(len(chunks), np.uint8)
    draws = np.zeros(len(chunks), np.uint64)
    sources = np.zeros(len(chunks), np.uint64)
    sketches = Sketches.empty(len(chunks))
    for position, chunk in enumerate(chunks):
        rule = chunk_fault(chunk, limits, ready=ready)
        faults[position] = _NAMES.index(rule) + 1 if rule else 0
        draws[position] = draw_of(chunk, seed=seed)
        sources[position] = number_of(chunk.span.doc_id)
        write_sketch(chunk.text, sketches, position)
        if advance:
            advance(1)
    clusters = Clusters(cluster(sketches, text_at=lambda position: chunks.at(position).text, tell=tell))
    eligible = np.flatnonzero(faults == 0).astype(np.int32)
    chosen = _firsts(draws, clusters.labels, eligible)
    counts = np.bincount(faults, minlength=len(_NAMES) + 1).tolist()
    return Selection(
        order=_drawing_order(draws, sources, chosen),
        ineligible=Counter({name: n for name, n in zip(_NAMES, counts[1:], strict=True) if n}),
        near_duplicates=len(eligible) - len(chosen),
        clusters=clusters,
    )


def chunk_fault(chunk: Chunk, limits: Limits, *, ready: bool) -> str | None:
    """Return the name of the first rule that rejects a chunk, None for an eligible one.

    Args:
        chunk: The chunk.
        limits: Thresholds of the rules.
        ready: Whether the chunk is a row of a table, which stands on no page.
    """
    return fault(chunk.text, limits) or (None if ready else page_fault(chunk))


def draw_of(chunk: Chunk, *, seed: int) -> int:
    """Return the 64 bits that place a chunk among those of its document, then among all.

    They depend on the document's id and on how the chunk begins, so that a change further on in its text does not
    place it anew; where several begin alike, the last 20 bits, which depend on the chunk's id, tell them apart.

    Args:
        chunk: The chunk; one that is a whole document is known by its id alone.
        seed: Seed of the run.
    """
    own = number_of(seed, chunk.chunk_id)
    if chunk.chunk_id == chunk.span.doc_id:
        return own
    opening = " ".join(unicodedata.normalize("NFC", chunk.text[: 2 * OPENING]).split())[:OPENING]
    return number_of(seed, chunk.span.doc_id, opening) & ~_BY_ID | own & _BY_ID


def _drawing_order(
    draws: npt.NDArray[np.uint64], sources: npt.NDArray[np.uint64], positions: npt.NDArray[np.int32]
) -> npt.NDArray[np.int32]:
    """Return the positions in the order in which they are drawn.

    Within its document a chunk is ranked by its hash; all are then sorted by rank, and by hash within a rank. So the
    first n chunks give every document one before any gets two, and two before any gets three; only documents without
    further chunks fall behind. No other way of drawing n chunks gives a smaller largest share, so no document exceeds
    5 % (or any share) if the others have enough chunks. A new document takes places of its own and moves the others
    back, but never changes their order.

    Args:
        draws: The 64 bits of `draw_of` for every chunk.
        sources: A 64-bit hash of the id of every chunk's document.
        positions: The chunks that may be drawn.
    """
    by_source = positions[np.lexsort((draws[positions], sources[positions]))]
    source = sources[by_source]
    begins = np.flatnonzero(np.diff(source, prepend=source[:1] ^ np.uint64(1)))
    rank = np.arange(len(source)) - np.repeat(begins, np.diff(begins, append=len(source)))
    return by_source[np.lexsort((draws[by_source], rank))]


def _firsts(
    draws: npt.NDArray[np.uint64], labels: npt.NDArray[np.int32], positions: npt.NDArray[np.int32]
) -> npt.NDArray[np.int32]:
    """Return the position of each cluster that is drawn first, whatever the order of the chunks."""
    ordered = positions[np.lexsort((draws[positions], labels[positions]))]
    label = labels[ordered]
    return ordered[np.concatenate(([True], label[1:] != label[:-1]))] if len(ordered) else ordered
