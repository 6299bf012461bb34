"""Thousands of replies changed at random: each call ends with an answer or one of the project's errors, and in time."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import itertools
import json
import os
import random
import re
import time
from collections.abc import AsyncIterator
from typing import Any

import psutil
import pytest

from goldbench.errors import GoldbenchError, ModelUnavailable
from goldbench.llm.model_path import ModelPath, open_model
from goldbench.llm.server_settings import ModelSettings
from tests.llm.conftest import Verdict, verdict_request
from tests.llm.test_nothing_leaks import KEY

SEED = int(os.environ.get("FUZZ_SEED", "1"))
REPLIES = int(os.environ.get("FUZZ_REPLIES", "5000"))
PARTS, AT_ONCE, ON_A_PATH = 4, 25, 10

VALUES: tuple[Any, ...] = (
    None, True, -1, 1e308, 10**400, "", "x", "\ud800", "\0", [], {}, [None], {"a": None}, "2", 2.5, "Infinity",
)  # fmt: skip
TEXTS = (
    "```json\n{}\n```", "<think>so", "</think>{}", "{}{}", "NaN", "1e400", "[" * 3000, '{"a":' * 3000, "\u202e",
    '{"grade": 2, "grade": 3, "reason": "Twice."}', "\ufeff{}", "Sure! {", "nul", '{"reason": "', "\\u", "error",
    "\x1b[2J", "}" * 500,
)  # fmt: skip
STATUSES = (200, 200, 200, 200, 204, 206, 302, 400, 404, 408, 413, 418, 422, 429, 500, 502, 503, 599)


def _good(number: int) -> dict[str, Any]:
    content = json.dumps({"reason": f"It is number {number}.", "grade": number % 4})
    return {
        "id": f"r{number}",
        "object": "chat.completion",
        "model": "m",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 20, "completion_tokens": 9, "total_tokens": 29},
    }


def _places(value: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [found for key, held in items for found in ((*place, key), *_places(held, (*place, key)))]


def _restructured(reply: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    """Remove, replace or repeat one value anywhere in the reply."""
    *way, last = chance.choice(_places(reply))
    holder: Any = reply
    for key in way:
        holder = holder[key]
    done = chance.random()
    if done < 0.3:
        del holder[last]
    elif done < 0.9:
        holder[last] = chance.choice(VALUES)
    elif isinstance(holder, list):
        holder.extend([holder[last]] * chance.choice((1, 500)))
    else:
        holder["error"] = chance.choice(({"message": f"broken {KEY}", "code": 500}, "broken", 1, [KEY]))
    return reply


def _reworded(reply: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    """Change the text of the answer: cut it, repeat it, put something before, into or after it."""
    message = reply["choices"][0]["message"]
    text, at = message["content"], chance.randint(0, len(message["content"]))
    piece = chance.choice(TEXTS)
    message["content"] = chance.choice(
        (text[:at], text[:at] + piece + text[at:], piece + text, text + piece, text * 60)
    )
    return reply


def _packed(body: bytes, chance: random.Random) -> tuple[bytes, list[str]]:
    """Flip, cut or compress the bytes of the body; return them with headers that may lie."""
    done, headers = chance.random(), []
    if done < 0.3:
        changed = bytearray(body)
        for _ in range(chance.choice((1, 5, 60))):
            changed[chance.randrange(len(changed))] = chance.randrange(256)
        body = bytes(changed)
    elif done < 0.5:
        body = body[: chance.randint(0, len(body))]
    elif done < 0.6:
        body, headers = gzip.compress(body), ["Content-Encoding: gzip"]
        body = body[: chance.choice((len(body), len(body) // 2))]
    elif done < 0.7:
        headers = [chance.choice(("Content-Encoding: gzip", "Content-Type: text/event-stream", "Content-Encoding: br"))]
    elif done < 0.8:
        body = b"data: " + body + chance.choice((b"\n\n", b"\n\ndata: [DONE]\n\n", b""))
        headers = ["Content-Type: text/event-stream"]
    length = chance.choice((len(body), len(body), len(body), len(body) + 5, max(0, len(body) - 5), "many", -1))
    framing = chance.choice((f"Content-Length: {length}", f"Content-Length: {len(body)}", "Transfer-Encoding: chunked"))
    return body, [*headers, framing]


def _reply(number: int) -> bytes:
    """Return the bytes of a reply: that of an even number is as it should be."""
    good = json.dumps(_good(number)).encode()
    if number % 2 == 0:
        return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(good) + good
    chance = random.Random(f"{SEED}-{number}")
    reply = _good(number)
    for _ in range(chance.choice((0, 1, 2))):
        with contextlib.suppress(KeyError, TypeError, IndexError):  # an earlier change took what is changed
            reply = chance.choice((_restructured, _reworded))(reply, chance)
    body, headers = json.dumps(reply).encode(), [f"Content-Length: {len(good)}"]
    if chance.random() < 0.5:
        body, headers = _packed(body, chance)
    else:
        headers = [f"Content-Length: {len(body)}"]
    status = chance.choice(STATUSES)
    more = [f"Retry-After: {chance.choice(('0', '-1', 'soon', '1e9'))}"] if status in {429, 503} else []
    more += [f"Location: http://127.0.0.1:1/{KEY}"] if status == 302 else []
    head = "\r\n".join([f"HTTP/1.1 {status} So", *headers, *more])
    return head.encode() + b"\r\n\r\n" + body


@contextlib.asynccontextmanager
async def _server() -> AsyncIterator[str]:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            length = re.search(rb"content-length: *(\d+)", head, re.IGNORECASE)
            asked = await reader.readexactly(int(length[1]) if length else 0)
            number = re.search(rb"Passage number (\d+)", asked)
            writer.write(_reply(int(number[1]) if number else 0))
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"


Outcome = Verdict | BaseException


async def _outcomes(url: str, numbers: range) -> list[Outcome]:
    """Return how the calls with odd numbers ended, one after another, each between two whose reply is as it should be.

    A run that a reply has ended, with what to do about it, is begun anew.
    """
    settings = ModelSettings(
        name="m", base_url=url, max_attempts=1, retry_s=0.05, timeout_seconds=8.0, never_reached_s=1.0
    )
    found: list[Outcome] = []
    left = list(numbers)
    while left:
        async with open_model(settings) as path:
            await _check_good(path, left[0] - 1)
            while left:
                number = left.pop(0)
                (outcome,) = await asyncio.gather(path.complete(verdict_request(number)), return_exceptions=True)
                found.append(outcome if isinstance(outcome, BaseException) else outcome.answer)
                if isinstance(outcome, ModelUnavailable):
                    break
                await _check_good(path, number + 1)
    return found


async def _check_good(path: ModelPath, number: int) -> None:
    found = await path.complete(verdict_request(number))
    assert found.answer == Verdict(reason=f"It is number {number}.", grade=number % 4)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("part", range(PARTS))
async def test_each_call_ends_soon_with_an_answer_or_an_error_of_ours(
    part: int, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    each, failed, before = REPLIES // PARTS, 0, 0
    async with _server() as url:
        for first in range(part * each, (part + 1) * each, AT_ONCE * ON_A_PATH):
            last = min(first + AT_ONCE * ON_A_PATH, (part + 1) * each)
            shares = [range(2 * one + 1, 2 * min(one + ON_A_PATH, last), 2) for one in range(first, last, ON_A_PATH)]
            began = time.monotonic()
            ended = await asyncio.gather(*(_outcomes(url, numbers) for numbers in shares))
            before = before or psutil.Process().memory_info().rss  # after the first calls have set everything up
            assert time.monotonic() - began < 150, f"seed {SEED}, numbers {2 * first + 1} to {2 * last}"
            for number, outcome in zip(itertools.chain(*shares), itertools.chain(*ended), strict=True):
                told = f"seed {SEED}, number {number}: {outcome!r}"
                assert isinstance(outcome, Verdict | GoldbenchError), told
                if isinstance(outcome, GoldbenchError):
                    failed += 1
                    assert KEY not in str(outcome), told
                    assert str(outcome).isprintable(), told
                    assert len(str(outcome)) < 600, told
    assert each // 4 < failed < each
    assert psutil.Process().memory_info().rss - before < 512 * 2**20
    said = capfd.readouterr()
    assert KEY not in said.out + said.err
    assert "Traceback" not in said.err
