"""What ``bench`` gives: the figures of every system, how long each took, and what was published beside them."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from schemas.record import Record
from schemas.scorecard import Scorecard


class Latency(Record):
    """Milliseconds per query: the median, and what 95 of 100 queries stay under (by linear interpolation)."""

    p50_ms: float = Field(ge=0)
    p95_ms: float = Field(ge=0)


class Timing(Record):
    """How long one system took, measured with one query at a time after a warm-up that is thrown away.

    ``index_s`` is the time to index without that of embedding, ``index_embed_s``. ``whole`` is the time of a query from
    text to results, ``search`` the same without the parts that a model took: ``embed``, ``rerank``, ``expand``, None
    where no model took part.
    """

    index_s: float = Field(ge=0)
    index_embed_s: float = Field(ge=0)
    passages: int = Field(ge=0)
    queries: int = Field(ge=1)
    warm_up: int = Field(ge=0)
    whole: Latency
    search: Latency
    embed: Latency | None = None
    rerank: Latency | None = None
    expand: Latency | None = None


class Measured(Record):
    """That a system has been searched: what shaped its run, which run that is, and how long it took.

    ``fingerprint`` is the SHA-256 of settings, files, queries and passages, ``run_sha256`` that of the run's bytes.
    """

    format: int = 1
    system: str
    fingerprint: str
    run_sha256: str
    timing: Timing


class Chunking(Record):
    """Another cut of the documents than the gold set's, in characters, for which labels were projected."""

    size: int = Field(ge=1)
    overlap: int = Field(ge=0)


class Measurable(Record):
    """A system of the experiment: its settings in full, with those of the systems it is made of, and its run's file."""

    system: str
    settings: dict[str, Any]
    chunking: Chunking | None = None
    passages: int = Field(ge=0)
    run: str
    run_sha256: str


class FailedSystem(Record):
    """A system that could not be measured, and why, in one line."""

    system: str
    problem: str


class PublishedRow(Record):
    """Figures that somebody printed for one system, by measure, and our systems they stand beside."""

    published: str
    beside: tuple[str, ...] = ()
    values: dict[str, float] = Field(default_factory=dict)
    note: str | None = None


class Difference(Record):
    """One published figure beside ours; ``queries`` is the difference times the number of queries."""

    published: str
    system: str
    measure: str
    value: float
    ours: float
    difference: float
    queries: float


class Experiment(Record):
    """Everything an experiment found but the times: a function of gold set, settings, seed and answers alone.

    ``card`` holds the systems, best first by its first measure, every measure asked for, and comparisons by the
    measures in ``compared``: of all pairs, or of each system with ``baseline``.
    """

    format: int = 1
    compared: tuple[str, ...]
    baseline: str | None = None
    depth: int = Field(ge=1)
    match: str = "id"
    card: Scorecard
    systems: list[Measurable]
    failures: list[FailedSystem] = Field(default_factory=list)
    published: list[PublishedRow] = Field(default_factory=list)
    differences: list[Difference] = Field(default_factory=list)
    notes: list[str] = Field(default_factory=list)
    notice: str | None = None


class Timings(Record):
    """How long every system took; kept apart, because it is never the same twice."""

    format: int = 1
    timings: dict[str, Timing] = Field(default_factory=dict)
