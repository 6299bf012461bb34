"""The page on which people judge, and the ledger that keeps what they decide."""
