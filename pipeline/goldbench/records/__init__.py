"""The records of goldbench: pydantic and the standard library only."""
