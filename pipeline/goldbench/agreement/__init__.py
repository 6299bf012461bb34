"""Compare two sets of labels: on the pairs that both graded, and on the order of systems that each gives."""

from goldbench.agreement.label_pairs import agree, agree_within, final_grades
from goldbench.agreement.rankings import rank_runs

__all__ = ["agree", "agree_within", "final_grades", "rank_runs"]
