"""Results of ``bench``: the figures of every system, its times, and published figures beside them."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from goldbench.records.record import Record
from goldbench.records.scorecard import Scorecard


class Latency(Record):
    """Milliseconds per query: the median, and the time that 95 of 100 queries stay under (by linear interpolation)."""

    p50_ms: float = Field(ge=0)
    p95_ms: float = Field(ge=0)


class Timing(Record):
    """The times of one system, measured with one query at a time after a discarded warm-up.

    ``index_s`` is the time to index without embedding, ``index_embed_s`` the time of embedding. ``whole`` is the time
    of a query from text to results, ``search`` the same without the parts of a model: ``embed``, ``rerank`` and
    ``expand``, None if no model took part.
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


class SystemMeasurement(Record):
    """Record of a searched system: the fingerprint of its inputs, its run, and its times.

    ``fingerprint`` is the SHA-256 of settings, files, queries and passages, ``run_sha256`` that of the run's bytes.
    """

    format: int = 1
    system: str
    fingerprint: str
    run_sha256: str
    timing: Timing


class OtherChunking(Record):
    """Another chunking of the documents than the gold set's, in characters, to which labels were projected."""

    size: int = Field(ge=1)
    overlap: int = Field(ge=0)


class Measurable(Record):
    """A system of the experiment: its full settings, with those of the systems it combines, and its run's file."""

    system: str
    settings: dict[str, Any]
    chunking: OtherChunking | None = None
    passages: int = Field(ge=0)
    run: str
    run_sha256: str


class FailedSystem(Record):
    """A system that could not be measured, and the reason on one line."""

    system: str
    problem: str


class PublishedRow(Record):
    """Published figures of one system by measure, and the measured systems that they stand beside."""

    published: str
    beside: tuple[str, ...]
    values: dict[str, float]


class Experiment(Record):
    """Everything an experiment found except times: a function of gold set, settings, seed and answers.

    ``card`` holds the systems, best first by its first measure, every requested measure, and comparisons by the
    measures in ``compared``: of all pairs, or of each system with ``baseline``.
    """

    format: int = 1
    compared: tuple[str, ...]
    baseline: str | None = None
    depth: int = Field(ge=1)
    card: Scorecard
    systems: list[Measurable]
    failures: list[FailedSystem] = Field(default_factory=list)
    published: list[PublishedRow] = Field(default_factory=list)
    notes: list[str] = Field(default_factory=list)
    notice: str | None = None


class Timings(Record):
    """The times of every system, in a file of their own because they differ from run to run."""

    format: int = 1
    timings: dict[str, Timing] = Field(default_factory=dict)
