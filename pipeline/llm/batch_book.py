"""Which question was sent in which batch, kept in the answer store.

A row is written before its batch is started, so that a process that dies at any moment leaves enough to find the batch
again: by its id, or, where it died before the id was stored, by the token in the batch's metadata.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from goldbench.pipeline.llm.store import AnswerStore

_TABLES = """
CREATE TABLE IF NOT EXISTS batches (
  token TEXT PRIMARY KEY, base_url TEXT NOT NULL, file_id TEXT, batch_id TEXT, created REAL NOT NULL);
CREATE TABLE IF NOT EXISTS batch_lines (line BLOB PRIMARY KEY, answer BLOB NOT NULL, token TEXT NOT NULL);
"""


@dataclass(frozen=True, slots=True)
class SentBatch:
    """A batch; ``batch_id`` is None if the process ended before the server's id was stored."""

    token: str
    file_id: str | None
    batch_id: str | None


class BatchBook:
    """The batches of one server in one answer store."""

    def __init__(self, store: AnswerStore, *, base_url: str) -> None:
        self._store, self._base_url = store, base_url

    async def open(self) -> None:
        """Make the tables where there are none, and forget the answered lines."""

        def make(connection: sqlite3.Connection) -> None:
            for table in _TABLES.split(";"):
                connection.execute(table)
            forget_answered(connection)

        await self._store.transact(make)

    async def begin(self, token: str, lines: Sequence[tuple[bytes, bytes]]) -> None:
        """Store that these lines are about to be sent.

        Args:
            token: A unique name of the batch.
            lines: The key of each line, and the key of its answer.
        """
        rows = [(line, answer, token) for line, answer in lines]
        batch = (token, self._base_url, None, None, time.time())

        def write(connection: sqlite3.Connection) -> None:
            connection.execute("INSERT INTO batches VALUES (?, ?, ?, ?, ?)", batch)
            connection.executemany("INSERT OR REPLACE INTO batch_lines VALUES (?, ?, ?)", rows)

        await self._store.transact(write)

    async def uploaded(self, token: str, file_id: str) -> None:
        """Store the server's id of the file of a batch."""
        await self._update("UPDATE batches SET file_id = ? WHERE token = ?", file_id, token)

    async def started(self, token: str, batch_id: str) -> None:
        """Store the server's id of a batch."""
        await self._update("UPDATE batches SET batch_id = ? WHERE token = ?", batch_id, token)

    async def _update(self, statement: str, *values: str) -> None:
        await self._store.transact(lambda connection: connection.execute(statement, values))

    async def find(self, lines: Iterable[bytes]) -> dict[bytes, SentBatch]:
        """Return the batch in which each line was sent; lines that were not sent are left out."""
        batch = "SELECT token, file_id, batch_id FROM batches JOIN batch_lines USING (token)"
        select = f"{batch} WHERE line = ? AND base_url = ?"
        wanted = list(lines)

        def look(connection: sqlite3.Connection) -> dict[bytes, SentBatch]:
            rows = ((line, connection.execute(select, (line, self._base_url)).fetchone()) for line in wanted)
            return {line: SentBatch(*row) for line, row in rows if row}

        return await self._store.transact(look)

    async def forget(self, lines: Iterable[bytes]) -> None:
        """Forget lines whose batch gives no answer, so that they can be sent again."""
        rows = [(line,) for line in lines]
        delete = "DELETE FROM batch_lines WHERE line = ?"
        await self._store.transact(lambda connection: connection.executemany(delete, rows))

    async def close(self) -> None:
        """Forget the answered lines."""
        await self._store.transact(forget_answered)


def forget_answered(connection: sqlite3.Connection) -> None:
    """Forget the lines whose answers are stored, and the batches that have no other lines."""
    if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'batch_lines'").fetchone():
        connection.execute("DELETE FROM batch_lines WHERE answer IN (SELECT key FROM answers)")
        connection.execute("DELETE FROM batches WHERE token NOT IN (SELECT token FROM batch_lines)")
