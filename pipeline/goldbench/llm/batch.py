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
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel

from goldbench.errors import CallFailed, LimitReached, Message, ModelUnavailable
from goldbench.llm.budget import Reservation
from goldbench.llm.calls import persist, request_key
from goldbench.llm.chat import ChatAnswer, most_tokens_of, read_completion, usage_of, with_lessons, words
from goldbench.llm.dialect import Dialect, Lessons, request_body
from goldbench.llm.exchange import ExchangeFailed, ExchangeFault, ParameterRefused, PathUnknown, costs_nothing
from goldbench.llm.limits import Gate
from goldbench.llm.prices import BATCH_SHARE, PriceList
from goldbench.llm.reply_body import error_of, mapping_at
from goldbench.llm.store import AnswerStore, forget_answered
from goldbench.ports import ChatRequest, Usage
from goldbench.text.display import amount

if TYPE_CHECKING:
    from goldbench.llm.client import Client  # imports openai

T = TypeVar("T", bound=BaseModel)
R = TypeVar("R")

MOST_LINES = 50_000
"""The most lines that OpenAI takes in one batch."""
MOST_BYTES = 200_000_000
"""The most bytes that OpenAI takes in one batch."""
QUIET_S = 0.3
"""Seconds without a further question after which a batch is sent."""
_ENDED = frozenset({"completed", "failed", "expired", "cancelled"})
_MOST_ROUNDS = 3
"""The most batches that one line is sent in."""
_FIRST_POLL_S = 0.2
_LONGEST_POLL_S = 60.0
_POLL_GROWTH = 1.5
_PAGE = 100
_UNASKED = frozenset({"batch_failed", "batch_expired", "batch_cancelled"})
"""Codes of lines that a batch did not come to; they cost nothing."""


@dataclass(slots=True, eq=False)
class _Item:
    """A question on its way. ``reservation`` is what the budget has set aside for it.

    ``is_sent`` says that the server may work on it, and bill it; ``dialect`` is that in which it was sent, None where
    an earlier process sent it.
    """

    request: ChatRequest[Any]
    line: bytes
    answer: bytes
    reply: asyncio.Future[dict[str, Any]]
    reservation: Reservation | None = None
    is_sent: bool = False
    rounds: int = 0
    dialect: Dialect | None = None

    def fail(self, problem: Exception) -> None:
        if not self.reply.done():
            self.reply.set_exception(problem)


@dataclass(slots=True, eq=False)
class Batch:
    """Gathers questions into batches, in place of single exchanges. An async context manager.

    Attributes:
        client: The client of the server.
        store: Remembers the batches that were sent.
        gate: The settings, the budget and the accounts; batches do not pass the gate itself.
        lessons: The dialect of the model.
        announce: Takes a line about every batch that is sent or ends.
    """

    client: Client
    store: AnswerStore
    gate: Gate
    lessons: Lessons
    announce: Callable[[str], None]
    _prices: PriceList = field(init=False)
    _waiting: list[_Item] = field(default_factory=list)
    _timer: asyncio.TimerHandle | None = None
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._prices = PriceList(self.gate.settings, share=BATCH_SHARE)
        self.gate.budget.call_when_freed(self._send_waiting)

    async def __aenter__(self) -> Batch:
        """Forget the lines of earlier processes that are answered."""
        await self.store.transact(forget_answered)
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop waiting; started batches go on at the provider."""
        if self._timer is not None:
            self._timer.cancel()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.store.transact(forget_answered)

    async def complete(self, request: ChatRequest[T]) -> ChatAnswer[T]:
        """Return the model's answer once its batch has ended; raises as the layers do that this replaces."""
        answer = request_key(request, model=self.gate.settings.name)
        turns = repr(request.earlier).encode("utf-8", "surrogatepass") if request.earlier else b""
        line = hashlib.sha256(b"line/1" + answer + turns).digest()
        item = _Item(request, line, answer, reply=asyncio.get_running_loop().create_future())
        self._enqueue([item])
        try:
            body = await item.reply
            return read_completion(request, body, model=self.gate.settings.name, prices=self._prices)
        except CallFailed as failed:
            failed.at(request.stage)
            raise
        finally:
            self._charge(item, Usage() if item.is_sent else None)  # whatever became of it, if it is still open

    def _enqueue(self, items: Sequence[_Item]) -> None:
        self._waiting += items
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(QUIET_S, self._start)

    def _send_waiting(self) -> None:
        if self._waiting and self._timer is None:
            self._enqueue([])

    def _start(self) -> None:
        self._timer = None
        items = [item for item in self._waiting if not item.reply.done()]
        self._waiting = []
        self._spawn(self._share_out(items), items)

    def _spawn(self, work: Coroutine[Any, Any, None], items: Sequence[_Item]) -> None:
        async def guarded() -> None:
            try:
                await work
            except Exception as error:  # noqa: BLE001 - the questions that wait get it
                for item in items:
                    item.fail(error)

        task = asyncio.create_task(guarded())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _share_out(self, items: list[_Item]) -> None:
        """Wait for the batches that hold these lines already; send the rest."""
        select = "SELECT token, batch_id FROM batches JOIN batch_lines USING (token) WHERE line = ? AND base_url = ?"

        def look(connection: sqlite3.Connection) -> list[Any]:
            return [connection.execute(select, (item.line, self.client.url)).fetchone() for item in items]

        running: defaultdict[tuple[str, str | None], list[_Item]] = defaultdict(list)
        unsent: list[_Item] = []
        for item, row in zip(items, await self.store.transact(look), strict=True):
            (running[row] if row else unsent).append(item)
        for (token, batch_id), members in running.items():
            self._spawn(self._pick_up(token, batch_id, members), members)
        for lines, members in self._packed(unsent):
            self._spawn(self._send(lines, members), members)

    def _packed(self, items: list[_Item]) -> list[tuple[list[bytes], list[_Item]]]:
        """Return the lines that the caps allow, in as many batches as they need; the others wait or fail."""
        batches: list[tuple[list[bytes], list[_Item]]] = []
        size = 0
        for position, item in enumerate(items):
            item.dialect = self.lessons.dialect
            body = request_body(item.request, dialect=item.dialect, settings=self.gate.settings)
            most = self._prices.at_most(*most_tokens_of(body))
            try:
                if not self.gate.budget.check(most):  # batches under way may turn out to cost less than was set aside
                    self._waiting += items[position:]
                    break
            except LimitReached as error:
                item.fail(error)
                continue
            item.reservation = self.gate.budget.reserve(most)
            item.is_sent = False
            row = {"custom_id": item.line.hex(), "method": "POST", "url": "/v1/chat/completions", "body": body}
            line = json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
            if not batches or len(batches[-1][0]) >= MOST_LINES or size + len(line) > MOST_BYTES:
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
            connection.execute("INSERT INTO batches (token, base_url) VALUES (?, ?)", (token, self.client.url))
            connection.executemany("INSERT OR REPLACE INTO batch_lines VALUES (?, ?, ?)", rows)

        async def upload() -> str:
            return _id_of(await self.client.upload(f"{token}.jsonl", b"".join(lines)))

        await self.store.transact(note)
        try:
            file_id = await self._persist(upload)
        except PathUnknown:
            raise self._unavailable(Message("the server takes no batches: run without {batch=True}")) from None
        batch_id = await self._create(file_id, token, items)
        await self._note_id(batch_id, token)
        for item in items:
            self.gate.accounts.book(item.request.stage, requests=1)
        self.announce(f"{batch_id}: {amount(len(items), 'request')} sent as a batch")
        await self._follow(batch_id, items)

    async def _create(self, file_id: str, token: str, items: list[_Item]) -> str:
        """Start a batch once and return its id: after an attempt of unknown outcome the server is asked first."""
        body = {
            "input_file_id": file_id,
            "endpoint": "/v1/chat/completions",
            "completion_window": "24h",
            "metadata": {"goldbench": token},
        }
        is_tried = False

        async def attempt() -> str:
            nonlocal is_tried
            known = await self._search(token) if is_tried else None
            is_tried = True
            was_sent = items[0].is_sent
            _mark(items, is_sent=True)
            try:
                return known or _id_of((await self.client.post("/batches", body))[0])
            except (ExchangeFailed, CallFailed, ModelUnavailable) as failed:
                _mark(items, is_sent=was_sent or not costs_nothing(failed))
                raise

        return await self._persist(attempt)

    async def _search(self, token: str) -> str | None:
        """Return the id of a batch that may have been started, None where the account has no such batch."""
        after = ""
        while True:
            try:
                page = await self.client.get(f"/batches?limit={_PAGE}{after}")
            except PathUnknown:
                return None
            rows = [row for row in page.get("data") or [] if isinstance(row, dict)]
            for row in rows:
                if mapping_at(row, "metadata").get("goldbench") == token:
                    return _id_of(row)
            if not page.get("has_more") or not rows:
                return None
            after = f"&after={_id_of(rows[-1])}"

    async def _pick_up(self, token: str, batch_id: str | None, items: list[_Item]) -> None:
        """Wait for a batch of an earlier process; send its lines if it was never started."""
        for item in items:
            body = request_body(item.request, dialect=self.lessons.dialect, settings=self.gate.settings)
            item.reservation = self.gate.budget.reserve(self._prices.at_most(*most_tokens_of(body)), requests=0)
        batch_id = batch_id or await self._persist(lambda: self._search(token))
        if batch_id is None:
            await self._send_again(items)
            return
        await self._note_id(batch_id, token)
        _mark(items, is_sent=True)
        self.announce(f"{batch_id}: waiting for {amount(len(items), 'request')} of an earlier run")
        await self._follow(batch_id, items)

    async def _follow(self, batch_id: str, items: list[_Item]) -> None:
        """Wait for the end of a batch and give every line to its question."""
        try:
            batch = await self._ended(batch_id)
            lines = await self._persist(lambda: self._results(batch))
        except PathUnknown:  # deleted, or of another account
            for item in items:
                self._charge(item, Usage())
            await self._send_again(items)
            return
        code = f"batch_{batch.get('status')}"
        self.announce(f"{batch_id}: {batch.get('status')}")
        again: list[_Item] = []
        for item in items:
            status, reply = lines.get(item.line, (0, {"code": code}))
            if status == 200:
                await self._settle(item, reply)
                continue
            failure = self._failure(item, status, error_of(reply))
            if isinstance(failure, ExchangeFailed):
                again.append(item)
            else:
                await self._forget([item])
                item.fail(failure)
        if again:
            await self._send_again(again)

    async def _ended(self, batch_id: str) -> dict[str, Any]:
        """Return the server's description of a batch once it has ended."""
        pause_s = _FIRST_POLL_S
        while True:
            self.gate.budget.check_deadline()
            batch = await self._persist(lambda: self.client.get(f"/batches/{batch_id}"))
            if batch.get("status") in _ENDED:
                return batch
            left = self.gate.budget.remaining_s()
            await asyncio.sleep(pause_s if left is None else min(pause_s, max(0.0, left)))
            pause_s = min(_LONGEST_POLL_S, pause_s * _POLL_GROWTH)

    async def _results(self, batch: dict[str, Any]) -> dict[bytes, tuple[int, dict[str, Any]]]:
        """Return the HTTP status and the body of every line in the files of a batch.

        The status is 0 where the batch ended before the line was asked; a line that cannot be read is asked again.
        """
        lines: dict[bytes, tuple[int, dict[str, Any]]] = {}
        for file_id in filter(None, (batch.get("output_file_id"), batch.get("error_file_id"))):
            for raw in io.BytesIO(await self.client.read(f"/files/{file_id}/content")):
                try:
                    row = json.loads(raw)
                    response = row.get("response") or {"status_code": 0, "body": row.get("error")}
                    status = int(response.get("status_code") or 0)
                    lines[bytes.fromhex(row["custom_id"])] = status, mapping_at(response, "body")
                except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
                    continue
        return lines

    async def _settle(self, item: _Item, body: dict[str, Any]) -> None:
        reported = usage_of(body)
        self.lessons.compare(reported, words(item.request))
        self._charge(item, reported)
        await self.lessons.settle(item.dialect)
        if not item.reply.done():
            item.reply.set_result(body)

    def _failure(
        self, item: _Item, status: int, error: dict[str, Any]
    ) -> ExchangeFailed | CallFailed | ModelUnavailable:
        """Return why a line has no answer: an ``ExchangeFailed`` where it is asked again."""
        code = error.get("code")
        failure: ExchangeFailed | CallFailed | ModelUnavailable
        failure = ExchangeFailed(ExchangeFault.BROKEN, "unasked", is_free=code in _UNASKED)
        if status:
            failure = self.client.failure(status, error, {})
        if isinstance(failure, ParameterRefused):
            failure = with_lessons(failure, self.lessons, item.dialect or self.lessons.dialect)
        self._charge(item, None if costs_nothing(failure) else Usage())
        if not isinstance(failure, ExchangeFailed) or failure.cause is ExchangeFault.LEARNED:
            return failure
        item.rounds += 1
        if item.rounds < _MOST_ROUNDS:
            return failure
        if code == "batch_failed":
            return self._unavailable(Message("{} batches have failed: run without {batch=True}", item.rounds))
        reason = f"the server answers HTTP {status}" if status else "no batch reached it"
        return CallFailed("batch", f"{reason} ({item.rounds} batches)", attempts=item.rounds)

    async def _send_again(self, items: list[_Item]) -> None:
        await self._forget(items)
        for item in items:
            self._charge(item, None)  # those that were never sent
        self._enqueue(items)

    async def _forget(self, items: list[_Item]) -> None:
        """Forget lines whose batch gives no answer, so that they can be sent again."""
        rows = [(item.line,) for item in items]
        delete = "DELETE FROM batch_lines WHERE line = ?"
        await self.store.transact(lambda connection: connection.executemany(delete, rows))

    async def _note_id(self, batch_id: str, token: str) -> None:
        update = "UPDATE batches SET batch_id = ? WHERE token = ?"
        await self.store.transact(lambda connection: connection.execute(update, (batch_id, token)))

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
            self.gate.accounts.book(item.request.stage, usage=cost)
            self.gate.budget.settle(reservation, cost)
        elif item.is_sent:
            self.gate.budget.settle(reservation, Usage())
        else:
            self.gate.budget.release(reservation)

    async def _persist(self, exchange: Callable[[], Coroutine[Any, Any, R]]) -> R:
        try:
            return await persist(exchange, label="batch", gate=self.gate, passes_gate=False)
        except ParameterRefused as error:
            problem = "the server refuses the batch ({}): run without {batch=True}, or with another model"
            raise self._unavailable(Message(problem, error.kind)) from None
        except CallFailed as error:
            problem = "the server cannot be asked about batches now ({}): run again, which picks up what was sent"
            raise self._unavailable(Message(problem, error.kind)) from None

    def _unavailable(self, problem: str) -> ModelUnavailable:
        return ModelUnavailable(problem).at(self.client.url)


def _id_of(reply: dict[str, Any]) -> str:
    name = reply.get("id")
    if not isinstance(name, str) or not name or "/" in name or "?" in name:
        raise ExchangeFailed(ExchangeFault.BROKEN, "not-json")
    return name


def _mark(items: Sequence[_Item], *, is_sent: bool) -> None:
    for item in items:
        item.is_sent = is_sent
