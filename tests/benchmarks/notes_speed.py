"""The selection among short notes that are much alike, as an operator or a shop writes by the thousand.

What is measured is how the time grows: each note may be compared with a bounded number of others.
"""

from __future__ import annotations

import os
import random
import time

import psutil

from goldbench.pipeline.stages.select import Selection, select
from goldbench.schemas.corpus import Chunk, Span

SIZES = (16_000, 160_000)
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
    """Measure both sizes, with the notes as rows of a table and as documents that are too short."""
    sizes = [int(size) for size in os.environ.get("SIZES", "").split(",") if size] or list(SIZES)
    print("Selection among short notes that are much alike; one process, CPU seconds")
    for ready, name in ((True, "rows of a table, all compared"), (False, "documents, all too short")):
        took = []
        for size in sizes:
            found, selection = seconds(notes(size), ready=ready)
            took.append(found)
            print(f"{size:>8,} notes as {name}: {found:.1f} s, {selection.eligible:,} eligible", flush=True)
        if len(sizes) > 1:
            more, ratio = sizes[-1] / sizes[0], took[-1] / took[0]
            print(f"{more:.0f} times the notes take {ratio:.1f} times the time, load {psutil.getloadavg()[0]:.1f}")
