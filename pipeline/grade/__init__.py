"""Grade a set: pool chunks, ask the judges, and put the grades into its folder."""

from pipeline.grade.gradable_set import GradableSet, carried_rankings
from pipeline.grade.outcome import Outcome
from pipeline.grade.panel import ACCOUNTS, ModelPanel
from pipeline.grade.retriever_pool import Pools
from pipeline.grade.session import Graded, Work, grade_folder, grade_place, plan_folder

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
