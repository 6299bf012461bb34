"""goldbench from Python: what ``import goldbench`` offers; see ``gold_set`` first."""
