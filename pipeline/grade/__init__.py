"""Grading a set: its pool, the judge's answers, and what comes of them, put into the folder it came from."""

from pipeline.grade.gradable_set import GradableSet, carried_rankings
from pipeline.grade.outcome import Outcome
from pipeline.grade.panel import ACCOUNTS, ModelPanel
from pipeline.grade.session import Graded, Pools, Work, grade_folder, grade_place, plan_folder

__all__ = [
    "ACCOUNTS",
    "GradableSet",
    "Graded",
    "ModelPanel",
    "Outcome",
    "Pools",
    "Work",
    "carried_rankings",
    "grade_folder",
    "grade_place",
    "plan_folder",
]
