"""What a retriever should reach, by what it is for: starting points to be replaced by one's own."""

from __future__ import annotations

from collections.abc import Mapping

TARGETS: Mapping[str, Mapping[str, float]] = {
    "precise-qa": {"r@5": 0.8, "r@10": 0.9, "mrr": 0.7, "ndcg@10": 0.8},
    "general": {"r@5": 0.6, "r@10": 0.8, "mrr": 0.6, "ndcg@10": 0.7},
    "exploratory": {"r@5": 0.4, "r@10": 0.7, "mrr": 0.5, "ndcg@10": 0.6},
}
"""Lowest means by scenario: one right answer wanted at the top, everyday search, browsing for anything useful."""
