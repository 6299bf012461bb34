"""Agreement of two sets of labels: on pairs of a query and a passage, and on the order of systems."""
