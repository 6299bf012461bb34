"""The warning that goes with simulated queries; a module of its own because commands show it without simulating."""

from __future__ import annotations

COLLECTIONS = 13
TAU = ".59"
LOWEST = ".23"
HIGHEST = ".88"
"""Kendall's tau-b with people's queries: mean, lowest and highest of the collections, as printed by
``python -m tests.benchmarks.offline_validity``."""
PEOPLE = ".84"
"""The same of two full sets of people's queries, mean."""


NOTICE = (
    "Offline simulated queries (no language model). They are made of the collection's own words, so they favour word "
    f"matching. On {COLLECTIONS} collections with human judgments such sets ordered 16 lexical systems as people's "
    f"queries do with a mean tau of {TAU} ({LOWEST} to {HIGHEST} by collection); two sets of people's queries: "
    f"{PEOPLE}. Use them for smoke tests and regressions of one system, not to choose a retriever."
)
"""The warning that goes with simulated queries."""


def tiny_model_notice(model: str) -> str:
    """Return the warning for queries that a tiny model asked about single sentences."""
    return (
        f"Questions about single sentences, formed by rules and chosen by a tiny model ({model}), about English "
        "passages alone. Such questions use the words of their sentence, so they "
        "favour word matching. Use them for smoke tests and regressions of one system, not to choose a retriever."
    )
