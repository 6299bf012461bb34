"""The stages: pure functions from records and ports to records."""
