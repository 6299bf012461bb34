"""The workbench: a page with every query of a set, every system's results, the causes of failures, and judging."""
