"""The warning that goes with simulated queries; a module of its own because commands show it without simulating."""

from __future__ import annotations

TAU = {"terms": (".57", ".21", ".87"), "held-out": (".47", ".13", ".69"), "mixed": (".51", ".19", ".80")}
"""Kendall's tau-b with people's queries by recipe: mean, lowest and highest of six collections, as measured by
``tests.benchmarks.offline_validity``."""


def notice(recipe: str) -> str:
    """Return the warning for queries of a recipe."""
    mean, low, high = TAU[recipe]
    return (
        f"Offline simulated queries (recipe {recipe}, no language model). They are made of the collection's own words, "
        "so they favour word matching. On six collections with human judgments such sets ordered 16 lexical systems as "
        f"people's queries do with a mean tau of {mean} ({low} to {high} by collection); two halves of people's "
        "queries: .66. Use them for smoke tests and regressions of one system, not to choose a retriever."
    )


def small_model_notice(model: str) -> str:
    """Return the warning for queries that a small model asked about single sentences."""
    return (
        f"Questions about single sentences, asked by a small model ({model}); passages that it cannot serve have "
        "simulated queries, marked in each query's generator. Such questions use the words of their sentence, so they "
        "favour word matching. Use them for smoke tests and regressions of one system, not to choose a retriever."
    )
