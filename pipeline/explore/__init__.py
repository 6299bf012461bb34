"""Looking before measuring: one question at a time, and a log of queries against a set."""
