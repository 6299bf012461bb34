"""Batches on a server: uploading lines of questions, the state of a batch, downloading lines of answers."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from goldbench.pipeline.errors import CallFailed, Message, ModelUnavailable
from goldbench.pipeline.llm.batch_book import SentBatch
from goldbench.pipeline.llm.bodies import MOST_BYTES as MOST_REPLY_BYTES
from goldbench.pipeline.llm.bodies import beside
from goldbench.pipeline.llm.exchange_end import Cause, ExchangeFailed, NotThere, ParameterRefused
from goldbench.pipeline.llm.wire import Wire

MOST_LINES, MOST_BYTES = 50_000, 200_000_000
"""The most lines and bytes that OpenAI takes in one batch."""

ENDED = frozenset({"completed", "failed", "expired", "cancelled"})
_PAGES, _PAGE = 20, 100


@dataclass(frozen=True, slots=True)
class Line:
    """The result of one line. ``status`` is its HTTP status, 0 where the batch ended before the line was asked."""

    status: int
    body: dict[str, Any]

    @property
    def error(self) -> dict[str, Any]:
        """What the server says against the line."""
        error = self.body.get("error")
        return error if isinstance(error, dict) else self.body


@dataclass(frozen=True, slots=True)
class BatchState:
    """A batch as its server describes it; ``done`` and ``total`` count lines."""

    batch_id: str
    status: str
    done: int
    total: int
    files: tuple[str, ...]


def line_of(key: bytes, body: dict[str, Any]) -> bytes:
    """Return the line of a batch that asks a question."""
    line = {"custom_id": key.hex(), "method": "POST", "url": "/v1/chat/completions", "body": body}
    return json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


class BatchFiles:
    """Files and batches of one server. Raises as ``Wire`` does."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    async def upload(self, lines: Sequence[bytes], *, name: str) -> str:
        """Send the lines and return the id of their file."""
        try:
            return _id(await self._wire.upload(f"{name}.jsonl", b"".join(lines)))
        except (NotThere, ParameterRefused):
            raise ModelUnavailable(
                Message("{}: the server takes no batches: run without {batch=True}", self._wire.url)
            ) from None

    async def create(self, file_id: str, *, token: str) -> str:
        """Start the batch of a file and return its id."""
        body = {
            "input_file_id": file_id,
            "endpoint": "/v1/chat/completions",
            "completion_window": "24h",
            "metadata": {"goldbench": token},
        }
        try:
            found, _ = await self._wire.post("/batches", body)
        except CallFailed as refused:
            if refused.kind == "client":  # whatever became of it
                raise
            problem = f"{self._wire.url}: the server refuses the batch ({refused.kind})"
            raise ModelUnavailable(Message("{}: run without {batch=True}, or with another model", problem)) from None
        return _id(found)

    async def search(self, sent: SentBatch) -> str | None:
        """Return the id of a batch that may have been started, None where the server has no such batch."""
        after = ""
        for _ in range(_PAGES):
            try:
                page = await self._wire.get(f"/batches?limit={_PAGE}{after}")
            except NotThere:
                return None
            rows = [row for row in page.get("data") or [] if isinstance(row, dict)]
            for row in rows:
                named = (row.get("metadata") or {}).get("goldbench") == sent.token
                if named or (sent.file_id is not None and row.get("input_file_id") == sent.file_id):
                    return _id(row)
            if not page.get("has_more") or not rows:
                return None
            after = f"&after={_id(rows[-1])}"
        return None

    async def state(self, batch_id: str) -> BatchState:
        """Return the state of a batch.

        Raises:
            NotThere: The server does not know the batch, or no longer.
        """
        found = await self._wire.get(f"/batches/{batch_id}")
        counts = found.get("request_counts") or {}
        files = (found.get("output_file_id"), found.get("error_file_id"))
        done = int(counts.get("completed") or 0) + int(counts.get("failed") or 0)
        named = tuple(str(one) for one in files if one)
        return BatchState(batch_id, str(found.get("status")), done, int(counts.get("total") or 0), named)

    async def lines(self, state: BatchState) -> dict[bytes, Line]:
        """Return the result of every line in the batch's files, by the line's key."""
        found: dict[bytes, Line] = {}
        for file_id in state.files:
            content = await self._wire.read(f"/files/{file_id}/content")
            found.update(await beside(_lines, content, size=len(content)))
        return found


def _lines(content: bytes) -> dict[bytes, Line]:
    """Return the lines of a file of results; a line that is longer than a reply may be is asked again."""
    found: dict[bytes, Line] = {}
    for raw in io.BytesIO(content):
        if len(raw) <= MOST_REPLY_BYTES and raw.strip():
            found.update(_read(raw))
    return found


def _read(raw: bytes) -> dict[bytes, Line]:
    """Return the line by its key; nothing for a foreign or unreadable line, whose question is asked again."""
    try:
        row = json.loads(raw)
        key = bytes.fromhex(row["custom_id"])
        response = row.get("response")
        if not isinstance(response, dict):
            error = row.get("error")
            return {key: Line(0, error if isinstance(error, dict) else {})}
        body = response.get("body")
        return {key: Line(int(response.get("status_code") or 0), body if isinstance(body, dict) else {})}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return {}


def _id(found: dict[str, Any]) -> str:
    name = found.get("id")
    if not isinstance(name, str) or not name or "/" in name or "?" in name:
        raise ExchangeFailed(Cause.BROKEN, "not-json")
    return name
