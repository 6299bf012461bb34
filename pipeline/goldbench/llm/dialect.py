"""Which parameters a server takes: learnt from its refusals and remembered in the answer store."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeVar

from pydantic import BaseModel

from goldbench.llm.reply_schema import sent_schema, sent_text
from goldbench.llm.server_settings import ModelSettings
from goldbench.llm.store import AnswerStore
from goldbench.ports import ChatRequest, Usage

T = TypeVar("T", bound=BaseModel)

_LONE = re.compile("[\ud800-\udfff]")
FIXED = "fixed_messages"
"""How many of the first messages prompts of one kind share: for the processes of this machine, and not sent on."""
_STREAM = re.compile(r"(?=.*\bstream)(?=.*(?:\bonly|must|requires?|enable|set to true|non-stream))", re.DOTALL)
"""A refusal of a request that asks for no stream."""
LISTED_TOKENS = 5
"""How many of the likeliest first tokens are asked for: yes and no in two spellings; some servers list no more."""
FORMATS = ("json_schema", "json_object", "text")
_ERRORS_BORNE = 2
"""How many errors of a server that has answered nothing yet teach a simpler dialect; one of HTTP 404 does."""
_DOUBTED = frozenset({404, 500, 501})
"""HTTP statuses with which some servers answer to a response format that they do not know; others are coming up."""

_JSON_ONLY = (
    "\n\nReply with one JSON object and nothing else: no code fence, no words before or after it. "
    "It must fit this JSON Schema:\n"
)
_FORMAT_WORDS = (
    "response_format", "response format", "json_schema", "json_object", "json schema", "structured output",
    "structured_output", "guided", "grammar", "json mode",
)  # fmt: skip
_LIMIT_WORDS = ("maxlength", "minlength", "maxitems", "minitems", "enum", "pattern")
_OTHER_FORMATS = ("json_object", "response_format.type", "'text'", "json mode")
_SYSTEM_WORDS = (
    "system role", "role 'system'", 'role "system"', "developer instruction", "system message", "system prompt",
)  # fmt: skip
_OTHER_WORDS = (
    "context length", "context_length", "maximum context", "too long", "too many tokens", "content_filter",
    "content management", "safety", "moderation", "api key", "api_key", "billing", "quota",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Dialect:
    """How to put a question to one model of one server; ``limits`` says whether it takes them in a schema.

    ``stream`` asks for a stream of events; ``room`` is room for thoughts.
    """

    format: str = "json_schema"
    length: str = "max_tokens"
    temperature: bool = True
    system: bool = True
    stream: bool = False
    room: bool = False
    likelihoods: bool = True
    limits: bool = True

    @property
    def thinks(self) -> bool:
        """Whether the model thinks before it answers, and counts its thoughts as answer."""
        return self.room or self.length == "max_completion_tokens"

    def dumps(self) -> str:
        """Return the dialect as JSON, to be remembered."""
        return json.dumps(asdict(self), sort_keys=True)

    def simpler(self) -> Dialect | None:
        """Return the dialect without limits, else with the next format; None where there is none."""
        if self.format == "json_schema" and self.limits:
            return replace(self, limits=False)
        if self.format == "text":
            return None
        return replace(self, format=FORMATS[FORMATS.index(self.format) + 1])

    @classmethod
    def loads(cls, text: str) -> Dialect:
        """Return the dialect that ``dumps`` wrote; one of another version gives the default."""
        try:
            return cls(**json.loads(text))
        except (TypeError, ValueError):
            return cls()


def first_dialect(remembered: str | None, *, cautious: bool = False) -> Dialect:
    """Return the dialect of the first question: the remembered one, else the one that most servers take.

    Args:
        remembered: The dialect of an earlier run, None if there is none.
        cautious: Whether a refusal is dear, so that a server that is not known is sent no limits.
    """
    return Dialect.loads(remembered) if remembered else Dialect(limits=not cautious)


def request_body(request: ChatRequest[T], *, dialect: Dialect, settings: ModelSettings) -> dict[str, Any]:
    """Return the JSON body of a request, exactly as it is sent.

    Args:
        request: What is asked.
        dialect: How it is asked.
        settings: The model, and the room of a model that thinks before it answers.
    """
    system = sendable(request.system)
    user = sendable(request.user)
    if dialect.format != "json_schema" and not request.yes_or_no:
        system += _JSON_ONLY + sent_text(request.answer)
    if dialect.system and system:
        messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
    else:
        messages = [{"role": "user", "content": f"{system}\n\n{user}".strip()}]
    for question, reply in request.examples:  # earlier turns; instructions stay at the very beginning
        messages[-1:-1] = [{"role": "user", "content": question}, {"role": "assistant", "content": reply}]
    fixed = len(messages) - 1
    for reply, complaint in request.earlier:
        messages += [{"role": "assistant", "content": sendable(reply)}, {"role": "user", "content": complaint}]
    body: dict[str, Any] = {"model": settings.name, "messages": messages}
    if (request.weighed or request.yes_or_no) and dialect.likelihoods:
        body |= {"logprobs": True, "top_logprobs": LISTED_TOKENS if request.yes_or_no else 1}
    body[dialect.length] = request.max_tokens + (settings.reasoning_tokens if dialect.thinks else 0)
    if request.temperature is not None and dialect.temperature:
        body["temperature"] = request.temperature
    if dialect.stream:
        body |= {"stream": True, "stream_options": {"include_usage": True}}
    if settings.file is not None:  # with a seed, the same request has the same reply
        body |= {"seed": request.variant, FIXED: fixed}
    return body if request.yes_or_no else body | _answer_format(request, dialect)


def _answer_format(request: ChatRequest[T], dialect: Dialect) -> dict[str, Any]:
    if dialect.format == "json_schema":
        schema = sent_schema(request.answer, limited=dialect.limits, items=request.items)
        named = {"name": request.answer.__name__, "strict": True, "schema": schema}
        return {"response_format": {"type": "json_schema", "json_schema": named}}
    return {"response_format": {"type": "json_object"}} if dialect.format == "json_object" else {}


def sendable(text: str) -> str:
    """Return the text with lone surrogates, which no encoding can carry, as U+FFFD."""
    return _LONE.sub("\ufffd", text)


def learn(dialect: Dialect, error: Mapping[str, Any], *, settled: bool) -> Dialect | None:
    """Return the dialect to try next after a refusal, None where the refusal is about something else.

    The limits in a schema are given up before the format.

    Args:
        dialect: The dialect that was sent.
        error: The refusal: ``param``, ``code`` and ``message`` where the server gave them.
        settled: Whether this dialect has worked before. If not, a refusal without a reason is taken to be about the
            response format, which servers most often lack.
    """
    param = str(error.get("param") or "").lower()
    message = f"{error.get('code') or ''} {error.get('message') or ''}".lower()
    simpler = _simpler_parameters(dialect, param, message, settled=settled)
    if simpler or dialect.format == "text":
        return simpler
    words = (*_FORMAT_WORDS, *_LIMIT_WORDS) if dialect.limits else _FORMAT_WORDS
    about_format = any(word in param or word in message for word in words)
    if not about_format and (settled or any(word in message for word in _OTHER_WORDS)):
        return None
    if any(word in message for word in _OTHER_FORMATS):
        dialect = replace(dialect, limits=False)
    return dialect.simpler()


def _simpler_parameters(dialect: Dialect, param: str, message: str, *, settled: bool) -> Dialect | None:
    wants_new_length = dialect.length == "max_tokens" and "max_completion_tokens" in message
    # Given up for the older name only where it has worked before, or lessons could go round in circles.
    wants_old_length = settled and dialect.length != "max_tokens" and _is_about("max_completion_tokens", param, message)
    wants_stream = not dialect.stream and (param == "stream" or bool(_STREAM.match(message)))
    changes: list[tuple[bool, dict[str, Any]]] = [
        (wants_new_length, {"length": "max_completion_tokens"}),
        (wants_old_length, {"length": "max_tokens"}),
        (dialect.temperature and _is_about("temperature", param, message), {"temperature": False}),
        (wants_stream, {"stream": True}),
        (dialect.likelihoods and _is_about("logprobs", param, message), {"likelihoods": False}),
        (dialect.system and any(word in message for word in _SYSTEM_WORDS), {"system": False}),
    ]
    return next((replace(dialect, **change) for applies, change in changes if applies), None)


def _is_about(name: str, param: str, message: str) -> bool:
    unsupported = ("unsupported", "not support", "not allowed", "deprecated", "unknown", "unrecognized", "extra")
    return param == name or (name in message and any(word in message for word in unsupported))


class Lessons:
    """What one run has learnt of a model's dialect. ``settled`` is true once the dialect has worked.

    ``heard`` is the first body with a reply. ``on_shortened`` is called once, with the tokens read and the words of a
    prompt that the server cut short.
    """

    def __init__(
        self, settings: ModelSettings, *, store: AnswerStore | None, remembered: str | None, cautious: bool = False
    ) -> None:
        """Begin with the dialect of an earlier run, as the store remembers it."""
        self._settings = settings
        self._store = store
        self.dialect = first_dialect(remembered, cautious=cautious)
        self.settled = remembered is not None
        self.heard: Mapping[str, Any] | None = None
        self.on_shortened: Callable[[int, int], None] = lambda _read, _words: None
        self._is_shortened = False
        self._errors = 0
        self._is_guess = False

    @classmethod
    async def recall(
        cls, settings: ModelSettings, store: AnswerStore | None, *, cautious: bool = False, anew: bool = False
    ) -> Lessons:
        """Return the lessons of earlier runs, as the store remembers them; of a model on this machine all is known.

        Args:
            settings: The server, the model and the response format.
            store: Remembers the dialect that works, None for nowhere.
            anew: Whether to begin with none of them.
        """
        if settings.file is not None:
            return cls(settings, store=None, remembered=Dialect().dumps())
        remembered = await store.dialect(settings.shown_url(), settings.name) if store and not anew else None
        return cls(settings, store=store, remembered=remembered, cautious=cautious)

    async def settle(self, sent: Dialect | None, completion: Mapping[str, Any] | None = None) -> None:
        """Record that the server answered a request of this dialect.

        Args:
            sent: The dialect, None where it is not known.
            completion: The body of the answer.
        """
        self.heard = completion if self.heard is None else self.heard
        if self.settled or sent != self.dialect:
            return
        self.settled = True
        if self._store is not None and not self._is_guess:  # the errors behind a guess may have passed by the next run
            await self._store.remember_dialect(self._settings.shown_url(), self._settings.name, sent.dumps())

    def compare(self, usage: Usage, words: int) -> None:
        """Record how many tokens the server read of a prompt; a word is a token at least."""
        read = usage.input_tokens + usage.cached_tokens  # some servers count those apart
        if 0 < read < words and not self._is_shortened:
            self._is_shortened = True
            self.on_shortened(read, words)

    def learn(self, sent: Dialect, error: Mapping[str, Any]) -> bool:
        """Record a refusal of a request of this dialect; return whether another attempt may work."""
        if sent != self.dialect:  # another call has learnt in the meantime
            return True
        return self._change(learn(sent, error, settled=self.settled))

    def doubt(self, sent: Dialect, status: int) -> bool:
        """Record an error that says nothing of parameters; return whether another dialect may work.

        Some servers fail over a response format with HTTP 500, 501 or 404.

        Args:
            sent: The dialect of the request.
            status: The HTTP status of the error.
        """
        if status not in _DOUBTED:
            return False
        if sent != self.dialect:  # another call has learnt in the meantime
            return True
        if self.settled:
            return False
        self._errors += 1
        if status >= 500 and self._errors < _ERRORS_BORNE:
            return False
        self._errors = 0
        self._is_guess = True
        return self._change(self.dialect.simpler())

    def leave_room(self, sent: Dialect) -> bool:
        """Record that the model spent the whole limit on thoughts; return whether more room may help."""
        if sent != self.dialect:  # another call has learnt in the meantime
            return True
        return not sent.thinks and self._change(replace(sent, room=True))

    def _change(self, better: Dialect | None) -> bool:
        # Of a model on this machine all is known: what one call teaches would change the replies to those after it.
        if better is None or self._settings.file is not None:
            return False
        self.dialect = better
        self.settled = False
        return True
