"""The records of goldset: pydantic and the standard library only."""
