"""What must be said wherever simulated queries are shown."""

from __future__ import annotations


def notice(recipe: str) -> str:
    """Return the warning that travels with queries of this recipe."""
    return (
        f"Offline simulated queries (recipe {recipe}, no language model). They are made of the collection's own words, "
        "so they favour word matching. On six collections with human judgments such sets ordered 16 lexical systems as "
        "people's queries do with a mean tau of .51 to .57 (.19 to .87 by collection); two halves of people's queries: "
        ".66. Use them for smoke tests and regressions of one system, not to choose a retriever."
    )
