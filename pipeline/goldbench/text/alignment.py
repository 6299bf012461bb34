"""Places of overlapping pieces in the text they were cut from, also if the text repeats itself."""

from __future__ import annotations

from collections.abc import Iterator

MAX_STEPS = 2_000_000
"""Places tried before the search fails; usually one per piece is enough."""


def locate(text: str, pieces: list[str], *, overlap: int) -> list[int]:
    """Return the start of every piece, so that each begins within or right after the one before it.

    The first piece starts the text and the last one ends it. Repetitive text ("aaaa …") offers a piece several places:
    the one that shares most with the piece before is tried first, and a choice that leads nowhere is undone. A place
    found wrong for a piece is not tried again, so the work is bounded by pieces times places.

    Args:
        text: The text that the pieces were cut from.
        pieces: The pieces in order, none empty.
        overlap: Most characters that two neighbours may share.

    Raises:
        RuntimeError: No sequence of places was found.
    """
    starts = [0]
    untried: list[Iterator[int]] = []
    wrong: set[tuple[int, int]] = set()
    for _ in range(MAX_STEPS + len(pieces)):
        index = len(starts)
        end = starts[-1] + len(pieces[index - 1])
        if index == len(pieces) and end == len(text):
            return starts
        first = max(starts[-1] + 1, end - overlap)
        untried.append(_places(text, pieces[index], first, end) if index < len(pieces) else iter(()))
        while (next_place := _next_place(untried[-1], len(starts), wrong)) is None:
            untried.pop()
            wrong.add((len(starts) - 1, starts.pop()))
            if not untried:
                raise RuntimeError("the pieces cannot be found in the text they were cut from")
        starts.append(next_place)
    raise RuntimeError(f"the pieces were not found in the text they were cut from in {MAX_STEPS} steps")


def _next_place(places: Iterator[int], index: int, wrong: set[tuple[int, int]]) -> int | None:
    return next((position for position in places if (index, position) not in wrong), None)


def _places(text: str, piece: str, first: int, end: int) -> Iterator[int]:
    """Yield the places of the piece from ``first`` to ``end``."""
    stop = end + len(piece)
    position = text.find(piece, first, stop)
    while position >= 0:
        yield position
        position = text.find(piece, position + 1, stop)
