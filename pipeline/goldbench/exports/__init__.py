"""Gold sets in the files and classes of other tools; ``targets`` holds the table of them."""
