"""Which family a model is of, by its name, and where the same family makes, judges and is judged."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from pipeline.card.described_set import Material

_FAMILIES = tuple(
    (family, re.compile(pattern, re.IGNORECASE))
    for family, pattern in (
        ("OpenAI", r"(^|[^a-z])(gpt|chatgpt|openai|o[134](-|$)|text-embedding-(3|ada))"),
        ("Anthropic", r"claude|anthropic"),
        ("Google", r"gemini|gemma|palm|(^|[^a-z])flan|(^|[^a-z])m?t5([^a-z]|$)|text-embedding-00|gecko"),
        ("Meta", r"llama|contriever"),
        ("Mistral", r"mistral|mixtral|ministral|magistral|codestral"),
        ("Qwen", r"qwen|qwq|(^|[^a-z])gte-"),
        ("DeepSeek", r"deepseek"),
        ("Microsoft", r"(^|[^a-z])(phi-?\d|e5-|multilingual-e5)"),
        ("Cohere", r"cohere|command-(r|a)|embed-(english|multilingual)|rerank-(english|multilingual|v\d)"),
        ("BAAI", r"(^|[^a-z])bge-"),
        ("sentence-transformers", r"minilm|all-mpnet|msmarco-|sbert"),
        ("Nomic", r"nomic"),
        ("Jina", r"jina"),
        ("Voyage", r"voyage"),
        ("Zhipu", r"(^|[^a-z])(chat)?glm"),
        ("01.AI", r"(^|[^a-z])yi-"),
        ("Moonshot", r"kimi|moonshot"),
        ("IBM", r"granite"),
        ("NVIDIA", r"nemotron|nv-embed"),
        ("xAI", r"(^|[^a-z])grok"),
        ("Amazon", r"(^|[^a-z])(titan|nova-)"),
    )
)

Parties = dict[str, list[tuple[str, str | None]]]
"""By role, the names of those who play it, each with its family or None where that is not known."""


def family(name: str) -> str | None:
    """Return the family of a model by its name, None where no pattern knows it."""
    return next((label for label, pattern in _FAMILIES if pattern.search(name)), None)


def parties(material: Material) -> Parties:
    """Return who wrote, criticised and judged, what embedded, and what is evaluated, as far as the files say."""
    manifest = material.manifest
    model = manifest.model if manifest and manifest.model else None
    critics = material.settings.get("critics", {})
    criticised = bool(critics.get("use")) if isinstance(critics, Mapping) else False
    judges = sorted({judgment.assessor for judgment in material.judgments})
    if not judges and manifest is not None and manifest.grading is not None:
        judges = sorted(manifest.grading.assessors)
    embedded = material.settings.get("model", {})
    embedding = embedded.get("embedding") if isinstance(embedded, Mapping) else None
    roles = {
        "generator": [model] if model else [],
        "critic": [model] if model and criticised else [],
        "judge": _models(judges),
        "embedder": [embedding] if isinstance(embedding, str) else [],
        "evaluated": sorted(material.runs),
    }
    return {role: [(name, family(name)) for name in names] for role, names in roles.items()}


def _models(assessors: Sequence[str]) -> list[str]:
    """Return the models of assessors called ``model/prompt``, each once."""
    return sorted({assessor.rpartition("/")[0] or assessor for assessor in assessors})


def overlapping(found: Parties) -> list[str]:
    """Return one line for each family that stands on two sides: judge and generator, or any of ours and a system."""
    lines = []
    for one, other in (
        ("generator", "judge"),
        ("generator", "evaluated"),
        ("critic", "evaluated"),
        ("judge", "evaluated"),
        ("embedder", "evaluated"),
    ):
        shared = {label for _, label in found[one] if label} & {label for _, label in found[other] if label}
        lines += [f"{one} and {other} are {label}" for label in sorted(shared)]
    same = {name for name, label in found["generator"] if label is None} & {name for name, _ in found["judge"]}
    return lines + [f"generator and judge are {name}" for name in sorted(same)]
