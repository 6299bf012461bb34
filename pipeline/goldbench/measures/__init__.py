"""Measures, significance and agreement: arithmetic on ids and numbers, without services and file formats.

``from goldbench.measures import evaluate`` scores dicts and frames.
"""

from __future__ import annotations

from typing import Any

from goldbench.measures.evaluation import evaluate

__all__ = ["evaluate"]


def __getattr__(name: str) -> Any:  # noqa: ANN401  a module's attribute can be anything
    if name == "evaluate":
        from goldbench.measures.evaluation import evaluate

        return evaluate
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
