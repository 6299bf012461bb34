"""Searching with the baselines, also as a process of its own, which is sent a request and answers with rankings."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TypeAlias

from goldbench.errors import GoldbenchError
from goldbench.processes.messages import decoded, encoded, framed, next_message
from goldbench.systems import open_systems

Tables: TypeAlias = dict[str, dict[str, object]]
"""The settings of systems by name."""
Ranked: TypeAlias = dict[str, dict[str, list[str]]]
"""What systems found: system -> query -> ids of passages, best first."""

DEEP = 100
"""Results kept per baseline and query."""
_END = None
"""The message that ends a request."""


def search(tables: Tables, corpus: Mapping[str, str], queries: Mapping[str, str]) -> Ranked:
    """Search with baselines that share counted words and the space of LSI; each index is freed after its search.

    One thread calculates: the same bits on any number of processors, and faster on small corpora.

    Args:
        tables: The settings of the baselines; one that fails is left out of the result.
        corpus: The texts of the passages by id.
        queries: The texts of the queries by id.
    """
    from threadpoolctl import threadpool_limits

    ranked: Ranked = {}
    with threadpool_limits(1), open_systems(list(tables), tables, where="baselines") as systems:
        for name in tables:
            with suppress(GoldbenchError), systems.freed(name) as system:
                system.index(corpus)
                found = system.search(queries, k=min(DEEP, len(corpus)))
                ranked[name] = {query_id: list(found.get(query_id, {})) for query_id in queries}
    return ranked


def search_one_by_one(tables: Tables, corpus: Mapping[str, str], queries: Mapping[str, str]) -> Ranked:
    """Search with baselines that hold large indexes, of which one at a time is in memory.

    Args:
        tables: As in `search`.
        corpus: As in `search`.
        queries: As in `search`.
    """
    ranked: Ranked = {}
    for name, table in tables.items():
        ranked |= search({name: table}, corpus, queries)
    return ranked


def request(tables: Tables, corpus: Mapping[str, str], queries: Mapping[str, str]) -> Iterator[object]:
    """Yield the messages that ask a process of this module to search one by one.

    Args:
        tables: As in `search`.
        corpus: As in `search`.
        queries: As in `search`.
    """
    yield tables, dict(queries)
    yield from corpus.items()
    yield _END


def main() -> None:
    """Answer one request; end when the input ends, which stays open until the other process has the answer."""
    values = iter(lambda: decoded(next_message(sys.stdin.buffer) or b""), _END)  # raises when the input ends
    tables, queries = next(values)
    corpus = dict(values)
    threading.Thread(target=_end_with_input, daemon=True).start()
    sys.stdout.buffer.write(framed(encoded(search_one_by_one(tables, corpus, queries))))


def _end_with_input() -> None:
    os.read(sys.stdin.fileno(), 1)  # not through Python's buffer, whose lock a thread must not hold when Python ends
    os._exit(1)


if __name__ == "__main__":
    main()
