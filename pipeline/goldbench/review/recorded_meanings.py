"""The meanings of ids in the database of a ledger: written with the event that names them, read for a later set."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from goldbench.prompts.rubric import Rubric
from goldbench.records.corpus import Evidence
from goldbench.records.review_event import EventKind
from goldbench.review import ledger_tables as tables
from goldbench.review.meanings import Meanings, PassageMeaning, QueryMeaning, SetMeanings, edited_wording

UNSTORABLE = {0: "\ufffd"} | dict.fromkeys(range(0xD800, 0xE000), "\ufffd")
"""NUL, which PostgreSQL cannot store, and lone surrogates, which no database can; both are replaced."""


def record(connection: Connection, own: SetMeanings, query_ids: Iterable[str], chunk_ids: Iterable[str]) -> None:
    """Store what ids mean in a set, unless the ledger knows it or the set does not.

    Args:
        connection: A transaction that excludes other writers.
        own: The set.
        query_ids: Ids of queries.
        chunk_ids: Ids of passages.
    """
    for query_id in query_ids:
        if not _is_known(connection, tables.query, own.data_sha, query_id):
            asked = own.query(query_id) or _edited(connection, own.data_sha, query_id)
            if asked is not None:
                _add_query(connection, own.data_sha, query_id, asked)
    for chunk_id in chunk_ids:
        if not _is_known(connection, tables.passage, own.data_sha, chunk_id):
            judged = own.passage(chunk_id)
            if judged is not None:
                _add_passage(connection, own.data_sha, chunk_id, judged)


def record_rubric(connection: Connection, rubric: Rubric) -> None:
    """Store the text of a rubric, unless it is known, in a transaction that excludes other writers."""
    where = tables.rubric.c.rubric_sha == rubric.sha
    if connection.execute(sa.select(tables.rubric.c.rubric_sha).where(where)).first() is None:
        values = {"rubric_sha": rubric.sha, "text_sha": _add_text(connection, rubric.text)}
        connection.execute(sa.insert(tables.rubric).values(values))


def read_meanings(connection: Connection) -> Meanings:
    """Return what the ledger knows of the meaning of its ids."""
    asked, judged, text = tables.query, tables.passage, tables.text
    queries = connection.execute(sa.select(asked, text.c.text).join(text, text.c.sha == asked.c.text_sha))
    passages = connection.execute(sa.select(judged, text.c.text).join(text, text.c.sha == judged.c.text_sha))
    return Meanings(
        {
            (row.data_sha, row.query_id): QueryMeaning(
                row.text, tuple(Evidence.model_validate(one) for one in json.loads(row.evidence))
            )
            for row in queries
        },
        {
            (row.data_sha, row.chunk_id): PassageMeaning(row.text, row.title, row.source, row.doc_id, row.start)
            for row in passages
        },
    )


def add_meanings(connection: Connection, found: Meanings) -> None:
    """Store meanings that come from elsewhere; those that are known stay as they are."""
    for (data_sha, query_id), asked in found.queries.items():
        if not _is_known(connection, tables.query, data_sha, query_id):
            _add_query(connection, data_sha, query_id, asked)
    for (data_sha, chunk_id), judged in found.passages.items():
        if not _is_known(connection, tables.passage, data_sha, chunk_id):
            _add_passage(connection, data_sha, chunk_id, judged)


def _is_known(connection: Connection, table: sa.Table, data_sha: str, name: str) -> bool:
    sha, named = list(table.primary_key.columns)
    return connection.execute(sa.select(sha).where(sha == data_sha, named == name)).first() is not None


def _edited(connection: Connection, data_sha: str, query_id: str) -> QueryMeaning | None:
    event = tables.event
    where = (event.c.kind == EventKind.EDIT_QUERY.value, event.c.data_sha == data_sha)
    rows = connection.execute(sa.select(event.c.query_id, event.c.text).where(*where).order_by(event.c.seq))
    text = edited_wording(query_id, [(row.query_id, row.text or "") for row in rows])
    return QueryMeaning(text) if text else None


def _add_query(connection: Connection, data_sha: str, query_id: str, asked: QueryMeaning) -> None:
    evidence = [one.model_dump(mode="json") for one in asked.evidence]
    values = {
        "data_sha": data_sha,
        "query_id": query_id,
        "text_sha": _add_text(connection, asked.text),
        "evidence": json.dumps(evidence),  # in ASCII, so that every database can store it
    }
    connection.execute(sa.insert(tables.query).values(values))


def _add_passage(connection: Connection, data_sha: str, chunk_id: str, judged: PassageMeaning) -> None:
    values = {
        "data_sha": data_sha,
        "chunk_id": chunk_id,
        "text_sha": _add_text(connection, judged.text),
        "title": judged.title.translate(UNSTORABLE),
        "source": judged.source.translate(UNSTORABLE),
        "doc_id": judged.doc_id,
        "start": judged.start,
    }
    connection.execute(sa.insert(tables.passage).values(values))


def _add_text(connection: Connection, text: str) -> str:
    """Return the digest of a text, which is stored unless it is known."""
    stored = text.translate(UNSTORABLE)
    sha = hashlib.sha256(stored.encode()).hexdigest()
    if connection.execute(sa.select(tables.text.c.sha).where(tables.text.c.sha == sha)).first() is None:
        connection.execute(sa.insert(tables.text).values({"sha": sha, "text": stored}))
    return sha
