"""What the server is told to do, as JSON: ``{"settings": {...}, "rules": [{"when": {...}, "do": {...}}, ...]}``.

``settings`` hold for every request:

- ``latency_ms``: a number, or ``{"uniform": [low, high]}``
- ``json_schema``, ``json_object``: whether that response format is taken (else a 400 as real servers send)
- ``strict``: refuse a json_schema that is not strict as OpenAI means it
- ``reasoning``: refuse ``max_tokens`` and any temperature but 1, as reasoning models do
- ``no_system``: refuse the system role
- ``api_key``: what the bearer token must be, or the header ``key_header``
- ``models``: the ids served (any, when empty); ``usage``: report tokens (``input``: those alone)
- ``silent_thoughts``: bill every reply as long as it may be, however short the text is
- ``context_read``: the most tokens of a prompt that it says it read
- ``judge``: how pairs of a query and a passage are graded, see ``judge.py``
- ``probabilities``: how tokens and their likelihoods are listed: ``openai`` or ``llama``; ``refused`` is an error, and
  None lists the reply's own tokens alone
- ``kinds``: how queries about several passages are written, see ``kind_writer.py``
- ``tokens_per_s``: how fast a reply is written; ``slots``: how many replies at once, the others wait (any, when None)
- ``headers``: sent with every answer; ``dimensions``: of embeddings; ``batch_s``: how long a batch takes

A rule applies to the requests its ``when`` describes (all conditions hold; counts are per kind of request, from 1):

- ``kind``: chat | embeddings | rerank | models | batch-line (default chat), ``every``: n, ``nth``: [..], ``first``: n,
  ``from``: n, ``contains``/``lacks``: a string in the body, ``times``: the rule is used up after so many uses

and the first one that applies says what to ``do``:

- ``status`` with ``headers``, ``body``; ``latency_ms``; ``hang``: true
- ``connection``: refuse (closed before any answer) | half (headers and half of the body) | garbage (not HTTP)
  | short (half of the body, and an end as if it were whole)
- ``lost``: a line of a batch is answered and billed, and its reply is in no file
- ``slow_body_ms``: the body comes in ten pieces over this time
- ``shape``: where a good reply stands: stream | tool-call | reasoning-only | reasoning | parts
- ``reply``: a kind of reply of ``replies.py``; ``content``: this very text as the reply; ``logprob``: of its tokens
"""

from __future__ import annotations

import asyncio
import math
import random
from collections import Counter
from typing import Any

DEFAULTS: dict[str, Any] = {
    "latency_ms": 0,
    "json_schema": True,
    "json_object": True,
    "strict": False,
    "reasoning": False,
    "no_system": False,
    "api_key": None,
    "key_header": "authorization",
    "models": [],
    "usage": True,
    "silent_thoughts": False,
    "context_read": None,
    "headers": {},
    "dimensions": 8,
    "batch_s": 0.2,
    "batch_end": "completed",
    "judge": None,
    "kinds": None,
    "probabilities": None,
    "tokens_per_s": None,
    "slots": None,
    "seed": 0,
}


class Scenario:
    """The settings and rules in force, and how often each kind of request came since they are."""

    def __init__(self, script: dict[str, Any]) -> None:
        unknown = set(script) - {"settings", "rules"} | set(script.get("settings", {})) - set(DEFAULTS)
        if unknown:
            raise ValueError(f"unknown in the script: {sorted(unknown)}")
        self.settings = {**DEFAULTS, **script.get("settings", {})}
        self.slots = asyncio.Semaphore(self.settings["slots"] or 10_000)
        self.rules: list[dict[str, Any]] = script.get("rules", [])
        self._used: Counter[int] = Counter()
        self._seen: Counter[str] = Counter()
        self._random = random.Random(self.settings["seed"])

    def action(self, kind: str, body: str) -> dict[str, Any]:
        """Return what to do with this request; an empty dictionary means: answer well."""
        self._seen[kind] += 1
        for number, rule in enumerate(self.rules):
            if self._applies(number, rule.get("when", {}), kind, body):
                self._used[number] += 1
                return dict(rule["do"])
        return {}

    def _applies(self, number: int, when: dict[str, Any], kind: str, body: str) -> bool:
        count = self._seen[kind]
        return (
            when.get("kind", "chat") == kind
            and count % when.get("every", 1) == 0
            and ("nth" not in when or count in when["nth"])
            and when.get("from", 1) <= count <= when.get("first", math.inf)
            and when.get("contains", "") in body
            and ("lacks" not in when or when["lacks"] not in body)
            and self._used[number] < when.get("times", math.inf)
        )

    def latency(self, action: dict[str, Any]) -> float:
        """Return how long to wait before the answer, in seconds."""
        latency_ms = action.get("latency_ms", self.settings["latency_ms"])
        if isinstance(latency_ms, dict):
            latency_ms = self._random.uniform(*latency_ms["uniform"])
        return float(latency_ms) / 1000
