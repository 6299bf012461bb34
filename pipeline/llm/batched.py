"""The layer that sends questions in batches: half the price, an answer within a day, in this process or a later one.

Questions that arrive together go into one batch. What is sent is in the answer store before it leaves, so that a rerun
finds its batches and waits for them instead of sending anything twice. Lines that come back without an answer are asked
again in a further batch, a few times at most.
"""

from __future__ import annotations

import asyncio
import hashlib
import uuid
from collections import defaultdict
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic import BaseModel

from pipeline.errors import AnswerRejected, CallFailed, LimitReached, ModelUnavailable
from pipeline.llm.batch_book import BatchBook, SentBatch
from pipeline.llm.batch_files import ENDED, MOST_BYTES, MOST_LINES, BatchFiles, BatchState, Line, line_of
from pipeline.llm.budget import Budget, Reservation
from pipeline.llm.chat import Answered, DialectMemory, Repeat, answered, is_filtered, priced, request_body, usage_of
from pipeline.llm.dialect import Dialect, learn
from pipeline.llm.limited import Accounts, input_at_most
from pipeline.llm.prices import PriceList
from pipeline.llm.recorded import request_key
from pipeline.llm.retried import persist
from pipeline.llm.server_settings import ModelSettings
from pipeline.llm.throttle import Gate
from pipeline.llm.wire import RETRIED, NotThere, ParameterRefused
from pipeline.ports import ChatRequest, Usage

T = TypeVar("T", bound=BaseModel)
R = TypeVar("R")

PRICE = 0.5
"""What a batch costs of the price of single calls, at every provider that is known to have them."""

_MOST_ROUNDS = 3
_FIRST_POLL_S, _LONGEST_POLL_S, _POLL_GROWTH = 0.2, 60.0, 1.5
_IN_A_ROW = 3
_REJECTED = frozenset({400, 422})


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """The most lines and bytes of one batch, and how long no further question may come before it leaves."""

    lines: int = MOST_LINES
    bytes: int = MOST_BYTES
    quiet_s: float = 0.3


@dataclass(slots=True, eq=False)
class _Item:
    """A question on its way. ``held`` is set while the budget has something set aside for it."""

    request: ChatRequest[Any]
    line: bytes
    answer: bytes
    want: Reservation
    found: asyncio.Future[dict[str, Any]]
    held: bool = False
    rounds: int = 0
    dialect: Dialect = field(default_factory=Dialect)


class Batched:
    """Gathers questions into batches; raises as the layers do that it replaces. An async context manager."""

    def __init__(  # noqa: PLR0913  the collaborators of three layers, all by name
        self,
        files: BatchFiles,
        *,
        book: BatchBook,
        settings: ModelSettings,
        gate: Gate,
        budget: Budget,
        accounts: Accounts,
        memory: DialectMemory,
        dialect: Dialect,
        settled: bool,
        limits: BatchLimits | None = None,
        announce: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._files, self._book, self._settings, self._gate = files, book, settings, gate
        self._budget, self._accounts, self._memory = budget, accounts, memory
        self._prices = PriceList(settings, share=PRICE)
        self._dialect, self._settled = dialect, settled
        self._limits, self._announce = limits or BatchLimits(), announce
        self._waiting: list[_Item] = []
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._fruitless = 0

    async def __aenter__(self) -> Batched:
        """Look up what earlier processes have sent."""
        await self._book.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop waiting; batches that run go on at the provider."""
        if self._timer is not None:
            self._timer.cancel()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._book.close()

    async def complete(self, request: ChatRequest[T]) -> Answered[T]:
        """Return the model's answer, once the batch it is asked in has ended."""
        item = _Item(request, *self._keys(request), self._want(request), asyncio.get_running_loop().create_future())
        self._enqueue([item])
        found = await item.found
        return answered(request, found, headers={}, model=self._settings.name, prices=self._prices)

    def _keys(self, request: ChatRequest[T]) -> tuple[bytes, bytes]:
        answer = request_key(request, model=self._settings.name)
        turns = repr(request.earlier).encode("utf-8", "surrogatepass") if isinstance(request, Repeat) else b""
        return hashlib.sha256(b"line/1" + answer + turns).digest(), answer

    def _want(self, request: ChatRequest[T]) -> Reservation:
        usage = Usage(input_at_most(request), request.max_tokens)
        usd = self._prices.cost(usage) if self._settings.max_usd is not None else None
        return Reservation(usage.input_tokens + usage.output_tokens, usd or 0.0)

    def _enqueue(self, items: Sequence[_Item]) -> None:
        self._waiting += items
        if self._timer is not None:
            self._timer.cancel()
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(self._limits.quiet_s, self._leave)

    def _leave(self) -> None:
        self._timer = None
        items, self._waiting = [item for item in self._waiting if not item.found.done()], []
        self._spawn(self._start(items), items)

    def _spawn(self, work: Coroutine[Any, Any, None], items: Sequence[_Item]) -> None:
        async def guarded() -> None:
            try:
                await work
            except Exception as error:  # noqa: BLE001 - whatever it is belongs to those who wait
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
        """Return the lines the caps allow, in as many batches as they need; the others wait or fail."""
        batches: list[tuple[list[bytes], list[_Item]]] = []
        size = 0
        for place, item in enumerate(items):
            try:
                fits = self._budget.check(item.want)
            except LimitReached as error:
                self._fail(item, error)
                continue
            if not fits:  # what is under way may turn out to cost less than was set aside for it
                self._waiting += items[place:]
                break
            self._budget.reserve(item.want)
            item.held, item.dialect = True, self._dialect
            line = line_of(item.line, request_body(item.request, dialect=self._dialect, settings=self._settings))
            full = not batches or len(batches[-1][0]) >= self._limits.lines or size + len(line) > self._limits.bytes
            if full:
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
        batch_id = await self._create(SentBatch(token, file_id, None), file_id)
        await self._book.started(token, batch_id)
        for item in items:
            self._accounts.book(item.request.stage, requests=1)
        self._announce(f"{batch_id}: {len(items):,} requests sent as a batch")
        await self._follow(batch_id, items)

    async def _create(self, sent: SentBatch, file_id: str) -> str:
        """Return the id of the batch, made once: after an attempt of unknown outcome the server is asked first."""
        tried = False

        async def attempt() -> str:
            nonlocal tried
            known = await self._files.search(sent) if tried else None
            tried = True
            return known or await self._files.create(file_id, token=sent.token)

        return await self._persist(attempt)

    async def _pick_up(self, sent: SentBatch, items: list[_Item]) -> None:
        batch_id = sent.batch_id
        if batch_id is None:
            batch_id = await self._persist(lambda: self._files.search(sent))
            if batch_id is not None:
                await self._book.started(sent.token, batch_id)
        if batch_id is None:  # the process ended before the batch was made
            await self._again(items)
            return
        self._announce(f"{batch_id}: {len(items):,} requests of an earlier run are waited for")
        await self._follow(batch_id, items)

    async def _follow(self, batch_id: str, items: list[_Item]) -> None:
        try:
            state = await self._ended(batch_id)
            lines = await self._persist(lambda: self._files.lines(state))
        except NotThere:  # deleted, or of another account
            await self._again(items)
            return
        if not lines and state.status == "failed":
            self._fruitless += 1
            if self._fruitless >= _IN_A_ROW:
                where = self._settings.shown_url()
                problem = ModelUnavailable(f"{where} has failed {_IN_A_ROW} batches in a row: run without --batch")
                await self._give_up(items, problem)
                return
        elif lines:
            self._fruitless = 0
        self._announce(f"{batch_id}: {state.status}, {state.done:,} of {state.total:,} requests worked on")
        await self._take_in(lines, items)

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

    async def _take_in(self, lines: dict[bytes, Line], items: list[_Item]) -> None:
        again: list[_Item] = []
        for item in items:
            line = lines.get(item.line, Line(0, {}))
            if line.status == 200:
                await self._settle(item, line.body)
                continue
            problem = self._problem(item, line)
            if problem is None:
                again.append(item)
            else:
                await self._give_up([item], problem)
        if again:
            await self._again(again)

    async def _settle(self, item: _Item, body: dict[str, Any]) -> None:
        usage = priced(usage_of(body), self._prices)
        if not (usage.input_tokens or usage.output_tokens):
            usage = Usage(item.want.tokens)  # a server that does not count: the caps need a number all the same
        self._release(item, usage)
        self._accounts.book(item.request.stage, usage=usage)
        if not self._settled and item.held and item.dialect == self._dialect:
            self._settled = True
            url, model = self._settings.shown_url(), self._settings.name
            await self._memory.remember_dialect(url, model, self._dialect.dumps())
        if not item.found.done():
            item.found.set_result(body)

    def _problem(self, item: _Item, line: Line) -> Exception | None:
        """Return why a line is not asked again; None where it is, with what was learnt from its refusal."""
        stage, where = item.request.stage, self._settings.shown_url()
        if line.status in {401, 403, 404}:
            return ModelUnavailable(f"{where} refuses the model {self._settings.name!r} (HTTP {line.status})")
        if line.status in _REJECTED:
            return self._refusal(item, line)
        if 400 <= line.status < 500 and line.status not in RETRIED:
            return CallFailed(f"http-{line.status}", f"{where} refuses the call (HTTP {line.status})")
        item.rounds += 1
        if item.rounds < _MOST_ROUNDS:
            return None
        what = f"the server answers HTTP {line.status}" if line.status else "no batch came to it"
        return CallFailed("batch", f"{stage}: {what} ({item.rounds} batches)", attempts=item.rounds)

    def _refusal(self, item: _Item, line: Line) -> Exception | None:
        """Return why a line refused as wrong is not asked again; None where another dialect may do."""
        error = line.body.get("error")
        said = error if isinstance(error, dict) else line.body
        if is_filtered(said):
            return AnswerRejected("content-filter", f"{item.request.stage}: the provider's content filter stopped it")
        if item.held and item.dialect != self._dialect:  # somebody else has learnt in the meantime
            return None
        fixed = self._settings.response_format != "auto"
        better = learn(self._dialect, said, settled=self._settled, fixed_format=fixed)
        if better is None:
            kind = f"http-{line.status}"
            return CallFailed(kind, f"{self._settings.shown_url()} refuses the call as wrong (HTTP {line.status})")
        self._dialect, self._settled = better, False
        return None

    async def _again(self, items: list[_Item]) -> None:
        await self._book.forget(item.line for item in items)
        for item in items:
            self._release(item, Usage())
        self._enqueue(items)

    async def _give_up(self, items: list[_Item], problem: Exception) -> None:
        await self._book.forget(item.line for item in items)
        for item in items:
            self._fail(item, problem)

    def _fail(self, item: _Item, problem: Exception) -> None:
        self._release(item, Usage())
        if not item.found.done():
            item.found.set_exception(problem)

    def _release(self, item: _Item, usage: Usage) -> None:
        spent = usage.input_tokens + usage.output_tokens
        if item.held:
            self._budget.settle(item.want, tokens=spent, usd=usage.usd or 0.0, sent=True)
        else:
            self._budget.tokens += spent
            self._budget.usd += usage.usd or 0.0
        item.held = False
        if self._waiting and self._timer is None:
            self._enqueue([])

    async def _persist(self, exchange: Callable[[], Coroutine[Any, Any, R]]) -> R:
        settings, where = self._settings, self._settings.shown_url()
        try:
            return await persist(exchange, label=lambda: "batch", settings=settings, gate=self._gate)
        except CallFailed as error:
            problem = error.kind
        except ParameterRefused as error:
            problem = f"http-{error.status}"
        raise ModelUnavailable(
            f"{where}: its batches cannot be reached ({problem}); they go on there, the same command picks them up"
        )
