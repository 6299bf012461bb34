"""The body of a chat completion as servers send it: whole or streamed, with an answer or an error in it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

_CONTEXT = re.compile(
    r"context[ _](?:length|size|window)|exceed_context_size|maximum context|prompt is too long|too many tokens"
    r"|must be <= \d+\. given"
)
_LIMIT = re.compile(r"(?:context (?:length|size|window)(?: is| of)?:? *\(?|must be <= |limit of )(\d{3,8})")
_STARTS = (b"data:", b"event:", b"id:", b":")


def first_choice(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return the first choice of a completion, empty if there is none."""
    choices = found.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    return first if isinstance(first, dict) else {}


def message_of(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return the message of the first choice, empty if there is none."""
    message = first_choice(found).get("message")
    return message if isinstance(message, dict) else {}


def text_of(found: Mapping[str, Any]) -> str:
    """Return the text of the reply: its content, else the arguments of a tool call, else what stands among thoughts.

    Some servers put an answer that fits the schema into one of the last two and send no content.
    """
    message = message_of(found)
    content = message.get("content")
    if isinstance(content, list):  # some servers send parts
        content = "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    if isinstance(content, str) and content.strip():
        return content
    if called := _arguments(message):
        return called
    ended = first_choice(found).get("finish_reason") not in {"length", "content_filter"}
    return (thoughts_of(found) if ended else "") or (content if isinstance(content, str) else "")


def thoughts_of(found: Mapping[str, Any]) -> str:
    """Return what the model thought before its answer, as far as the server tells."""
    message = message_of(found)
    for name in ("reasoning_content", "reasoning"):
        if isinstance(text := message.get(name), str) and text:
            return text
    return ""


def thought(found: Mapping[str, Any]) -> bool:
    """Whether the model thought before its answer, in a part of its own or in the content."""
    usage = found.get("usage")
    details = usage.get("completion_tokens_details") if isinstance(usage, dict) else None
    counted = details.get("reasoning_tokens") if isinstance(details, dict) else 0
    content = message_of(found).get("content")
    inside = isinstance(content, str) and content.lstrip()[:20].lower().startswith(("<think", "<reasoning", "<thought"))
    return bool(thoughts_of(found)) or bool(counted) or inside


def _arguments(message: Mapping[str, Any]) -> str:
    calls = message.get("tool_calls")
    first = calls[0] if isinstance(calls, list) and calls else {}
    function = (first.get("function") if isinstance(first, dict) else None) or message.get("function_call")
    given = function.get("arguments") if isinstance(function, dict) else None
    return json.dumps(given) if isinstance(given, dict) else given if isinstance(given, str) else ""


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


def error_inside(found: Mapping[str, Any]) -> tuple[int, dict[str, Any]] | None:
    """Return the HTTP status and the words of an error that came as HTTP 200, None if there is none."""
    body = found if found.get("error") else first_choice(found)
    if not body.get("error"):
        return None
    said = error_of(dict(body))
    code = said.get("code")
    if isinstance(code, str) and code.isdecimal():
        code = int(code)
    if isinstance(code, int) and 400 <= code < 600:
        return code, said
    kind = f"{said.get('type') or ''} {said.get('message') or ''}".lower()
    return (400 if "invalid" in kind or "validation" in kind or "unsupported" in kind else 500), said


def context_exceeded(error: Mapping[str, Any]) -> bool:
    """Whether a refusal says that prompt and reply are longer than the model's context."""
    words = " ".join(str(error.get(name) or "") for name in ("code", "type", "message"))
    return bool(_CONTEXT.search(words.lower()))


def context_named(error: Mapping[str, Any]) -> int | None:
    """Return the length of the context in tokens that a refusal names, None if it names none."""
    given = error.get("n_ctx")
    if isinstance(given, int):
        return given
    named = _LIMIT.search(str(error.get("message") or "").lower())
    return int(named[1]) if named else None


def is_streamed(content: bytes) -> bool:
    """Whether a body looks like a stream of events."""
    return content[:64].lstrip().startswith(_STARTS)


def assembled(content: bytes) -> dict[str, Any] | None:
    """Return the completion that a stream of events holds, None if it holds none.

    A stream that breaks off keeps its finish reason open; the text that it holds is then no answer.
    """
    whole: dict[str, Any] = {}
    message: dict[str, Any] = {"role": "assistant", "content": ""}
    choice: dict[str, Any] = {"index": 0, "message": message, "finish_reason": None}
    ended = False
    for event in _events(content):
        if event is None:
            ended = True
            continue
        whole |= {name: event[name] for name in ("id", "model", "usage", "error") if event.get(name)}
        part = first_choice(event)
        ended = ended or bool(part.get("finish_reason"))
        _add(choice, message, part)
    if not whole and not message["content"] and not ended:
        return None
    if not ended and not whole.get("error"):
        return None
    return {**whole, "choices": [choice]}


def _events(content: bytes) -> Iterator[dict[str, Any] | None]:
    """Yield each event, None for the mark of the end."""
    for line in content.splitlines():
        if not line.startswith(b"data:"):
            continue
        data = line.removeprefix(b"data:").strip()
        if data == b"[DONE]":
            yield None
            continue
        try:
            event = json.loads(data)
        except (ValueError, RecursionError):
            continue
        if isinstance(event, dict):
            yield event


def _add(choice: dict[str, Any], message: dict[str, Any], part: dict[str, Any]) -> None:
    """Add what an event says of the first choice."""
    delta = part.get("delta") if isinstance(part.get("delta"), dict) else part.get("message")
    if isinstance(delta, dict):
        for name in ("content", "reasoning_content", "reasoning", "refusal"):
            if isinstance(text := delta.get(name), str):
                message[name] = (message.get(name) or "") + text
        if called := _arguments(delta):
            function = message.setdefault("function_call", {"arguments": ""})
            function["arguments"] += called
    choice |= {name: part[name] for name in ("finish_reason", "error") if part.get(name)}
    listed = part.get("logprobs")
    if isinstance(listed, dict) and isinstance(listed.get("content"), list):
        choice.setdefault("logprobs", {"content": []})["content"] += listed["content"]
