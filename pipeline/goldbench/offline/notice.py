"""The warning that goes with simulated queries; a module of its own because commands show it without simulating."""

from __future__ import annotations

COLLECTIONS = 13
TAU = {"terms": (".58", ".22", ".88"), "held-out": (".60", ".19", ".86"), "mixed": (".60", ".19", ".84")}
"""Kendall's tau-b with people's queries by recipe: mean, lowest and highest of the collections, as printed by
``python -m tests.benchmarks.offline_validity``."""
PEOPLE = ".84"
"""The same of two full sets of people's queries, mean."""


def notice(recipe: str) -> str:
    """Return the warning for queries of a recipe."""
    mean, low, high = TAU[recipe]
    return (
        f"Offline simulated queries (recipe {recipe}, no language model). They are made of the collection's own words, "
        f"so they favour word matching. On {COLLECTIONS} collections with human judgments such sets ordered 16 lexical "
        f"systems as people's queries do with a mean tau of {mean} ({low} to {high} by collection); two sets of "
        f"people's queries: {PEOPLE}. Use them for smoke tests and regressions of one system, not to choose a "
        "retriever."
    )


def tiny_model_notice(model: str) -> str:
    """Return the warning for queries that a tiny model asked about single sentences."""
    return (
        f"Questions about single sentences, formed by rules and chosen by a tiny model ({model}), about English "
        "passages alone. Such questions use the words of their sentence, so they "
        "favour word matching. Use them for smoke tests and regressions of one system, not to choose a retriever."
    )
