"""The books of a run: counts and failures as it goes, and the manifest they end in."""

from __future__ import annotations

import importlib.metadata
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from goldbench import __version__
from goldbench.config import Config, Generator
from goldbench.generate.answer_search import RETRIEVERS
from goldbench.generate.drawn_queries import DrawnQueries
from goldbench.goldset.folder import stamp
from goldbench.offline.notice import NOTICE, tiny_model_notice
from goldbench.ports import Author
from goldbench.records.manifest import (
    Failure,
    FileEncoding,
    KindCount,
    Manifest,
    RequestCounts,
    SharedLine,
    StageReport,
    StageUsage,
)

SHAPING_PACKAGES = ("langchain-text-splitters", "numpy", "openai", "py3langid", "pydantic", "scipy")
"""The packages whose behaviour shapes a gold set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What became of the items that a stage read; ``rules`` counts the rejected ones, ``left_out`` parts of others."""

    read: int
    written: int
    failed: int = 0
    unused: int = 0
    rules: Mapping[str, int] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)
    shared: Sequence[SharedLine] = ()
    encodings: Mapping[str, int] = field(default_factory=dict)
    uncertain: Sequence[FileEncoding] = ()


@dataclass(slots=True)
class Books:
    """The counts and failures of one run, as it goes."""

    reports: list[StageReport] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    started: float = field(default_factory=time.monotonic)

    def enter(self, counts: Counts, *, stage: str, reads: str, writes: str) -> None:
        """Enter the report of a stage.

        Args:
            counts: What became of the items it read; must add up.
            stage: The name of the stage.
            reads: The file it read.
            writes: The file it wrote.
        """
        used = {rule: count for rule, count in sorted(counts.rules.items()) if count}
        report = StageReport(
            stage=stage,
            reads=reads,
            writes=writes,
            read=counts.read,
            written=counts.written,
            rejected=sum(used.values()),
            failed=counts.failed,
            unused=counts.unused,
            rules=used,
            left_out={part: count for part, count in sorted(counts.left_out.items()) if count},
            shared=list(counts.shared),
            encodings=dict(sorted(counts.encodings.items())),
            uncertain=list(counts.uncertain),
        )
        self.reports.append(report)

    def manifest(
        self,
        config: Config,
        drawn: DrawnQueries,
        generator: Author,
        *,
        documents: int,
        prompts: Mapping[str, str],
        usage: Mapping[str, StageUsage],
        kinds: Mapping[str, KindCount],
    ) -> Manifest:
        """Return the record of the run; its files are entered when they are put in place.

        Args:
            config: The configuration of the run.
            drawn: The candidates and queries.
            generator: Who wrote the queries.
            documents: How many documents were read.
            prompts: The digest of every prompt in use, by its id.
            usage: What the calls cost, by stage.
            kinds: How many queries of each kind there are, empty if the kinds have no exact shares.
        """
        return Manifest(
            **stamp(self.started),
            generator=generator.name,
            evidence_level=generator.evidence_level,
            model=config.model.name if config.generate.generator is Generator.MODEL else None,
            generators=dict(sorted(Counter(query.generator for query in drawn.queries).items())),
            prompts=dict(prompts),
            config_sha256=config.fingerprint(prompts),
            documents=documents,
            target=config.generate.queries,
            queries=len(drawn.queries),
            mix=_mix(drawn),
            kinds=dict(kinds),
            stages=self.reports,
            failures=self.failures,
            usage=dict(usage),
            packages={name: importlib.metadata.version(name) for name in SHAPING_PACKAGES},
        )


def warning(config: Config) -> str:
    """Return the warning for queries that are simulated, or formed from sentences by a tiny model."""
    generate = config.generate
    if generate.generator is Generator.MODEL:
        return tiny_model_notice(config.model.name or "a tiny model")
    return NOTICE


def described(config: Config, drawn: DrawnQueries, generator: Author) -> dict[str, object]:
    """Return the gold set's metadata: how it was made, and how far it can be trusted."""
    metadata = describe_shaping(generator.name, generator.evidence_level, config)
    if config.generate.generator is Generator.MODEL:
        metadata["model"] = config.model.name
    if generator.evidence_level == "smoke":
        metadata["notice"] = warning(config)
    if drawn.unanswerable:
        metadata["unanswerable"] = {
            "queries": len(drawn.unanswerable),
            "judged_pairs": len(drawn.judgments),
            "retrievers": list(RETRIEVERS),
        }
    return metadata


def describe_shaping(generator: str, evidence_level: str, config: Config) -> dict[str, object]:
    """Return the part of a set's metadata that does not depend on its queries."""
    passages = {"size": config.chunk.size, "overlap": config.chunk.overlap_characters}
    return {
        "generator": generator,
        "evidence_level": evidence_level,
        "seed": config.generate.seed,
        "chunk": "ready chunks, as given" if config.documents.no_chunk else passages,
        "corpus": {"title": config.corpus.title.value},
        "goldbench": __version__,
    }


def _mix(drawn: DrawnQueries) -> dict[str, dict[str, RequestCounts]]:
    """Return how many queries of each type and style were asked for and how many were kept."""
    counted: dict[str, dict[str, RequestCounts]] = {}
    for name in ("kind", "style"):
        asked = Counter(str(getattr(item.asked, name)) for item in drawn.candidates if item.asked is not None)
        there = (*drawn.queries, *drawn.unanswerable)
        kept = Counter(str(getattr(query, name)) for query in there if query.asked is not None)
        if asked:
            counted[name] = {
                value: RequestCounts(asked=asked[value], kept=kept[value]) for value in sorted(asked | kept)
            }
    return counted
