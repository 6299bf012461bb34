"""The books of a run: counts, failures and files as it goes, and the manifest they end in."""

from __future__ import annotations

import datetime
import importlib.metadata
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pipeline.build.waves import Drawn
from pipeline.config import Config
from pipeline.goldset.file_names import CHUNKS, CORPUS_COPY
from pipeline.offline.notice import notice
from pipeline.ports import QueryGenerator
from schemas.manifest import Asked, Failure, Manifest, StageReport, StageUsage

SHAPING_PACKAGES = ("langchain-text-splitters", "numpy", "openai", "py3langid", "pydantic", "scipy")
"""The packages whose behaviour shapes a gold set."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One line of the table of contents."""

    name: str
    reads: str
    writes: str
    work: str


@dataclass(slots=True)
class Books:
    """The counts, failures and files of one run, as it goes."""

    stages: Sequence[Stage]
    reports: list[StageReport] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    started: float = field(default_factory=time.monotonic)

    def close(self, name: str, *, rules: Mapping[str, int] | None = None, **counts: int) -> None:
        """Enter a stage's report; its counts must add up."""
        stage = next(stage for stage in self.stages if stage.name == name)
        used = {rule: count for rule, count in sorted((rules or {}).items()) if count}
        rejected = sum(used.values())
        self.reports.append(
            StageReport(stage=name, reads=stage.reads, writes=stage.writes, rejected=rejected, rules=used, **counts)
        )

    def manifest(
        self,
        config: Config,
        drawn: Drawn,
        generator: QueryGenerator,
        *,
        documents: int,
        prompts: Mapping[str, str],
        usage: Mapping[str, StageUsage],
    ) -> Manifest:
        """Return the record of the run; which files it wrote is entered when they are put in place."""
        return Manifest(
            goldset=importlib.metadata.version("goldset"),
            created=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            seconds=round(time.monotonic() - self.started, 3),
            generator=generator.name,
            evidence_level=generator.evidence_level,
            model=config.model.name if generator.evidence_level == "model" else None,
            prompts=dict(prompts),
            config_sha256=config.fingerprint(prompts),
            documents=documents,
            target=config.generate.queries,
            queries=len(drawn.queries),
            mix=_mix(drawn),
            stages=self.reports,
            failures=self.failures,
            usage=dict(usage),
            packages={name: importlib.metadata.version(name) for name in SHAPING_PACKAGES},
        )


def described(config: Config, drawn: Drawn, generator: QueryGenerator) -> dict[str, object]:
    """Return what travels with the gold set: how it was made, and how far it can be trusted."""
    metadata: dict[str, object] = {
        "generator": generator.name,
        "evidence_level": generator.evidence_level,
        "seed": config.generate.seed,
        "chunk": {"size": config.chunk.size, "overlap": config.chunk.overlap_characters},
        "goldset": importlib.metadata.version("goldset"),
    }
    if config.documents.no_chunk:
        metadata["chunk"] = "ready chunks, as given"
    if generator.evidence_level == "smoke":
        metadata["recipe"] = config.generate.recipe.value
        metadata["notice"] = notice(config.generate.recipe.value)
    else:
        metadata["model"] = config.model.name
    if any(query.masked for query in drawn.queries):
        metadata["masked"] = (
            f"The sentences asked about are taken out of the corpus here; {CHUNKS} and original_text in "
            f"{CORPUS_COPY} hold the original. Do not score against an index of the original text."
        )
    return metadata


def _mix(drawn: Drawn) -> dict[str, dict[str, Asked]]:
    """Return how many queries of each type and style were asked for and how many were kept."""
    counted: dict[str, dict[str, Asked]] = {}
    for name in ("kind", "style"):
        asked = Counter(str(getattr(item.asked, name)) for item in drawn.candidates if item.asked is not None)
        kept = Counter(str(getattr(query, name)) for query in drawn.queries if query.asked is not None)
        if asked:
            counted[name] = {value: Asked(asked=asked[value], kept=kept[value]) for value in sorted(asked | kept)}
    return counted
