"""What is recorded of a run: the rejections of a stage, the manifest, and the metadata of the gold set."""

from __future__ import annotations

import importlib.metadata
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from goldbench import __version__
from goldbench.config import Config, Generator
from goldbench.generate.answer_search import RETRIEVERS
from goldbench.generate.drawn_queries import DrawnQueries
from goldbench.goldset.folder import stamp
from goldbench.offline.notice import NOTICE, tiny_model_notice
from goldbench.ports import Author
from goldbench.records.manifest import Manifest, RequestCounts, StageUsage

if TYPE_CHECKING:
    from goldbench.generate.steps import BuildRun

SHAPING_PACKAGES = ("langchain-text-splitters", "numpy", "openai", "py3langid", "pydantic", "scipy")
"""The packages whose behaviour shapes a gold set."""


def rejected_by(rules: Mapping[str, int]) -> dict[str, Any]:
    """Return the fields of a stage's report that count what was rejected by rule, without rules that rejected none."""
    used = {rule: count for rule, count in sorted(rules.items()) if count}
    return {"rules": used, "rejected": sum(used.values())}


def manifest_of(run: BuildRun, prompts: Mapping[str, str], usage: Mapping[str, StageUsage]) -> Manifest:
    """Return the record of a run; its files are entered when they are put in place.

    Args:
        run: The run, with its queries drawn.
        prompts: The digest of every prompt in use, by its id.
        usage: What the calls cost, by stage.
    """
    config = run.config
    return Manifest(
        **stamp(run.started),
        generator=run.generator.name,
        evidence_level=run.generator.evidence_level,
        model=config.model.name if config.generate.generator is Generator.MODEL else None,
        generators=dict(sorted(Counter(query.generator for query in run.drawn.queries).items())),
        prompts=dict(prompts),
        config_sha256=config.fingerprint(prompts),
        documents=len(run.documents),
        target=config.generate.queries,
        queries=len(run.drawn.queries),
        mix=_mix(run.drawn),
        kinds=dict(run.kinds),
        stages=run.reports,
        failures=run.failures,
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
        assigned = Counter(str(getattr(item.asked, name)) for item in drawn.candidates if item.asked is not None)
        queries = (*drawn.queries, *drawn.unanswerable)
        kept_counts = Counter(str(getattr(query, name)) for query in queries if query.asked is not None)
        if assigned:
            counted[name] = {
                value: RequestCounts(asked=assigned[value], kept=kept_counts[value])
                for value in sorted(assigned | kept_counts)
            }
    return counted
