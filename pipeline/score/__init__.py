"""Runs scored, compared, gated and watched."""
