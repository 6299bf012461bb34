"""Bytes to records and back: the only place that reads and writes files."""
