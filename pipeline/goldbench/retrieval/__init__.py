"""Retrieval systems behind one port: an index over chunks, and the best of them for each query."""
