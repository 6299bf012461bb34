"""What must be said wherever simulated queries are shown."""

from __future__ import annotations


def notice(recipe: str) -> str:
    """Return the warning that travels with queries of this recipe."""
    return (
        f"Offline simulated queries (recipe {recipe}, no language model). They are made of the collection's own words, "
        "so they favour word matching and order systems only coarsely as people's queries would. Use them for smoke "
        "tests and regressions of one system, not to choose a retriever."
    )
