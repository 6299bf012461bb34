"""Which questions were sent in which batch: kept in the answer store before anything waits for a batch.

A row is written before its batch is made, so that a process that dies at any moment leaves enough to find the batch
again: by its id, or, where it died before the id was known, by the token in the batch's metadata.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pipeline.llm.store import AnswerStore

_TABLES = """
CREATE TABLE IF NOT EXISTS batches (
  token TEXT PRIMARY KEY, base_url TEXT NOT NULL, file_id TEXT, batch_id TEXT, created REAL NOT NULL);
CREATE TABLE IF NOT EXISTS batch_lines (line BLOB PRIMARY KEY, answer BLOB NOT NULL, token TEXT NOT NULL);
"""


@dataclass(frozen=True, slots=True)
class SentBatch:
    """A batch as far as it is known; ``batch_id`` is None where its making may or may not have come to an end."""

    token: str
    file_id: str | None
    batch_id: str | None


class BatchBook:
    """The batches of one server in one answer store."""

    def __init__(self, store: AnswerStore, *, base_url: str) -> None:
        self._store, self._base_url = store, base_url

    async def open(self) -> None:
        """Make the tables where there are none, and forget what has long been answered."""

        def make(connection: sqlite3.Connection) -> None:
            for table in _TABLES.split(";"):
                connection.execute(table)
            forget_answered(connection)

        await self._store.transact(make)

    async def begin(self, token: str, lines: Sequence[tuple[bytes, bytes]]) -> None:
        """Note, durably, that these lines are about to be sent.

        Args:
            token: a name of the batch that nobody else has.
            lines: the key of each line, and of the answer it is to give.
        """
        rows = [(line, answer, token) for line, answer in lines]
        batch = (token, self._base_url, None, None, time.time())

        def write(connection: sqlite3.Connection) -> None:
            connection.execute("INSERT INTO batches VALUES (?, ?, ?, ?, ?)", batch)
            connection.executemany("INSERT OR REPLACE INTO batch_lines VALUES (?, ?, ?)", rows)

        await self._store.transact(write)

    async def uploaded(self, token: str, file_id: str) -> None:
        """Note the file of a batch."""
        update = "UPDATE batches SET file_id = ? WHERE token = ?"
        await self._store.transact(lambda connection: connection.execute(update, (file_id, token)))

    async def started(self, token: str, batch_id: str) -> None:
        """Note the id of a batch."""
        update = "UPDATE batches SET batch_id = ? WHERE token = ?"
        await self._store.transact(lambda connection: connection.execute(update, (batch_id, token)))

    async def find(self, lines: Iterable[bytes]) -> dict[bytes, SentBatch]:
        """Return the batch in which each line was sent; lines that were not are left out."""
        batch = "SELECT token, file_id, batch_id FROM batches JOIN batch_lines USING (token)"
        select = f"{batch} WHERE line = ? AND base_url = ?"
        wanted = list(lines)

        def look(connection: sqlite3.Connection) -> dict[bytes, SentBatch]:
            rows = ((line, connection.execute(select, (line, self._base_url)).fetchone()) for line in wanted)
            return {line: SentBatch(*row) for line, row in rows if row}

        return await self._store.transact(look)

    async def forget(self, lines: Iterable[bytes]) -> None:
        """Note that these lines have no answer to come: they may be sent again."""
        rows = [(line,) for line in lines]
        delete = "DELETE FROM batch_lines WHERE line = ?"
        await self._store.transact(lambda connection: connection.executemany(delete, rows))

    async def close(self) -> None:
        """Forget what has been answered."""
        await self._store.transact(forget_answered)


def forget_answered(connection: sqlite3.Connection) -> None:
    """Forget the lines whose answers are kept, and the batches none of whose lines is waited for."""
    if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'batch_lines'").fetchone():
        connection.execute("DELETE FROM batch_lines WHERE answer IN (SELECT key FROM answers)")
        connection.execute("DELETE FROM batches WHERE token NOT IN (SELECT token FROM batch_lines)")
