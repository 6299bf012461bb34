"""What people read in place of the name of a stage under which calls of the model are counted."""

from __future__ import annotations

_NAMES = {"canary": "judge checks", "escalate": "pairs in doubt", "escalate (about)": "pairs in doubt (about)"}


def stage_name(account: str) -> str:
    """Return what a person reads in place of the name of an account of requests."""
    return _NAMES.get(account, account)
