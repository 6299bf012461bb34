"""Retrieval systems by name: what they are set to, and how they are built, shared and closed again."""

from goldbench.systems.adapters import adapt
from goldbench.systems.lifetime import Systems, open_systems
from goldbench.systems.resolution import references, resolve

__all__ = ["Systems", "adapt", "open_systems", "references", "resolve"]
