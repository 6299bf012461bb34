"""Retrievers behind one port."""
