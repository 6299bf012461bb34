"""Judgments, runs, score tables and scorecards: TREC, BEIR, JSON, CSV and Parquet."""
