"""What the server saw: requests, how many at once, and which prompts came again."""

from __future__ import annotations

import hashlib
import json
import time
from collections import Counter, deque
from typing import Any


class Counters:
    """Counts since the last reset."""

    def __init__(self) -> None:
        self.requests: Counter[str] = Counter()
        self.statuses: Counter[str] = Counter()
        self.in_flight: Counter[str] = Counter()
        self.in_flight_max: Counter[str] = Counter()
        self.seen: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()
        self.tokens: Counter[str] = Counter()
        self.texts: Counter[str] = Counter()
        self.last: deque[dict[str, Any]] = deque(maxlen=500)
        self.started = time.monotonic()
        self.first: float | None = None
        self.latest = self.started

    def enter(self, kind: str) -> None:
        self.first = time.monotonic() if self.first is None else self.first
        self.requests[kind] += 1
        self.in_flight[kind] += 1
        self.in_flight_max[kind] = max(self.in_flight_max[kind], self.in_flight[kind])

    def leave(self, kind: str, status: str) -> None:
        self.latest = time.monotonic()
        self.in_flight[kind] -= 1
        self.statuses[status] += 1

    def asked(self, kind: str, body: dict[str, Any]) -> str:
        """Note the prompt and return its hash."""
        prompt = json.dumps(
            [kind, body.get("model"), body.get("messages") or body.get("input") or _pairs(body)], sort_keys=True
        )
        key = hashlib.sha256(prompt.encode()).hexdigest()[:16]
        self.seen[key] += 1
        self.last.append({"kind": kind, "prompt": key, "at": time.monotonic() - self.started, "body": body})
        return key

    def bill(self, kind: str, usage: dict[str, int]) -> None:
        """Bill the tokens of a request that was worked on, whether or not its reply arrives."""
        self.tokens[f"{kind} input"] += usage["prompt_tokens"]
        self.tokens[f"{kind} output"] += usage["completion_tokens"]

    def worked_on(self, kind: str, *texts: str) -> None:
        """Note that these texts were embedded or rated."""
        self.texts.update(f"{kind}\0{text}" for text in texts)

    def report(self) -> dict[str, Any]:
        return {
            "requests": self.requests["chat"],
            "by_kind": dict(self.requests),
            "statuses": dict(self.statuses),
            "in_flight": self.in_flight["chat"],
            "in_flight_max": self.in_flight_max["chat"],
            "repeated": sum(self.seen.values()) - len(self.seen),
            "paid_twice": sum(count - 1 for count in self.answered.values() if count > 1),
            "texts": self.texts.total(),
            "texts_paid_twice": self.texts.total() - len(self.texts),
            "answered": sum(self.answered.values()),
            "input_tokens": self.tokens["chat input"] + self.tokens["batch-line input"],
            "output_tokens": self.tokens["chat output"] + self.tokens["batch-line output"],
            "billed": dict(self.tokens),
            "busy_s": 0.0 if self.first is None else self.latest - self.first,
            "seconds": time.monotonic() - self.started,
        }


def _pairs(body: dict[str, Any]) -> list[Any] | None:
    return [body["query"], body["documents"]] if "documents" in body else None
