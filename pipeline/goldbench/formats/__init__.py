"""Bytes to records and back: files of users and of other tools."""
