"""The body of a chat completion as servers send it: whole or streamed, an answer or an error."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

_CONTEXT = re.compile(
    r"context[ _](?:length|size|window)|exceed_context_size|maximum context|prompt is too long|too many tokens"
    r"|must be <= \d+\. given"
)
_LIMIT = re.compile(r"(?:context (?:length|size|window)(?: is| of)?:? *\(?|must be <= |limit of )(\d{3,8})")
_ARGUMENTS = "arguments"
_STARTS = (b"data:", b"event:", b"id:", b":")
"""How a stream of events begins."""


def value_at(body: object, *path: str | int) -> Any:  # noqa: ANN401  JSON
    """Return what stands at a path in JSON of a server, None where there is nothing."""
    value: Any = body
    for step in path:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def mapping_at(body: object, *path: str | int) -> dict[str, Any]:
    """Return the object that stands at a path in JSON of a server, empty where there is none."""
    value = value_at(body, *path)
    return value if isinstance(value, dict) else {}


def first_choice(completion: Mapping[str, Any]) -> dict[str, Any]:
    """Return the first choice of a completion, empty if there is none."""
    return mapping_at(completion, "choices", 0)


def text_of(completion: Mapping[str, Any]) -> str:
    """Return the text of the reply: its content, else the arguments of a tool call, else what stands among thoughts.

    Some servers put an answer that fits the schema into one of the last two and send no content.
    """
    choice = first_choice(completion)
    message = mapping_at(choice, "message")
    content = message.get("content")
    if isinstance(content, list):  # some servers send parts
        content = "".join(str(value_at(part, "text") or "") for part in content)
    content = content if isinstance(content, str) else ""
    if content.strip():
        return content
    is_whole = choice.get("finish_reason") not in ("length", "content_filter")
    return _arguments(message) or (thoughts_of(completion) if is_whole else "") or content


def thoughts_of(completion: Mapping[str, Any]) -> str:
    """Return what the model thought before its answer, as far as the server tells."""
    message = mapping_at(first_choice(completion), "message")
    thoughts = (message.get(name) for name in ("reasoning_content", "reasoning"))
    return next((text for text in thoughts if isinstance(text, str) and text), "")


def has_thought(completion: Mapping[str, Any]) -> bool:
    """Whether the model thought before its answer, in a part of its own or in the content."""
    counted = value_at(completion, "usage", "completion_tokens_details", "reasoning_tokens")
    content = value_at(first_choice(completion), "message", "content")
    begin = str(content).lstrip()[:20].lower()
    return bool(thoughts_of(completion) or counted) or begin.startswith(("<think", "<reasoning", "<thought"))


def _arguments(message: Mapping[str, Any]) -> str:
    function = value_at(message, "tool_calls", 0, "function") or message.get("function_call")
    arguments = value_at(function, "arguments")
    if isinstance(arguments, dict):
        return json.dumps(arguments)
    return arguments if isinstance(arguments, str) else ""


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
    if content[:64].lstrip().startswith(_STARTS):
        return _join_events(content)
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _join_events(content: bytes) -> dict[str, Any] | None:
    """Return the completion that a stream of events holds, None if it holds none or breaks off."""
    whole: dict[str, Any] = {}
    choice: dict[str, Any] = {"finish_reason": None}
    texts: defaultdict[str, list[str]] = defaultdict(list)
    is_ended = False
    for line in content.splitlines():
        data = line.removeprefix(b"data:").strip()
        is_ended = is_ended or data == b"[DONE]"
        event = parse_body(data) if line.startswith(b"data:") and not data.startswith(_STARTS) else None
        if event is not None:
            whole |= {name: event[name] for name in ("id", "model", "usage", "error") if event.get(name)}
            _add(choice, texts, first_choice(event))
    if not (is_ended or choice["finish_reason"] or whole.get("error")):
        return None
    message: dict[str, Any] = {"role": "assistant", "content": ""}
    message |= {name: "".join(pieces) for name, pieces in texts.items() if name != _ARGUMENTS}
    if _ARGUMENTS in texts:
        message["function_call"] = {"arguments": "".join(texts[_ARGUMENTS])}
    return {**whole, "choices": [{**choice, "message": message}]}


def _add(choice: dict[str, Any], texts: Mapping[str, list[str]], part: dict[str, Any]) -> None:
    """Add what an event says of the first choice; its texts are joined once, at the end."""
    delta = mapping_at(part, "delta") or mapping_at(part, "message")
    for name in ("content", "reasoning_content", "reasoning", "refusal"):
        text = delta.get(name)
        if isinstance(text, str):
            texts[name].append(text)
    if arguments := _arguments(delta):
        texts[_ARGUMENTS].append(arguments)
    choice |= {name: part[name] for name in ("finish_reason", "error") if part.get(name)}
    tokens = value_at(part, "logprobs", "content")
    if isinstance(tokens, list):
        choice.setdefault("logprobs", {"content": []})["content"] += tokens
