"""How many queries of each kind are wanted and there; kinds that cannot be written give their share to the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from goldbench.pipeline.stages.check import Finding
from goldbench.pipeline.stages.generate import allotted, quotas
from goldbench.schemas.query import Candidate, QueryKind

TRIES = 20
"""Proposals of a kind after which it is dropped if too few of them were accepted."""
LEAST_ACCEPTED = 0.1
"""Share of those proposals, 0 to 1, that must be accepted for the kind to stay."""


def too_few(kept: int, tries: int) -> str | None:
    """Return why a kind is dropped, None if it stays.

    Args:
        kept: How many proposals were accepted.
        tries: How many there were.
    """
    if tries < TRIES or kept >= LEAST_ACCEPTED * tries:
        return None
    return f"{kept} of {tries} proposals were accepted, fewer than {LEAST_ACCEPTED:.0%}".replace("%", " %")


@dataclass(slots=True)
class PassageKinds:
    """What is asked about single passages, so that each kind gets its number.

    Args:
        wanted: How many queries of each kind are wanted.
        seed: Seed of the run.
        dropped: Takes the kinds that the model cannot write, with the reason; the others get their number.
    """

    wanted: dict[QueryKind, int]
    seed: int
    dropped: dict[QueryKind, str] = field(default_factory=dict)
    kept: Counter[QueryKind] = field(default_factory=Counter)
    _tries: Counter[QueryKind] = field(default_factory=Counter)
    _kept_as_asked: Counter[QueryKind] = field(default_factory=Counter)

    def asked(self, chunk_ids: Sequence[str]) -> dict[str, QueryKind]:
        """Return the kind to ask for about each chunk, by its id.

        Args:
            chunk_ids: Ids of the chunks, in drawing order.
        """
        missing = {kind: count - self.kept[kind] for kind, count in self.wanted.items()}
        if not any(missing.values()):
            return {}
        return dict(zip(chunk_ids, allotted(chunk_ids, missing, seed=self.seed), strict=True))

    def refuse(self, candidate: Candidate) -> Finding | None:
        """Return why a candidate is not needed, None if a query of its kind is missing."""
        kind = _kind(candidate)
        if self.kept[kind] < self.wanted.get(kind, 0):
            return None
        return Finding("kind-quota", f"there are enough queries of the kind {kind.value}")

    def count(self, candidate: Candidate) -> None:
        """Count an accepted candidate."""
        self.kept[_kind(candidate)] += 1
        if candidate.asked is not None and candidate.asked.kind is _kind(candidate):
            self._kept_as_asked[candidate.asked.kind] += 1

    def tried(self, candidates: Iterable[Candidate]) -> None:
        """Count proposals about one chunk as tries of the kind that was asked for."""
        self._tries.update({one.asked.kind for one in candidates if one.asked is not None})

    def drop_hopeless(self) -> None:
        """Drop the kinds of which too few proposals were accepted, and share out what they lack."""
        for kind, count in list(self.wanted.items()):
            missing = count - self.kept[kind]
            others = {other: self.wanted[other] for other in self.wanted if other not in {kind, *self.dropped}}
            reason = too_few(self._kept_as_asked[kind], self._tries[kind])
            if missing and reason is not None and others and kind not in self.dropped:
                self.dropped[kind] = reason
                self.wanted[kind] = self.kept[kind]
                for other, more in quotas(others, missing).items():
                    self.wanted[other] += more


def _kind(candidate: Candidate) -> QueryKind:
    kind = candidate.kind or (candidate.asked.kind if candidate.asked else None)
    if kind is None:
        raise ValueError("a candidate without a kind cannot be counted")
    return kind
