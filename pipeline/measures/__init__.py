"""Arithmetic on ids and numbers."""
