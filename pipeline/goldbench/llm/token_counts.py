"""Estimates of how many tokens a text takes, without the tokenizer of any one model.

Byte-pair vocabularies of today (100,000 to 260,000 entries) agree on what matters for a sum of money: four letters of
an alphabet are a token, and a Chinese character takes 0.6 to 0.75. The counts that a server gave for earlier answers
correct the rest; see ``rehearsal``.

Source: OpenAI, «Hello GPT-4o» (2024), the same greeting in twenty languages with its tokens in o200k: 24 in English
and Chinese, 26 in Japanese, 27 in Korean, 23 in Russian. DeepSeek, «Token & Token Usage»: 0.6 tokens for a Chinese
character, 0.3 for an English one.
"""

from __future__ import annotations

import string
from functools import lru_cache
from typing import Any

_PER_ASCII = 0.25
_PER_LETTER = 0.3
_PER_WIDE = 0.7
"""Tokens for a character of ASCII, of other alphabets, and of Chinese, Japanese and Korean."""
_FIRST_WIDE = "\u2e80"
"""Where Chinese, Japanese and Korean begin in Unicode; a few rarer scripts and signs follow them."""

PER_MESSAGE = 4
PER_REQUEST = 3
"""The role and the separators of a message, and the beginning of the reply, as OpenAI documents them."""

_TEXT = 18.0
_VALUE = 2.0
"""A subject takes about 4 tokens, a query 14, an answer 20, a quoted sentence 30; a number or a choice 1 to 3."""

_NO_MARKS = string.ascii_letters.encode() + string.whitespace.encode() + bytes(range(128, 256))
"""All bytes but digits and marks."""


@lru_cache(maxsize=256)
def estimate_tokens(text: str) -> float:
    """Return about how many tokens a text takes, in expectation: not rounded, no bound."""
    narrow = len(text.encode("ascii", "ignore"))
    wide = sum(character >= _FIRST_WIDE for character in text)
    return _PER_ASCII * narrow + _PER_LETTER * (len(text) - narrow - wide) + _PER_WIDE * wide


def estimate_body(body: dict[str, Any]) -> float:
    """Return about how many tokens the messages of a chat request take.

    A schema in ``response_format`` is not counted: most servers turn it into a grammar and do not bill it.
    """
    messages = body["messages"]
    return PER_REQUEST + sum(PER_MESSAGE + estimate_tokens(message["content"]) for message in messages)


def estimate_answer(schema: dict[str, Any], *, items: int = 1) -> float:
    """Return about how many tokens an answer takes: a short sentence for each text, little for any other value.

    Args:
        schema: The strict JSON Schema of the answer.
        items: How long a list is likely to be, 1 or more.
    """
    if "properties" in schema:
        fields = schema["properties"].items()
        return 2 + sum(3 + estimate_tokens(name) + estimate_answer(part, items=items) for name, part in fields)
    if schema.get("type") == "array":
        return 2 + items * estimate_answer(schema["items"])
    return _TEXT if schema.get("type") == "string" and "enum" not in schema else _VALUE


def tokens_at_most(*texts: str) -> int:
    """Return a cautious estimate of the tokens of texts; what a server does not report is charged by it.

    A third of the UTF-8 bytes, rounded up, and half a token for each digit or mark: English takes about a quarter of
    its bytes and Chinese about a third, but a table of figures takes a token for every byte or two.
    """
    raws = [text.encode("utf-8", "replace") for text in texts]
    return sum(len(raw) // 3 + 1 + len(raw.translate(None, _NO_MARKS)) // 2 for raw in raws)
