"""Questions sent in batches: half the price, an answer within a day, in this process or a later one.

Questions that arrive together go into one batch. A batch is noted in the answer store before it is sent, so that a
rerun finds it and waits for it instead of sending anything twice. Lines that come back without an answer are asked
again in a further batch, a few times at most.
"""

from __future__ import annotations

import asyncio
import hashlib
import uuid
from collections import defaultdict
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel

from goldbench.pipeline.errors import AnswerRejected, CallFailed, LimitReached, Message, ModelError, ModelUnavailable
from goldbench.pipeline.llm.batch_book import BatchBook, SentBatch
from goldbench.pipeline.llm.batch_files import ENDED, MOST_BYTES, MOST_LINES, BatchFiles, BatchState, Line, line_of
from goldbench.pipeline.llm.budget import Reservation
from goldbench.pipeline.llm.chat import CONTENT_FILTER, Answered, answered, is_filtered, most_tokens_of, usage_of, words
from goldbench.pipeline.llm.dialect import Dialect, Lessons, Repeat, request_body
from goldbench.pipeline.llm.exchange_end import ExchangeFailed, NotThere, ParameterRefused, is_refusal, was_refused
from goldbench.pipeline.llm.layers.answer_record import request_key
from goldbench.pipeline.llm.layers.retry import persist
from goldbench.pipeline.llm.prices import BATCH_SHARE, PriceList
from goldbench.pipeline.llm.throttle import Gate
from goldbench.pipeline.llm.wire import RETRIED
from goldbench.pipeline.ports import ChatRequest, Usage
from goldbench.pipeline.text.display import amount

T = TypeVar("T", bound=BaseModel)
R = TypeVar("R")

_MOST_ROUNDS = 3
"""The most batches that one line is sent in."""
_FIRST_POLL_S, _LONGEST_POLL_S, _POLL_GROWTH = 0.2, 60.0, 1.5
_UNASKED = frozenset({"batch_failed", "batch_expired", "batch_cancelled"})
"""Codes of lines that a batch did not come to."""
_FRUITLESS_BATCHES = 3
"""End the run after this many failed batches in a row."""


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
        files: BatchFiles,
        *,
        book: BatchBook,
        gate: Gate,
        lessons: Lessons,
        announce: Callable[[str], None],
        limits: BatchLimits,
    ) -> None:
        """Store the client of the server, the record of sent batches and their limits.

        Args:
            files: The batches of the server.
            book: The batches that were sent.
            gate: The settings, the budget and the accounts; batches do not pass the gate itself.
            lessons: The dialect of the model.
            announce: Takes a line about every batch that is sent or ends.
            limits: The size of a batch.
        """
        self._files, self._book, self._lessons, self._announce = files, book, lessons, announce
        self._gate, self._budget, self._settings = gate, gate.budget, gate.settings
        self._prices = PriceList(gate.settings, share=BATCH_SHARE)
        self._limits = limits
        self._waiting: list[_Item] = []
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._fruitless = 0
        self._budget.call_when_freed(self._send_waiting)

    async def __aenter__(self) -> Batch:
        """Look up what earlier processes have sent."""
        await self._book.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop waiting; started batches go on at the provider."""
        if self._timer is not None:
            self._timer.cancel()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._book.close()

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
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(self._limits.quiet_s, self._leave)

    def _leave(self) -> None:
        self._timer = None
        items, self._waiting = [item for item in self._waiting if not item.reply.done()], []
        self._spawn(self._start(items), items)

    def _spawn(self, work: Coroutine[Any, Any, None], items: Sequence[_Item]) -> None:
        async def guarded() -> None:
            try:
                await work
            except Exception as error:  # noqa: BLE001 - the questions that wait get it
                for item in items:
                    self._fail(item, error)

        task = asyncio.create_task(guarded())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _start(self, items: list[_Item]) -> None:
        """Wait for the batches that hold these lines already; send the rest."""
        sent = await self._book.find(item.line for item in items)
        running: defaultdict[SentBatch, list[_Item]] = defaultdict(list)
        for item in items:
            if item.line in sent:
                running[sent[item.line]].append(item)
        for batch, lines in running.items():
            self._spawn(self._pick_up(batch, lines), lines)
        for packed, lines in self._packed([item for item in items if item.line not in sent]):
            self._spawn(self._send(packed, lines), lines)

    def _packed(self, items: list[_Item]) -> list[tuple[list[bytes], list[_Item]]]:
        """Return the lines that the caps allow, in as many batches as they need; the others wait or fail."""
        batches: list[tuple[list[bytes], list[_Item]]] = []
        size = 0
        for position, item in enumerate(items):
            most = self._most(item)
            try:
                fits = self._budget.check(most)
            except LimitReached as error:
                self._fail(item, error)
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
        await self._book.begin(token, [(item.line, item.answer) for item in items])
        file_id = await self._persist(lambda: self._files.upload(lines, name=token))
        await self._book.uploaded(token, file_id)
        batch_id = await self._create(SentBatch(token, file_id, None), file_id, items)
        await self._book.started(token, batch_id)
        for item in items:
            self._gate.accounts.book(item.request.stage, requests=1)
        self._announce(f"{batch_id}: {amount(len(items), 'request')} sent as a batch")
        await self._follow(batch_id, items)

    async def _create(self, sent: SentBatch, file_id: str, items: list[_Item]) -> str:
        """Start a batch once and return its id: after an attempt of unknown outcome the server is asked first."""
        tried = False

        async def attempt() -> str:
            nonlocal tried
            known = await self._files.search(sent) if tried else None
            tried = True
            was_sent = items[0].is_sent
            _mark(items, is_sent=True)
            try:
                return known or await self._files.create(file_id, token=sent.token)
            except (ExchangeFailed, ModelUnavailable) as failed:
                _mark(items, is_sent=was_sent or not was_refused(failed))
                raise

        return await self._persist(attempt)

    async def _pick_up(self, sent: SentBatch, items: list[_Item]) -> None:
        for item in items:
            item.reservation = self._budget.reserve(self._most(item), requests=0)
        batch_id = sent.batch_id
        if batch_id is None:
            batch_id = await self._persist(lambda: self._files.search(sent))
            if batch_id is None:  # the process ended before the batch was started
                await self._again(items)
                return
            await self._book.started(sent.token, batch_id)
        _mark(items, is_sent=True)
        self._announce(f"{batch_id}: waiting for {amount(len(items), 'request')} of an earlier run")
        await self._follow(batch_id, items)

    async def _follow(self, batch_id: str, items: list[_Item]) -> None:
        """Wait for the end of a batch and take in its lines."""
        try:
            state = await self._ended(batch_id)
            lines = await self._persist(lambda: self._files.lines(state))
        except NotThere:  # deleted, or of another account
            for item in items:
                self._charge(item, Usage())
            await self._again(items)
            return
        self._fruitless = 0 if lines else self._fruitless + (state.status == "failed")
        if self._fruitless >= _FRUITLESS_BATCHES:
            problem = self._unavailable(
                Message("{} batches in a row have failed: run without {batch=True}", _FRUITLESS_BATCHES)
            )
            for item in items:
                self._charge(item, None)
            await self._give_up(items, problem)
            return
        self._announce(f"{batch_id}: {state.status}, {state.done:,} of {amount(state.total, 'request')} done")
        await self._take_in(lines, items, missing=Line(0, {"code": f"batch_{state.status}"}))

    async def _ended(self, batch_id: str) -> BatchState:
        """Return the state of a batch once it has ended."""
        pause_s = _FIRST_POLL_S
        while True:
            self._budget.check_deadline()
            state = await self._persist(lambda: self._files.state(batch_id))
            if state.status in ENDED:
                return state
            left = self._budget.remaining_s()
            await asyncio.sleep(pause_s if left is None else min(pause_s, max(0.0, left)))
            pause_s = min(_LONGEST_POLL_S, pause_s * _POLL_GROWTH)

    async def _take_in(self, lines: dict[bytes, Line], items: list[_Item], *, missing: Line) -> None:
        again: list[_Item] = []
        for item in items:
            line = lines.get(item.line, missing)
            if line.status == 200:
                await self._settle(item, line.body)
                continue
            self._charge(item, None if _is_free(line) else Usage())
            if problem := self._problem(item, line):
                await self._give_up([item], problem)
            else:
                again.append(item)
        if again:
            await self._again(again)

    async def _settle(self, item: _Item, body: dict[str, Any]) -> None:
        reported = usage_of(body)
        self._lessons.compare(reported, words(item.request))
        self._charge(item, reported)
        await self._lessons.settle(item.dialect)
        if not item.reply.done():
            item.reply.set_result(body)

    def _problem(self, item: _Item, line: Line) -> ModelError | None:
        """Return why a line is not asked again, None where it is."""
        if line.status in {401, 403, 404}:
            return self._unavailable(f"the server refuses the model {self._settings.name!r} (HTTP {line.status})")
        if line.status in {400, 422}:
            return self._refusal(item, line)
        if 400 <= line.status < 500 and line.status not in RETRIED:
            return CallFailed(f"http-{line.status}", f"the server refuses the call (HTTP {line.status})")
        item.rounds += 1
        if item.rounds < _MOST_ROUNDS:
            return None
        what = f"the server answers HTTP {line.status}" if line.status else "no batch reached it"
        return CallFailed("batch", f"{what} ({item.rounds} batches)", attempts=item.rounds)

    def _refusal(self, item: _Item, line: Line) -> CallFailed | None:
        error = line.error
        if is_filtered(error):
            return AnswerRejected("content-filter", CONTENT_FILTER)
        if self._lessons.learn(item.dialect or self._lessons.dialect, error):
            return None
        return ParameterRefused(line.status, error)

    async def _again(self, items: list[_Item]) -> None:
        await self._book.forget(item.line for item in items)
        for item in items:
            self._charge(item, None)  # those that were never sent
        self._enqueue(items)

    async def _give_up(self, items: list[_Item], problem: Exception) -> None:
        await self._book.forget(item.line for item in items)
        for item in items:
            self._fail(item, problem)

    def _fail(self, item: _Item, problem: Exception) -> None:
        if not item.reply.done():
            item.reply.set_exception(problem)

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

    def _send_waiting(self) -> None:
        if self._waiting and self._timer is None:
            self._enqueue([])

    async def _persist(self, exchange: Callable[[], Coroutine[Any, Any, R]]) -> R:
        try:
            return await persist(exchange, label=lambda: "batch", gate=self._gate)
        except CallFailed as error:
            kind = error.kind
        problem = f"the batches cannot be reached ({kind}); they go on there, the same command picks them up"
        raise self._unavailable(problem)

    def _unavailable(self, problem: str) -> ModelUnavailable:
        return ModelUnavailable(Message("{}: {}", self._settings.shown_url(), problem))


def _mark(items: Sequence[_Item], *, is_sent: bool) -> None:
    for item in items:
        item.is_sent = is_sent


def _is_free(line: Line) -> bool:
    """Whether a line without an answer certainly costs nothing: it was refused, or its batch ended before it."""
    if not line.status:
        return line.error.get("code") in _UNASKED
    return is_refusal(line.status) and not is_filtered(line.error)
