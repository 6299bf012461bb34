"""Small corpora for the tests of the offline generator, and short ways to ask it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

from goldbench.offline.generator import OfflineGenerator
from goldbench.ports import Brief, Proposal
from goldbench.records.corpus import Chunk, Span
from goldbench.records.query import Assignment, Constraints, QueryKind, QueryStyle
from goldbench.text.draws import key_of

ASSIGNMENT = Assignment(kind=QueryKind.FACT, style=QueryStyle.KEYWORDS)

_SUBJECTS = "pump valve filter motor sensor battery cable display heater gasket".split()  # noqa: SIM905 - as a sentence
_ACTIONS = "replace inspect clean tighten calibrate measure drain store connect lubricate".split()  # noqa: SIM905
_PLACES = "housing bracket panel flange chamber inlet outlet cover manifold reservoir".split()  # noqa: SIM905
_REASONS = "leakage corrosion overheating vibration noise pressure moisture dust wear voltage".split()  # noqa: SIM905
_TIMES = "weekly monthly yearly daily quarterly seasonally initially finally regularly rarely".split()  # noqa: SIM905


def manual_page(number: int) -> str:
    """Return a page of a made-up maintenance manual, five sentences long."""

    def pick(words: Sequence[str], purpose: str) -> str:
        return words[key_of(number, purpose) % len(words)]

    return " ".join(
        f"Technicians {pick(_TIMES, f'time{line}')} {pick(_ACTIONS, f'action{line}')} "
        f"the {pick(_SUBJECTS, f'part{line}')} "
        f"near the {pick(_PLACES, f'place{line}')} because {pick(_REASONS, f'reason{line}')} damages the "
        f"{pick(_SUBJECTS, f'other{line}')}s of machine model{number}."
        for line in range(5)
    )


def chunk(text: str, name: str = "c", *, start: int = 0, headings: tuple[str, ...] = (), title: str = "") -> Chunk:
    """Return a chunk that begins at this character of its document."""
    span = Span(doc_id=f"doc-{name}", start=start, end=start + len(text))
    return Chunk(chunk_id=f"chunk-{name}-{start}", span=span, text=text, headings=headings, title=title)


def manual(size: int) -> list[Chunk]:
    """Return the first pages of the manual, one chunk each."""
    return [chunk(manual_page(number), str(number)) for number in range(size)]


def fitted(chunks: Iterable[Chunk], seed: int = 1) -> OfflineGenerator:
    """Return a generator fitted to chunks."""
    return OfflineGenerator(chunks, seed=seed)


def brief(asked: Chunk, constraints: Constraints | None = None, language: str | None = "en") -> Brief:
    """Return a brief about one chunk."""
    return Brief(chunk=asked, assignment=ASSIGNMENT, constraints=constraints or Constraints(), language=language)


def proposed(generator: OfflineGenerator, asked: Chunk, constraints: Constraints | None = None) -> Proposal:
    """Return what the generator proposes for one chunk."""
    return asyncio.run(generator.propose(brief(asked, constraints)))
