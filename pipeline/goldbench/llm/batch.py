"""Questions sent in batches: half the price, an answer within a day, in this process or a later one.

Questions that arrive together go into one batch. A batch is noted in the answer store before it is sent, so that a
process that dies at any moment leaves enough to find it again: by its id, or, where it died before the id was stored,
by the token in the batch's metadata. Lines that come back without an answer are asked again in a further batch, a few
times at most.
"""

from __future__ import annotations

import asyncio
import hashlib
import io
import json
import sqlite3
import uuid
from collections import defaultdict
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel

from goldbench.errors import AnswerRejected, CallFailed, LimitReached, Message, ModelError, ModelUnavailable
from goldbench.llm.budget import Reservation
from goldbench.llm.chat import CONTENT_FILTER, Answered, answered, is_filtered, most_tokens_of, usage_of, words
from goldbench.llm.client import MOST_BYTES as MOST_REPLY_BYTES
from goldbench.llm.client import RETRIED, Client
from goldbench.llm.dialect import Dialect, Lessons, Repeat, request_body
from goldbench.llm.exchange_end import Cause, ExchangeFailed, ParameterRefused, PathUnknown, is_refusal, was_refused
from goldbench.llm.layers import persist, request_key
from goldbench.llm.limits import Gate
from goldbench.llm.prices import BATCH_SHARE, PriceList
from goldbench.llm.reply_body import run_beside
from goldbench.llm.store import AnswerStore, forget_answered
from goldbench.ports import ChatRequest, Usage
from goldbench.text.display import amount

MOST_LINES, MOST_BYTES = 50_000, 200_000_000
"""The most lines and bytes that OpenAI takes in one batch."""

ENDED = frozenset({"completed", "failed", "expired", "cancelled"})
_PAGES, _PAGE = 20, 100


@dataclass(frozen=True, slots=True)
class SentBatch:
    """A batch; ``file_id`` and ``batch_id`` are None if the process ended before the server's ids were stored."""

    token: str
    file_id: str | None = None
    batch_id: str | None = None


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

    status: str
    done: int
    total: int
    files: tuple[str, ...]


def line_of(key: bytes, body: dict[str, Any]) -> bytes:
    """Return the line of a batch that asks a question."""
    line = {"custom_id": key.hex(), "method": "POST", "url": "/v1/chat/completions", "body": body}
    return json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


async def upload_lines(client: Client, lines: Sequence[bytes], *, token: str) -> str:
    """Send the lines and return the id of their file; raises as ``Client`` does."""
    try:
        return _id(await client.upload(f"{token}.jsonl", b"".join(lines)))
    except (PathUnknown, ParameterRefused):
        problem = Message("{}: the server takes no batches: run without {batch=True}", client.url)
        raise ModelUnavailable(problem) from None


async def create_batch(client: Client, file_id: str, *, token: str) -> str:
    """Start the batch of a file and return its id; raises as ``Client`` does."""
    body = {
        "input_file_id": file_id,
        "endpoint": "/v1/chat/completions",
        "completion_window": "24h",
        "metadata": {"goldbench": token},
    }
    try:
        batch, _ = await client.post("/batches", body)
    except CallFailed as refused:
        if refused.kind == "client":  # whatever became of it
            raise
        problem = f"{client.url}: the server refuses the batch ({refused.kind})"
        raise ModelUnavailable(Message("{}: run without {batch=True}, or with another model", problem)) from None
    return _id(batch)


async def search_batch(client: Client, sent: SentBatch) -> str | None:
    """Return the id of a batch that may have been started, None where the server has no such batch."""
    after = ""
    for _ in range(_PAGES):
        try:
            page = await client.get(f"/batches?limit={_PAGE}{after}")
        except PathUnknown:
            return None
        rows = [row for row in page.get("data") or [] if isinstance(row, dict)]
        for row in rows:
            has_token = (row.get("metadata") or {}).get("goldbench") == sent.token
            if has_token or (sent.file_id is not None and row.get("input_file_id") == sent.file_id):
                return _id(row)
        if not page.get("has_more") or not rows:
            return None
        after = f"&after={_id(rows[-1])}"
    return None


async def batch_state(client: Client, batch_id: str) -> BatchState:
    """Return the state of a batch; raises as ``Client`` does, ``PathUnknown`` where the server does not know it."""
    batch = await client.get(f"/batches/{batch_id}")
    counts = batch.get("request_counts") or {}
    done = int(counts.get("completed") or 0) + int(counts.get("failed") or 0)
    files = tuple(str(batch[name]) for name in ("output_file_id", "error_file_id") if batch.get(name))
    return BatchState(str(batch.get("status")), done, int(counts.get("total") or 0), files)


async def result_lines(client: Client, state: BatchState) -> dict[bytes, Line]:
    """Return the result of every line in the files of a batch, by the line's key; raises as ``Client`` does."""
    lines: dict[bytes, Line] = {}
    for file_id in state.files:
        content = await client.read(f"/files/{file_id}/content")
        lines |= await run_beside(_read_lines, content, size=len(content))
    return lines


def _read_lines(content: bytes) -> dict[bytes, Line]:
    """Return the lines of a file of results by their keys.

    The question of a line that is foreign, unreadable or longer than a reply may be is asked again.
    """
    lines: dict[bytes, Line] = {}
    for raw in io.BytesIO(content):
        if len(raw) > MOST_REPLY_BYTES:
            continue
        try:
            row = json.loads(raw)
            key, response = bytes.fromhex(row["custom_id"]), row.get("response")
            status, body = (response.get("status_code"), response.get("body")) if response else (0, row.get("error"))
            lines[key] = Line(int(status or 0), body if isinstance(body, dict) else {})
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            continue
    return lines


def _id(reply: dict[str, Any]) -> str:
    name = reply.get("id")
    if not isinstance(name, str) or not name or "/" in name or "?" in name:
        raise ExchangeFailed(Cause.BROKEN, "not-json")
    return name


T = TypeVar("T", bound=BaseModel)
R = TypeVar("R")

_MOST_ROUNDS = 3
"""The most batches that one line is sent in."""
_FIRST_POLL_S, _LONGEST_POLL_S, _POLL_GROWTH = 0.2, 60.0, 1.5
_FAILED = "batch_failed"
_UNASKED = frozenset({_FAILED, "batch_expired", "batch_cancelled"})
"""Codes of lines that a batch did not come to."""


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """The most lines and bytes of one batch, and the seconds without a further question after which it is sent."""

    lines: int = MOST_LINES
    bytes: int = MOST_BYTES
    quiet_s: float = 0.3


@dataclass(slots=True, eq=False)
class _Item:
    """A question on its way. ``reservation`` is what the budget has set aside for it."""

    request: ChatRequest[Any]
    line: bytes
    answer: bytes
    reply: asyncio.Future[dict[str, Any]]
    reservation: Reservation | None = None
    is_sent: bool = False
    """Whether the server may work on it, and bill it."""
    rounds: int = 0
    dialect: Dialect | None = None
    """The dialect it was sent in, None where an earlier process sent it."""


class Batch:
    """Gathers questions into batches, in place of single exchanges. An async context manager."""

    def __init__(
        self,
        client: Client,
        *,
        store: AnswerStore,
        gate: Gate,
        lessons: Lessons,
        announce: Callable[[str], None],
        limits: BatchLimits | None = None,
    ) -> None:
        """Take the server and the limits.

        Args:
            client: The client of the server.
            store: Remembers the batches that were sent.
            gate: The settings, the budget and the accounts; batches do not pass the gate itself.
            lessons: The dialect of the model.
            announce: Takes a line about every batch that is sent or ends.
            limits: The size of a batch.
        """
        self._client, self._store, self._lessons, self._announce = client, store, lessons, announce
        self._gate, self._budget, self._settings = gate, gate.budget, gate.settings
        self._prices = PriceList(gate.settings, share=BATCH_SHARE)
        self._limits = limits or BatchLimits()
        self._waiting: list[_Item] = []
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._budget.call_when_freed(self._send_waiting)

    async def __aenter__(self) -> Batch:
        """Forget the lines of earlier processes that are answered."""
        await self._store.transact(forget_answered)
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop waiting; started batches go on at the provider."""
        if self._timer is not None:
            self._timer.cancel()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._store.transact(forget_answered)

    async def complete(self, request: ChatRequest[T]) -> Answered[T]:
        """Return the model's answer once its batch has ended; raises as the layers do that this replaces."""
        answer = request_key(request, model=self._settings.name)
        turns = repr(request.earlier).encode("utf-8", "surrogatepass") if isinstance(request, Repeat) else b""
        line = hashlib.sha256(b"line/1" + answer + turns).digest()
        item = _Item(request, line, answer, asyncio.get_running_loop().create_future())
        self._enqueue([item])
        try:
            body = await item.reply
            return answered(request, body, headers={}, model=self._settings.name, prices=self._prices)
        except CallFailed as failed:
            failed.at(request.stage)
            raise
        finally:
            self._charge(item, Usage() if item.is_sent else None)  # whatever became of it, if it is still open

    def _enqueue(self, items: Sequence[_Item]) -> None:
        self._waiting += items
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(self._limits.quiet_s, self._leave)

    def _leave(self) -> None:
        self._timer = None
        items, self._waiting = [item for item in self._waiting if not item.reply.done()], []
        self._spawn(self._start(items), items)

    def _send_waiting(self) -> None:
        if self._waiting and self._timer is None:
            self._enqueue([])

    def _spawn(self, work: Coroutine[Any, Any, None], items: Sequence[_Item]) -> None:
        async def guarded() -> None:
            try:
                await work
            except Exception as error:  # noqa: BLE001 - the questions that wait get it
                _fail(items, error)

        task = asyncio.create_task(guarded())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _start(self, items: list[_Item]) -> None:
        """Wait for the batches that hold these lines already; send the rest."""
        sent = await self._sent_before(items)
        running: defaultdict[SentBatch, list[_Item]] = defaultdict(list)
        for item in items:
            if item.line in sent:
                running[sent[item.line]].append(item)
        for batch, held in running.items():
            self._spawn(self._pick_up(batch, held), held)
        for lines, packed in self._packed([item for item in items if item.line not in sent]):
            self._spawn(self._send(lines, packed), packed)

    async def _sent_before(self, items: Iterable[_Item]) -> dict[bytes, SentBatch]:
        """Return the batch in which each line was sent; lines that were not sent are left out."""
        select = (
            "SELECT token, file_id, batch_id FROM batches JOIN batch_lines USING (token) "
            "WHERE line = ? AND base_url = ?"
        )

        def look(connection: sqlite3.Connection) -> dict[bytes, SentBatch]:
            rows = ((item.line, connection.execute(select, (item.line, self._client.url)).fetchone()) for item in items)
            return {line: SentBatch(*row) for line, row in rows if row}

        return await self._store.transact(look)

    def _packed(self, items: list[_Item]) -> list[tuple[list[bytes], list[_Item]]]:
        """Return the lines that the caps allow, in as many batches as they need; the others wait or fail."""
        batches: list[tuple[list[bytes], list[_Item]]] = []
        size = 0
        for position, item in enumerate(items):
            most = self._most(item)
            try:
                fits = self._budget.check(most)
            except LimitReached as error:
                _fail([item], error)
                continue
            if not fits:  # batches under way may turn out to cost less than was set aside for them
                self._waiting += items[position:]
                break
            item.reservation = self._budget.reserve(most)
            item.is_sent = False
            item.dialect = self._lessons.dialect
            line = line_of(item.line, request_body(item.request, dialect=item.dialect, settings=self._settings))
            if not batches or len(batches[-1][0]) >= self._limits.lines or size + len(line) > self._limits.bytes:
                batches.append(([], []))
                size = 0
            batches[-1][0].append(line)
            batches[-1][1].append(item)
            size += len(line)
        return batches

    async def _send(self, lines: list[bytes], items: list[_Item]) -> None:
        token = uuid.uuid4().hex
        rows = [(item.line, item.answer, token) for item in items]

        def note(connection: sqlite3.Connection) -> None:
            connection.execute("INSERT INTO batches VALUES (?, ?, NULL, NULL)", (token, self._client.url))
            connection.executemany("INSERT OR REPLACE INTO batch_lines VALUES (?, ?, ?)", rows)

        await self._store.transact(note)
        file_id = await self._persist(lambda: upload_lines(self._client, lines, token=token))
        await self._note("UPDATE batches SET file_id = ? WHERE token = ?", file_id, token)
        batch_id = await self._create(SentBatch(token, file_id), file_id, items)
        await self._note("UPDATE batches SET batch_id = ? WHERE token = ?", batch_id, token)
        for item in items:
            self._gate.accounts.book(item.request.stage, requests=1)
        self._announce(f"{batch_id}: {amount(len(items), 'request')} sent as a batch")
        await self._follow(batch_id, items)

    async def _note(self, statement: str, *values: str) -> None:
        await self._store.transact(lambda connection: connection.execute(statement, values))

    async def _create(self, sent: SentBatch, file_id: str, items: list[_Item]) -> str:
        """Start a batch once and return its id: after an attempt of unknown outcome the server is asked first."""
        tried = False

        async def attempt() -> str:
            nonlocal tried
            known = await search_batch(self._client, sent) if tried else None
            tried = True
            was_sent = items[0].is_sent
            _mark(items, is_sent=True)
            try:
                return known or await create_batch(self._client, file_id, token=sent.token)
            except (ExchangeFailed, ModelUnavailable) as failed:
                _mark(items, is_sent=was_sent or not was_refused(failed))
                raise

        return await self._persist(attempt)

    async def _pick_up(self, sent: SentBatch, items: list[_Item]) -> None:
        for item in items:
            item.reservation = self._budget.reserve(self._most(item), requests=0)
        batch_id = sent.batch_id or await self._persist(lambda: search_batch(self._client, sent))
        if batch_id is None:  # the process ended before the batch was started
            await self._again(items)
            return
        await self._note("UPDATE batches SET batch_id = ? WHERE token = ?", batch_id, sent.token)
        _mark(items, is_sent=True)
        self._announce(f"{batch_id}: waiting for {amount(len(items), 'request')} of an earlier run")
        await self._follow(batch_id, items)

    async def _follow(self, batch_id: str, items: list[_Item]) -> None:
        """Wait for the end of a batch and take in its lines."""
        try:
            state = await self._ended(batch_id)
            lines = await self._persist(lambda: result_lines(self._client, state))
        except PathUnknown:  # deleted, or of another account
            for item in items:
                self._charge(item, Usage())
            await self._again(items)
            return
        self._announce(f"{batch_id}: {state.status}, {state.done:,} of {amount(state.total, 'request')} done")
        again: list[_Item] = []
        for item in items:
            line = lines.get(item.line, Line(0, {"code": f"batch_{state.status}"}))
            if line.status == 200:
                await self._settle(item, line.body)
                continue
            self._charge(item, None if _is_free(line) else Usage())
            if problem := self._problem(item, line):
                await self._forget([item])
                _fail([item], problem)
            else:
                again.append(item)
        if again:
            await self._again(again)

    async def _ended(self, batch_id: str) -> BatchState:
        """Return the state of a batch once it has ended."""
        pause_s = _FIRST_POLL_S
        while True:
            self._budget.check_deadline()
            state = await self._persist(lambda: batch_state(self._client, batch_id))
            if state.status in ENDED:
                return state
            left = self._budget.remaining_s()
            await asyncio.sleep(pause_s if left is None else min(pause_s, max(0.0, left)))
            pause_s = min(_LONGEST_POLL_S, pause_s * _POLL_GROWTH)

    async def _settle(self, item: _Item, body: dict[str, Any]) -> None:
        reported = usage_of(body)
        self._lessons.compare(reported, words(item.request))
        self._charge(item, reported)
        await self._lessons.settle(item.dialect)
        if not item.reply.done():
            item.reply.set_result(body)

    def _problem(self, item: _Item, line: Line) -> ModelError | None:
        """Return why a line is not asked again, None where it is."""
        status = line.status
        if status in {401, 403, 404}:
            return self._unavailable(f"the server refuses the model {self._settings.name!r} (HTTP {status})")
        if status in {400, 422}:
            return self._refusal(item, line)
        if 400 <= status < 500 and status not in RETRIED:
            return CallFailed(f"http-{status}", f"the server refuses the call (HTTP {status})")
        item.rounds += 1
        if item.rounds < _MOST_ROUNDS:
            return None
        if line.error.get("code") == _FAILED:
            return self._unavailable(Message("{} batches have failed: run without {batch=True}", item.rounds))
        reason = f"the server answers HTTP {status}" if status else "no batch reached it"
        return CallFailed("batch", f"{reason} ({item.rounds} batches)", attempts=item.rounds)

    def _refusal(self, item: _Item, line: Line) -> CallFailed | None:
        if is_filtered(line.error):
            return AnswerRejected("content-filter", CONTENT_FILTER)
        is_learnt = self._lessons.learn(item.dialect or self._lessons.dialect, line.error)
        return None if is_learnt else ParameterRefused(line.status, line.error)

    async def _again(self, items: list[_Item]) -> None:
        await self._forget(items)
        for item in items:
            self._charge(item, None)  # those that were never sent
        self._enqueue(items)

    async def _forget(self, items: Iterable[_Item]) -> None:
        """Forget lines whose batch gives no answer, so that they can be sent again."""
        rows = [(item.line,) for item in items]
        delete = "DELETE FROM batch_lines WHERE line = ?"
        await self._store.transact(lambda connection: connection.executemany(delete, rows))

    def _most(self, item: _Item) -> Usage:
        """Return the most that a question may cost as it would be sent now."""
        body = request_body(item.request, dialect=self._lessons.dialect, settings=self._settings)
        return self._prices.at_most(*most_tokens_of(body))

    def _charge(self, item: _Item, reported: Usage | None) -> None:
        """Replace what is set aside for a question by what it cost; later calls change nothing.

        Args:
            item: The question.
            reported: What the server says that it cost, zeros where it says nothing; None if it certainly cost nothing.
        """
        reservation = item.reservation
        if reservation is None:
            return
        item.reservation = None
        if reported is not None:
            cost = self._prices.charge(reported, reservation.most)
            self._gate.accounts.book(item.request.stage, usage=cost)
            self._budget.settle(reservation, cost)
        elif item.is_sent:
            self._budget.settle(reservation, Usage())
        else:
            self._budget.release(reservation)

    async def _persist(self, exchange: Callable[[], Coroutine[Any, Any, R]]) -> R:
        try:
            return await persist(exchange, label=lambda: "batch", gate=self._gate)
        except CallFailed as error:
            kind = error.kind
        problem = f"the batches cannot be reached ({kind}); they go on there, the same command picks them up"
        raise self._unavailable(problem)

    def _unavailable(self, problem: str) -> ModelUnavailable:
        return ModelUnavailable(Message("{}: {}", self._settings.shown_url(), problem))


def _fail(items: Iterable[_Item], problem: Exception) -> None:
    for item in items:
        if not item.reply.done():
            item.reply.set_exception(problem)


def _mark(items: Sequence[_Item], *, is_sent: bool) -> None:
    for item in items:
        item.is_sent = is_sent


def _is_free(line: Line) -> bool:
    """Whether a line without an answer certainly costs nothing: it was refused, or its batch ended before it."""
    if not line.status:
        return line.error.get("code") in _UNASKED
    return is_refusal(line.status) and not is_filtered(line.error)
