"""Look before measuring: ask one question at a time, and compare a log of queries with a gold set."""
