"""The wire side of batches: lines of questions up, the state of a batch, lines of answers down."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.errors import ModelUnavailable
from pipeline.llm.batch_book import SentBatch
from pipeline.llm.faults import Cause, ExchangeFailed
from pipeline.llm.wire import NotThere, ParameterRefused, Wire

MOST_LINES, MOST_BYTES = 50_000, 200_000_000
"""What OpenAI takes in one batch."""

ENDED = frozenset({"completed", "failed", "expired", "cancelled"})
_PAGES, _PAGE = 20, 100


@dataclass(frozen=True, slots=True)
class Line:
    """What became of one line. ``status`` is 0 where the batch ended before it was asked."""

    status: int
    body: dict[str, Any]


@dataclass(frozen=True, slots=True)
class BatchState:
    """A batch as its server describes it."""

    batch_id: str
    status: str
    done: int
    total: int
    files: tuple[str, ...]


def line_of(key: bytes, body: dict[str, Any]) -> bytes:
    """Return the line that asks a question."""
    line = {"custom_id": key.hex(), "method": "POST", "url": "/v1/chat/completions", "body": body}
    return json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


class BatchFiles:
    """Files and batches of one server. Raises as ``Wire`` does."""

    def __init__(self, wire: Wire, *, where: str) -> None:
        self._wire, self._where = wire, where

    async def upload(self, lines: Sequence[bytes], *, name: str) -> str:
        """Send the lines and return the id of their file."""
        try:
            return _id(await self._wire.upload(f"{name}.jsonl", b"".join(lines)))
        except (NotThere, ParameterRefused):
            raise ModelUnavailable(f"{self._where} takes no files for batches: run without --batch") from None

    async def create(self, file_id: str, *, token: str) -> str:
        """Start the batch of a file and return its id."""
        body = {
            "input_file_id": file_id,
            "endpoint": "/v1/chat/completions",
            "completion_window": "24h",
            "metadata": {"goldset": token},
        }
        try:
            found, _ = await self._wire.post("/batches", body)
        except ParameterRefused as refused:
            reason = f"refuses the batch (HTTP {refused.status})"
        else:
            return _id(found)
        raise ModelUnavailable(f"{self._where} {reason}: run without --batch, or with another model")

    async def search(self, sent: SentBatch) -> str | None:
        """Return the id of a batch that may have been made, None where the server has none like it."""
        after = ""
        for _ in range(_PAGES):
            try:
                page = await self._wire.get(f"/batches?limit={_PAGE}{after}")
            except NotThere:
                return None
            rows = [row for row in page.get("data") or [] if isinstance(row, dict)]
            for row in rows:
                named = (row.get("metadata") or {}).get("goldset") == sent.token
                if named or (sent.file_id is not None and row.get("input_file_id") == sent.file_id):
                    return _id(row)
            if not page.get("has_more") or not rows:
                return None
            after = f"&after={_id(rows[-1])}"
        return None

    async def state(self, batch_id: str) -> BatchState:
        """Return how far a batch is.

        Raises:
            NotThere: the server does not know it (any more).
        """
        found = await self._wire.get(f"/batches/{batch_id}")
        counts = found.get("request_counts") or {}
        files = (found.get("output_file_id"), found.get("error_file_id"))
        done = int(counts.get("completed") or 0) + int(counts.get("failed") or 0)
        named = tuple(str(one) for one in files if one)
        return BatchState(batch_id, str(found.get("status")), done, int(counts.get("total") or 0), named)

    async def lines(self, state: BatchState) -> dict[bytes, Line]:
        """Return what became of every line the server says anything of, by its key."""
        found: dict[bytes, Line] = {}
        for file_id in state.files:
            content = await self._wire.read(f"/files/{file_id}/content")
            for raw in content.splitlines():
                if raw.strip():
                    found.update(_read(raw))
        return found


def _read(raw: bytes) -> dict[bytes, Line]:
    """Return the line by its key; nothing for one that is not ours or cannot be read: it is asked again."""
    try:
        row = json.loads(raw)
        key = bytes.fromhex(row["custom_id"])
        response = row.get("response")
        if not isinstance(response, dict):
            return {key: Line(0, {})}
        body = response.get("body")
        return {key: Line(int(response.get("status_code") or 0), body if isinstance(body, dict) else {})}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return {}


def _id(found: dict[str, Any]) -> str:
    name = found.get("id")
    if not isinstance(name, str) or not name or "/" in name or "?" in name:
        raise ExchangeFailed(Cause.BROKEN, "not-json")
    return name
