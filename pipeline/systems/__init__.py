"""Retrieval systems by name: what they are set to, and how they are built, shared and closed again."""

from pipeline.systems.adapters import adapt
from pipeline.systems.lifetime import Systems, open_systems
from pipeline.systems.resolution import references, resolve

__all__ = ["Systems", "adapt", "open_systems", "references", "resolve"]
