"""The page on which people judge, and the ledger of their decisions."""
