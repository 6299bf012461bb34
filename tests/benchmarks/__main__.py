"""``python -m tests.benchmarks [NAME ...]``: every measurement of ``MEASUREMENTS``, or those named."""

from __future__ import annotations

import sys

from tests.benchmarks import (
    bm25_speed,
    build_speed,
    card_speed,
    command_speed,
    model_speed,
    notes_speed,
    peers,
    pool_speed,
    published,
    read_speed,
    refresh_speed,
    rows,
    score_speed,
    significance_speed,
)

MEASUREMENTS = {
    "reading": read_speed.main,
    "corpus": build_speed.main,
    "refresh": refresh_speed.main,
    "notes": notes_speed.main,
    "model": model_speed.main,
    "commands": command_speed.main,
    "peers": peers.main,
    "pool": pool_speed.main,
    "score": score_speed.main,
    "significance": significance_speed.main,
    "card": card_speed.main,
    "bm25": bm25_speed.main,
    "published": published.main,
}


def main() -> None:
    wanted = sys.argv[1:] or list(MEASUREMENTS)
    unknown = [name for name in wanted if name not in MEASUREMENTS]
    if unknown:
        sys.exit(f"unknown: {', '.join(unknown)}; there are {', '.join(MEASUREMENTS)}")
    print(rows.machine(), flush=True)
    for name in wanted:
        MEASUREMENTS[name]()


if __name__ == "__main__":
    main()
