"""The ranks of judged documents in a run."""
