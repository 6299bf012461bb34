"""What can go wrong with one HTTP exchange, in the path's own words; never leaves ``pipeline.llm``."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from pipeline.errors import AnswerRejected
from pipeline.ports import Usage


class Cause(Enum):
    """Why an exchange gave no answer, as far as the gate and the retries care."""

    UNREACHABLE = "unreachable"
    """No connection came about: nothing was sent."""
    BROKEN = "broken"
    """The connection broke, or the server failed while it answered."""
    OVERLOADED = "overloaded"
    """The server wants fewer calls, or was too slow."""
    REFUSED = "refused"
    """The server understood the call and turned it down."""
    LEARNED = "learned"
    """The server does not take a parameter; the next attempt goes without it."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """What a server says is left of its limits: number, and seconds until it is full again. None where unsaid."""

    requests: int | None = None
    requests_reset_s: float | None = None
    tokens: int | None = None
    tokens_reset_s: float | None = None


class ExchangeFailed(Exception):
    """One exchange failed and another attempt may work. ``kind`` is short, stable and free of content."""

    def __init__(
        self,
        cause: Cause,
        kind: str,
        *,
        retry_after_s: float | None = None,
        request_id: str | None = None,
        allowance: Allowance | None = None,
    ) -> None:
        self.cause, self.kind = cause, kind
        self.retry_after_s, self.request_id, self.allowance = retry_after_s, request_id, allowance
        super().__init__(kind)


@dataclass(frozen=True, slots=True)
class Reply:
    """The text of a reply as it came, with what it cost; its content never shows in ``repr``."""

    text: str = field(repr=False)
    model: str
    usage: Usage
    request_id: str | None = None
    allowance: Allowance | None = field(default=None, repr=False)


class ReplyRejected(AnswerRejected):
    """A reply that cannot be used, with what was paid for it and, for a misfit, what to tell the model."""

    def __init__(self, kind: str, message: str, *, reply: Reply, problems: tuple[str, ...] = ()) -> None:
        super().__init__(kind, message, request_id=reply.request_id)
        self.reply, self.problems = reply, problems
