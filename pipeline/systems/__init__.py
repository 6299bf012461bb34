"""Retrieval systems by name: what they are set to, and how they are built, shared and closed again."""

from goldbench.pipeline.systems.adapters import adapt
from goldbench.pipeline.systems.lifetime import Systems, open_systems
from goldbench.pipeline.systems.resolution import references, resolve

__all__ = ["Systems", "adapt", "open_systems", "references", "resolve"]
