"""The selection among short notes that are much alike, as an operator or a shop writes by the thousand.

What is measured is how the time grows: each note may be compared with a bounded number of others.
"""

from __future__ import annotations

import os
import random
import statistics
import time

from goldbench.records.corpus import Chunk, Span
from goldbench.stages.select import Selection, select
from tests.benchmarks import rows

SIZES = (16_000, 160_000)
MOST_GROWTH = 1.2
"""The bar: how much longer a note may take among more notes."""
PEOPLE = ("Anna", "Boris", "Clara", "David", "Emma", "Farid", "Greta", "Henry")


class Held(list[Chunk]):
    """Chunks in memory, read as stored ones are."""

    def at(self, position: int) -> Chunk:
        return self[position]


def notes(count: int) -> Held:
    """Return notes of 24 words of which five differ from note to note."""
    chance = random.Random(1)
    return Held(_chunk(number, _note(chance, number)) for number in range(count))


def _note(chance: random.Random, number: int) -> str:
    pump, hall, person = chance.randrange(400), chance.randrange(9), chance.choice(PEOPLE)
    return (
        f"Note {number}: pump {pump} in hall {hall} was checked by {person}, all values are normal, the pressure is "
        f"{chance.randrange(100)} bar and the oil is clean."
    )


def _chunk(number: int, text: str) -> Chunk:
    doc_id = f"note-{number}"
    return Chunk(chunk_id=doc_id, span=Span(doc_id=doc_id, start=0, end=len(text)), text=text)


def seconds(chunks: Held, *, ready: bool) -> tuple[float, Selection]:
    """Return the CPU seconds of a selection, and the selection."""
    started = time.process_time()
    selection = select(chunks, seed=1, ready=ready)
    return time.process_time() - started, selection


def main() -> None:
    """Print how much longer ten times the notes take, as rows of a table and as documents that are too short."""
    sizes = [int(size) for size in os.environ.get("SIZES", "").split(",") if size] or list(SIZES)
    print("\nselection among short notes that are much alike; one process, seconds of the processors")
    rows.heading()
    for ready, name in ((True, "rows of a table, all compared"), (False, "documents, all too short")):
        took = [statistics.median(seconds(notes(size), ready=ready)[0] for _ in range(rows.TIMES)) for size in sizes]
        for less, more, before, after in zip(sizes, sizes[1:], took, took[1:], strict=False):
            ratio, bar = after / before, MOST_GROWTH * more / less
            what, told = f"{more:,} notes as {name}", f"{ratio:.1f} x those of {less:,}"
            rows.row(what, f"{after:.1f} s", told, f"{bar:.0f} x", met=ratio <= bar)
