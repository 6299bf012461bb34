"""What the model path is told: which server, how hard to drive it, and what it may cost."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urlsplit, urlunsplit

from pipeline.errors import UsageError

OPENAI = "https://api.openai.com/v1"


@dataclass(frozen=True, slots=True)
class Prices:
    """US dollars per million tokens, as the user states them; they go before any table of prices."""

    input: float
    output: float
    embedding: float | None = None


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """Everything the model path needs. The key never shows: not in ``repr``, not in a message, not in a log.

    Caps (``max_requests``, ``max_tokens``, ``max_usd``, ``deadline_s``) hold for the life of one opened path; None
    means no cap. ``requests_per_minute`` and ``tokens_per_minute`` are the account's limits as the user knows them;
    those that the server announces in its headers are heeded as well.
    """

    model: str
    base_url: str = OPENAI
    api_key: str | None = field(default=None, repr=False)
    embedding_model: str | None = None

    concurrency: int = 64
    """The most calls in flight at once; fewer when the server is overloaded."""
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None

    max_requests: int | None = None
    max_tokens: int | None = None
    max_usd: float | None = None
    prices: Prices | None = None

    call_timeout_s: float = 120.0
    """The longest one HTTP exchange may take, from the first byte sent to the last received."""
    deadline_s: float | None = None
    """The longest the whole path may work, counted from its opening."""
    max_attempts: int = 10
    """Attempts of one call; the waits between ten of them span a minute, the usual window of a rate limit."""
    retry_s: float = 300.0
    """The longest one call may wait between its attempts, all waits together."""
    unreachable_s: float = 180.0
    """How long a server that has answered before may be gone before the run gives up."""
    never_reached_s: float = 15.0
    """The same for a server that has not answered at all yet."""

    response_format: Literal["auto", "json_schema", "json_object", "text"] = "auto"
    """How a reply is held to its schema. ``auto`` finds out what the server takes."""
    sends_temperature: bool = True
    reasoning_tokens: int = 4096
    """Room added to the length limit of models that are found to think before they answer."""
    embedding_batch: int = 96
    dimensions: int | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot work.

        Raises:
            UsageError: a number is out of range or the base URL is none.
        """
        parts = urlsplit(self.base_url)
        problems = [
            *([] if self.model.strip() else ["no model is named"]),
            *([] if parts.scheme in {"http", "https"} and parts.hostname else ["base_url is not an http(s) address"]),
            *(["base_url must not hold a user name or a password"] if "@" in parts.netloc else []),
            *(["the API key holds white space or a character no header may hold"] if _is_odd(self.api_key) else []),
            *(f"{name} must be above 0" for name in _POSITIVE if getattr(self, name) <= 0),
            *(f"{name} must not be negative" for name in _CAPS if (getattr(self, name) or 0) < 0),
        ]
        if problems:
            raise UsageError("model settings: " + "; ".join(problems))

    def shown_url(self) -> str:
        """Return the base URL without user name, password and query, fit for a message."""
        parts = urlsplit(self.base_url)
        host = parts.netloc.rpartition("@")[2]
        return urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", ""))


def _is_odd(key: str | None) -> bool:
    return key is not None and re.fullmatch(r"[\x21-\x7e]*", key) is None


_POSITIVE = (
    "concurrency", "call_timeout_s", "max_attempts", "retry_s", "unreachable_s", "never_reached_s", "embedding_batch",
)  # fmt: skip
_CAPS = ("max_requests", "max_tokens", "max_usd", "requests_per_minute", "tokens_per_minute", "deadline_s")
