"""Which vendor a model is from, by its name, and whether one vendor's models make, judge and are judged."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files

from goldbench.card.described_set import DescribedSet

Parties = dict[str, list[tuple[str, str | None]]]
"""The models and systems in each role, by name, each with its vendor or None if it is not known."""


def vendor_of(name: str) -> str | None:
    """Return the vendor of a model, None if no pattern matches its name."""
    return next((vendor for vendor, pattern in _vendors().items() if re.search(pattern, name, re.IGNORECASE)), None)


@cache
def _vendors() -> dict[str, str]:
    return tomllib.loads(files("goldbench.card").joinpath("vendors.toml").read_text(encoding="utf-8"))


def parties(material: DescribedSet) -> Parties:
    """Return the models that wrote, criticised, judged and embedded, and the systems being measured, from the files."""
    manifest = material.manifest
    model = manifest.model if manifest and manifest.model else None
    critics = material.settings.get("critics", {})
    criticised = bool(critics.get("use")) if isinstance(critics, Mapping) else False
    judges = sorted({judgment.assessor for judgment in material.judgments})
    if not judges and manifest is not None and manifest.grading is not None:
        judges = sorted(manifest.grading.assessors)
    model_settings = material.settings.get("model", {})
    embedding = model_settings.get("embedding") if isinstance(model_settings, Mapping) else None
    roles = {
        "generator": [model] if model else [],
        "critic": [model] if model and criticised else [],
        "judge": _models(judges),
        "embedder": [embedding] if isinstance(embedding, str) else [],
        "evaluated": sorted(material.runs),
    }
    return {role: [(name, vendor_of(name)) for name in names] for role, names in roles.items()}


def _models(assessors: Sequence[str]) -> list[str]:
    """Return the distinct models of assessors named ``model/prompt``."""
    return sorted({assessor.rpartition("/")[0] or assessor for assessor in assessors})


def overlapping(models: Parties) -> list[str]:
    """Return one line per vendor in two conflicting roles: generator and judge, or maker of the set and system."""
    lines = []
    for first, second in (
        ("generator", "judge"),
        ("generator", "evaluated"),
        ("critic", "evaluated"),
        ("judge", "evaluated"),
        ("embedder", "evaluated"),
    ):
        shared = {label for _, label in models[first] if label} & {label for _, label in models[second] if label}
        lines += [f"{first} and {second} are {label}" for label in sorted(shared)]
    same = {name for name, label in models["generator"] if label is None} & {name for name, _ in models["judge"]}
    return lines + [f"generator and judge are {name}" for name in sorted(same)]
