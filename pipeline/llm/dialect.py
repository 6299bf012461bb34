"""Which parameters a server takes: found out from its refusals, remembered, never assumed."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from pydantic import BaseModel

from pipeline.llm.reply_schema import answer_schema, schema_text
from pipeline.llm.server_settings import ModelSettings

_LONE = re.compile("[\ud800-\udfff]")
FORMATS = ("json_schema", "json_object", "text")

_JSON_ONLY = (
    "\n\nReply with one JSON object and nothing else: no code fence, no words before or after it. "
    "It must fit this JSON Schema:\n"
)
_FORMAT_WORDS = (
    "response_format", "response format", "json_schema", "json_object", "json schema", "structured output",
    "structured_output", "guided", "grammar", "json mode",
)  # fmt: skip
_SYSTEM_WORDS = (
    "system role", "role 'system'", 'role "system"', "developer instruction", "system message", "system prompt",
)  # fmt: skip
_OTHER_WORDS = (
    "context length", "context_length", "maximum context", "too long", "too many tokens", "content_filter",
    "content management", "safety", "moderation", "api key", "api_key", "billing", "quota",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Dialect:
    """How to put a question to one model of one server."""

    format: str = "json_schema"
    length: str = "max_tokens"
    temperature: bool = True
    system: bool = True

    def dumps(self) -> str:
        """Return it as JSON, to be remembered."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def loads(cls, text: str) -> Dialect:
        """Return what ``dumps`` wrote; a dialect of another version is forgotten."""
        try:
            return cls(**json.loads(text))
        except (TypeError, ValueError):
            return cls()


def dialect_for(settings: ModelSettings, remembered: str | None) -> Dialect:
    """Return how to put the first question: as remembered from earlier runs, else as most servers take it."""
    known = Dialect.loads(remembered) if remembered else Dialect()
    return Dialect(
        format=known.format if settings.response_format == "auto" else settings.response_format,
        length=known.length,
        temperature=known.temperature and settings.sends_temperature,
        system=known.system,
    )


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, apart from how it is put: messages, schema, sampling."""

    system: str
    user: str
    answer: type[BaseModel]
    temperature: float | None
    max_tokens: int
    earlier: tuple[tuple[str, str], ...] = ()
    """Replies that did not fit, each with the complaint about it."""


def body_of(question: Question, *, model: str, dialect: Dialect, reasoning_tokens: int = 0) -> dict[str, Any]:
    """Return the body of the request: exactly what is sent."""
    system, user = sendable(question.system), sendable(question.user)
    if dialect.format != "json_schema":
        system += _JSON_ONLY + schema_text(question.answer)
    if dialect.system and system:
        messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
    else:
        messages = [{"role": "user", "content": f"{system}\n\n{user}".strip()}]
    for reply, complaint in question.earlier:
        messages += [{"role": "assistant", "content": sendable(reply)}, {"role": "user", "content": complaint}]
    thinks = dialect.length == "max_completion_tokens"
    body: dict[str, Any] = {"model": model, "messages": messages}
    body[dialect.length] = question.max_tokens + (reasoning_tokens if thinks else 0)
    if question.temperature is not None and dialect.temperature:
        body["temperature"] = question.temperature
    if dialect.format == "json_schema":
        schema = {"name": question.answer.__name__, "strict": True, "schema": answer_schema(question.answer)}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    elif dialect.format == "json_object":
        body["response_format"] = {"type": "json_object"}
    return body


def sendable(text: str) -> str:
    """Return the text with lone surrogates, which no encoding can carry, as U+FFFD."""
    return _LONE.sub("\ufffd", text)


def learn(dialect: Dialect, error: Mapping[str, Any], *, settled: bool, fixed_format: bool) -> Dialect | None:
    """Return the dialect to try next after a refusal, None where the refusal is about something else.

    Args:
        dialect: what was sent.
        error: the refusal: ``param``, ``code`` and ``message`` where the server gave them.
        settled: whether this dialect has worked before. If not, a refusal that says nothing is taken to be about the
            response format, which is what servers most often lack.
        fixed_format: whether the user has fixed the response format.
    """
    param = str(error.get("param") or "").lower()
    message = f"{error.get('code') or ''} {error.get('message') or ''}".lower()
    simpler = _simpler_parameters(dialect, param, message, settled=settled)
    if simpler or fixed_format or dialect.format == "text":
        return simpler
    about_format = any(word in param or word in message for word in _FORMAT_WORDS)
    if about_format or not (settled or any(word in message for word in _OTHER_WORDS)):
        return replace(dialect, format=FORMATS[FORMATS.index(dialect.format) + 1])
    return None


def _simpler_parameters(dialect: Dialect, param: str, message: str, *, settled: bool) -> Dialect | None:
    if dialect.length == "max_tokens" and "max_completion_tokens" in message:
        return replace(dialect, length="max_completion_tokens")
    # Only a name that has worked before is given up for the older one, or lessons could go round in circles.
    if settled and dialect.length == "max_completion_tokens" and _is_about("max_completion_tokens", param, message):
        return replace(dialect, length="max_tokens")
    if dialect.temperature and _is_about("temperature", param, message):
        return replace(dialect, temperature=False)
    if dialect.system and any(word in message for word in _SYSTEM_WORDS):
        return replace(dialect, system=False)
    return None


def _is_about(name: str, param: str, message: str) -> bool:
    unsupported = ("unsupported", "not support", "not allowed", "deprecated", "unknown", "unrecognized", "extra")
    return param == name or (name in message and any(word in message for word in unsupported))
