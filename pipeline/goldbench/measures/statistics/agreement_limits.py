"""When two sources of queries agree too little; apart from the formulas because reports read it without calculating.

Measured by ``python -m tests.benchmarks.offline_validity``; see ``docs/explanation/simulated_queries.md``.
"""

from __future__ import annotations

REFUSED = 0.1
"""Agreement of query sources, tau-b, up to which a set of simulated queries is refused."""
TRUSTED = 0.5
"""Agreement of query sources, tau-b, from which no warning is given."""
