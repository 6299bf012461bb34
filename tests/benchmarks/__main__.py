"""``python -m tests.benchmarks [NAME ...]``: every measurement of ``MEASUREMENTS``, or those named."""

from __future__ import annotations

import sys

from tests.benchmarks import (
    bm25_speed,
    build_speed,
    card_speed,
    command_speed,
    engine_identity,
    extra_sizes,
    million,
    model_speed,
    notes_speed,
    open_speed,
    peers,
    real_model,
    rows,
    score_speed,
    start_speed,
)

MEASUREMENTS = {
    "start": start_speed.main,
    "corpus": build_speed.main,
    "engines": engine_identity.main,
    "notes": notes_speed.main,
    "model": model_speed.main,
    "commands": command_speed.main,
    "peers": peers.main,
    "score": score_speed.main,
    "card": card_speed.main,
    "open": open_speed.main,
    "bm25": bm25_speed.main,
}
LONG = {"million": million.main, "sizes": extra_sizes.main, "real_model": real_model.main}
"""Measurements that take long, install much or need a model: they run only if they are named."""


def main() -> None:
    wanted, known = sys.argv[1:] or list(MEASUREMENTS), MEASUREMENTS | LONG
    unknown = [name for name in wanted if name not in known]
    if unknown:
        sys.exit(f"unknown: {', '.join(unknown)}; there are {', '.join(known)}")
    print(rows.machine(), flush=True)
    for name in wanted:
        known[name]()


if __name__ == "__main__":
    main()
