"""The body of a chat completion as servers send it: whole or streamed, an answer and how likely it is, or an error."""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from goldbench.ports import Likelihood

T = TypeVar("T")

_CONTEXT = re.compile(
    r"context[ _](?:length|size|window)|exceed_context_size|maximum context|prompt is too long|too many tokens"
    r"|must be <= \d+\. given"
)
_LIMIT = re.compile(r"(?:context (?:length|size|window)(?: is| of)?:? *\(?|must be <= |limit of )(\d{3,8})")
_STARTS = (b"data:", b"event:", b"id:", b":")
"""How a stream of events begins."""
_LARGE = 16 * 2**10
"""Bytes or characters up to which a reply is worked on within about a millisecond."""

_FRAME = re.compile(r'[{\s]*"[^"]*"\s*:\s*"')
"""The JSON before the text of a reply with one field."""
_YES = ("yes", "ja", "oui", "sí", "si", "sim", "是", "はい", "да", "نعم", "हाँ")
_NO = ("no", "nein", "non", "não", "否", "不", "不是", "いいえ", "нет", "لا", "नहीं")
"""Words for yes and no; asked in English, some models answer in the language of the passage."""
_AROUND = " \t\n▁Ġ.*\"'"
"""What may stand around the word in a token; the two letters are how some tokenizers show a space."""
_LEAST_SHARE = 0.5
"""The least that yes and no take together of the first token."""


def value_at(body: object, *path: str | int) -> Any:  # noqa: ANN401  JSON
    """Return what stands at a path in JSON of a server, None where there is nothing."""
    value: Any = body
    for step in path:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def first_choice(completion: Mapping[str, Any]) -> dict[str, Any]:
    """Return the first choice of a completion, empty if there is none."""
    choice = value_at(completion, "choices", 0)
    return choice if isinstance(choice, dict) else {}


def message_of(completion: Mapping[str, Any]) -> dict[str, Any]:
    """Return the message of the first choice, empty if there is none."""
    message = first_choice(completion).get("message")
    return message if isinstance(message, dict) else {}


def text_of(completion: Mapping[str, Any]) -> str:
    """Return the text of the reply: its content, else the arguments of a tool call, else what stands among thoughts.

    Some servers put an answer that fits the schema into one of the last two and send no content.
    """
    message = message_of(completion)
    content = message.get("content")
    if isinstance(content, list):  # some servers send parts
        content = "".join(str(value_at(part, "text") or "") for part in content)
    content = content if isinstance(content, str) else ""
    if content.strip():
        return content
    is_whole = first_choice(completion).get("finish_reason") not in {"length", "content_filter"}
    return _arguments(message) or (thoughts_of(completion) if is_whole else "") or content


def thoughts_of(completion: Mapping[str, Any]) -> str:
    """Return what the model thought before its answer, as far as the server tells."""
    message = message_of(completion)
    thoughts = (message.get(name) for name in ("reasoning_content", "reasoning"))
    return next((text for text in thoughts if isinstance(text, str) and text), "")


def thought(completion: Mapping[str, Any]) -> bool:
    """Whether the model thought before its answer, in a part of its own or in the content."""
    counted = value_at(completion, "usage", "completion_tokens_details", "reasoning_tokens")
    begin = str(message_of(completion).get("content")).lstrip()[:20].lower()
    return bool(thoughts_of(completion) or counted) or begin.startswith(("<think", "<reasoning", "<thought"))


def _arguments(message: Mapping[str, Any]) -> str:
    function = value_at(message, "tool_calls", 0, "function") or message.get("function_call")
    arguments = value_at(function, "arguments")
    return json.dumps(arguments) if isinstance(arguments, dict) else arguments if isinstance(arguments, str) else ""


def error_of(body: object) -> dict[str, Any]:
    """Return the words of a refusal as a mapping, whatever form the server gives them.

    Args:
        body: The body, or its member ``error``: a mapping, or the message alone.
    """
    if isinstance(body, str):
        return {"message": body}
    if not isinstance(body, dict):
        return {}
    inner = body.get("error", body.get("detail"))
    if isinstance(inner, (str, dict)) and "message" not in body:
        return {"type": body.get("error_type"), **error_of(inner)}
    return body


def error_inside(completion: Mapping[str, Any]) -> tuple[int, dict[str, Any]] | None:
    """Return the HTTP status and the words of an error that came as HTTP 200, None if there is none."""
    body = completion if completion.get("error") else first_choice(completion)
    if not body.get("error"):
        return None
    error = error_of(dict(body))
    code = str(error.get("code"))
    if code.isdecimal() and 400 <= int(code) < 600:
        return int(code), error
    words = f"{error.get('type') or ''} {error.get('message') or ''}".lower()
    return (400 if any(word in words for word in ("invalid", "validation", "unsupported")) else 500), error


def context_exceeded(error: Mapping[str, Any]) -> bool:
    """Whether a refusal says that prompt and reply are longer than the model's context."""
    words = " ".join(str(error.get(name) or "") for name in ("code", "type", "message"))
    return bool(_CONTEXT.search(words.lower()))


def context_named(error: Mapping[str, Any]) -> int | None:
    """Return the length of the context in tokens that a refusal names, None if it names none."""
    length = error.get("n_ctx")
    if isinstance(length, int):
        return length
    match = _LIMIT.search(str(error.get("message") or "").lower())
    return int(match[1]) if match else None


def parse_body(content: bytes) -> dict[str, Any] | None:
    """Return the object in a body, or what its events make up; None if it holds none."""
    return _join_events(content) if content[:64].lstrip().startswith(_STARTS) else _object_in(content)


def _object_in(content: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _join_events(content: bytes) -> dict[str, Any] | None:
    """Return the completion that a stream of events holds, None if it holds none or breaks off."""
    whole: dict[str, Any] = {}
    choice: dict[str, Any] = {"message": {"role": "assistant", "content": ""}, "finish_reason": None}
    is_ended = False
    for line in content.splitlines():
        data = line.removeprefix(b"data:").strip()
        is_ended = is_ended or data == b"[DONE]"
        event = _object_in(data) if line.startswith(b"data:") else None
        if event is not None:
            whole |= {name: event[name] for name in ("id", "model", "usage", "error") if event.get(name)}
            _add(choice, first_choice(event))
    if not (is_ended or choice["finish_reason"] or whole.get("error")):
        return None
    return {**whole, "choices": [choice]}


def _add(choice: dict[str, Any], part: dict[str, Any]) -> None:
    """Add what an event says of the first choice."""
    message = choice["message"]
    delta = part.get("delta") if isinstance(part.get("delta"), dict) else part.get("message")
    if isinstance(delta, dict):
        for name in ("content", "reasoning_content", "reasoning", "refusal"):
            if isinstance(text := delta.get(name), str):
                message[name] = (message.get(name) or "") + text
        if arguments := _arguments(delta):
            function = message.setdefault("function_call", {"arguments": ""})
            function["arguments"] += arguments
    choice |= {name: part[name] for name in ("finish_reason", "error") if part.get(name)}
    tokens = value_at(part, "logprobs", "content")
    if isinstance(tokens, list):
        choice.setdefault("logprobs", {"content": []})["content"] += tokens


async def run_beside(work: Callable[..., T], *arguments: Any, size: int) -> T:  # noqa: ANN401  whatever the work takes
    """Return what work on a reply returns; on a large one in a thread, so that deadlines hold meanwhile.

    Args:
        work: A function without side effects.
        arguments: Its arguments.
        size: The bytes or characters that it works on.
    """
    return await asyncio.to_thread(work, *arguments) if size > _LARGE else work(*arguments)


def likelihood_of(choice: Mapping[str, Any]) -> Likelihood | None:
    """Return the likelihood of the text in the first choice of a response, None where the server gives none."""
    try:
        tokens = value_at(choice, "logprobs", "content") or ()
        values = _inside([(str(token["token"]), float(token["logprob"])) for token in tokens])
    except (KeyError, TypeError, ValueError):
        return None
    if not values or not all(map(math.isfinite, values)):
        return None
    return Likelihood(math.fsum(values) / len(values), min(values))


def _inside(pairs: list[tuple[str, float]]) -> list[float]:
    """Return the values of the tokens between the quotation marks of the one field, of all where there is none."""
    whole = "".join(token for token, _ in pairs)
    frame = _FRAME.match(whole)
    start, end = (frame.end(), whole.rfind('"')) if frame else (0, len(whole))
    values: list[float] = []
    position = 0
    for token, value in pairs:
        if position >= start and position + len(token) <= end:
            values.append(value)
        position += len(token)
    return values


def yes_probability(choice: Mapping[str, Any]) -> float | None:
    """Return how likely the first token is yes rather than no; None if the server does not list tokens.

    Spellings count together ("Yes", " yes"). None too if the model would mostly begin with something else, such as a
    thought: then the ratio of two unlikely words says nothing.
    """
    shares = dict.fromkeys((*_YES, *_NO), 0.0)
    try:
        for token in value_at(choice, "logprobs", "content", 0, "top_logprobs") or ():
            word = str(token["token"]).strip(_AROUND).casefold()
            value = float(token["logprob"])
            if word in shares and not math.isnan(value):
                shares[word] += math.exp(min(0.0, value))
    except (KeyError, TypeError, ValueError):
        return None
    yes = math.fsum(shares[word] for word in _YES)
    both = yes + math.fsum(shares[word] for word in _NO)
    return yes / both if both >= _LEAST_SHARE else None


def dumped(likelihood: Likelihood | None) -> str:
    """Return a likelihood as the store keeps it, empty for none."""
    return "" if likelihood is None else json.dumps([likelihood.mean, likelihood.least])


def loaded(text: str) -> Likelihood | None:
    """Return the likelihood that `dumped` wrote."""
    return Likelihood(*json.loads(text)) if text else None
