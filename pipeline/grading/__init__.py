"""Grading a set: its pool, the judge's answers, and what comes of them, put into the folder it came from."""

from pipeline.grading.material import Material, carried_rankings
from pipeline.grading.outcome import Outcome
from pipeline.grading.panel import ACCOUNTS, ModelPanel
from pipeline.grading.run import Graded, Pools, Work, grade_folder, grade_place, plan_folder

__all__ = [
    "ACCOUNTS",
    "Graded",
    "Material",
    "ModelPanel",
    "Outcome",
    "Pools",
    "Work",
    "carried_rankings",
    "grade_folder",
    "grade_place",
    "plan_folder",
]
