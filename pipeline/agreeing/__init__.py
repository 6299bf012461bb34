"""Two sets of labels compared: on the pairs both graded, and on the order of systems that each of them gives."""

from pipeline.agreeing.pairs import agree, agree_within, final_grades
from pipeline.agreeing.rankings import rank_runs, rank_scores

__all__ = ["agree", "agree_within", "final_grades", "rank_runs", "rank_scores"]
