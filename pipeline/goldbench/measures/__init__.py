"""Measures, significance and agreement: arithmetic on ids and numbers, without services and file formats.

``from goldbench.measures import evaluate`` scores dicts and frames.
"""

from goldbench.measures.evaluation import evaluate

__all__ = ["evaluate"]
