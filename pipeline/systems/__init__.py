"""Retrieval systems by name: what they are set to, and how they are built, shared and closed again."""

from pipeline.systems.adapting import adapt
from pipeline.systems.opening import Systems, open_systems
from pipeline.systems.resolving import references, resolve

__all__ = ["Systems", "adapt", "open_systems", "references", "resolve"]
