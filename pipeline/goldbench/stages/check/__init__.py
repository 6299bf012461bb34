"""Mechanical checks: rules that a proposed query must pass before a model or a person looks at it.

Reads: a candidate, its chunk and the user's constraints. Writes: a finding (the first rule it breaks), or the query.
Fails: never; every text gets an answer.

``CHECKS`` lists the rules for one candidate in order, cheap ones first; ``SetChecks`` holds the rules that compare a
candidate with the other queries of the set.
"""

from goldbench.stages.check.kind_checks import ENOUGH, check_conversation, check_joined
from goldbench.stages.check.set_checks import SetChecks
from goldbench.stages.check.single_checks import accepted, check_candidate, query_id
from goldbench.stages.check.verdict import CheckContext, Finding, joined_context

__all__ = [
    "ENOUGH",
    "CheckContext",
    "Finding",
    "SetChecks",
    "accepted",
    "check_candidate",
    "check_conversation",
    "check_joined",
    "joined_context",
    "query_id",
]
