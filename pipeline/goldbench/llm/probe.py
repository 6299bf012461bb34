"""Asking a server which models it offers, without calling any of them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx2

from goldbench.errors import GoldbenchError, ModelUnavailable
from goldbench.llm.client import read_body, redirect_target
from goldbench.llm.connections import proxy_for, tls_problem, trusted
from goldbench.llm.reply_body import parse_body
from goldbench.llm.server_settings import address_of, headers_of_key, holds_key, shown_address, usual_header

LOCAL_SERVERS = {
    "Ollama": "http://127.0.0.1:11434/v1",
    "vLLM": "http://127.0.0.1:8000/v1",
    "llama.cpp": "http://127.0.0.1:8080/v1",
    "LM Studio": "http://127.0.0.1:1234/v1",
}


@dataclass(frozen=True, slots=True)
class Probe:
    """The models that a server offers, or why it could not be asked."""

    base_url: str
    models: tuple[str, ...] = ()
    problem: str | None = None
    contexts: Mapping[str, int] = field(default_factory=dict)
    """The length of the context in tokens, of models whose server lists it."""


async def probe(base_url: str, api_key: str | None, *, key_header: str | None = None, seconds: float = 5.0) -> Probe:
    """Return the models that ``GET /models`` lists; a server that is down, slow or strange raises nothing.

    Args:
        base_url: The server; a query in it goes with the request.
        api_key: Its key, None for none.
        key_header: The header that carries the key; None for the one that the address is known for.
        seconds: The longest time to wait.
    """
    shown = shown_address(base_url, api_key)
    try:
        async with asyncio.timeout(seconds):
            contexts = await _models(base_url, api_key, key_header or usual_header(base_url))
    except GoldbenchError as error:
        return Probe(shown, problem=str(error))
    except TimeoutError:
        return Probe(shown, problem=f"gives no answer within {seconds:g} s")
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError) as error:
        return Probe(shown, problem=_problem(error))
    return Probe(shown, tuple(contexts), contexts={name: length for name, length in contexts.items() if length})


async def _models(base_url: str, api_key: str | None, key_header: str) -> dict[str, int | None]:
    headers = headers_of_key(api_key, key_header) if api_key else {}
    address, query = address_of(base_url)
    client = httpx2.AsyncClient(
        verify=trusted(),
        proxy=proxy_for(base_url),
        trust_env=False,
        timeout=None,
        headers={"Accept-Encoding": "identity"},
        event_hooks={"response": [read_body]},
    )
    async with client:
        response = await client.get(f"{address.rstrip('/')}/models", params=query, headers=headers)
    status = response.status_code
    if status in {401, 403}:
        raise ModelUnavailable(f"{'refuses the' if api_key else 'wants a'} key (HTTP {status})")
    if response.is_redirect:
        target = redirect_target(response.headers.get("location", ""), key=api_key)
        raise ModelUnavailable(f"redirects {target} (HTTP {status}): set base_url to where the API is")
    if status != 200:
        raise ModelUnavailable(f"answers HTTP {status}")
    listed = parse_body(response.content)
    items = listed.get("data") if listed else None
    if not isinstance(items, list):
        raise ModelUnavailable("does not list models as an OpenAI-compatible server does")
    contexts = {str(item["id"]): _context(item) for item in items if isinstance(item, dict) and "id" in item}
    return {name: contexts[name] for name in sorted(contexts) if not holds_key(name, api_key)}


def _context(item: dict[str, Any]) -> int | None:
    """Return the length of a model's context, as vLLM, OpenRouter, LM Studio and llama.cpp list it."""
    meta = item.get("meta")
    lengths = [item.get(name) for name in ("max_model_len", "loaded_context_length", "context_length")]
    lengths.append(meta.get("n_ctx") if isinstance(meta, dict) else None)
    return next((length for length in lengths if isinstance(length, int) and 0 < length < 2**31), None)


def _problem(error: Exception) -> str:
    if problem := tls_problem(error):
        return f"cannot be used: {problem}"
    if not isinstance(error, (httpx2.ConnectError, httpx2.ConnectTimeout)):
        return f"answers in another way than an OpenAI-compatible server ({type(error).__name__})"
    return f"cannot be reached ({type(error).__name__})"


async def probe_local(*, seconds: float = 1.0) -> dict[str, Probe]:
    """Return the models of each well-known local server."""
    probes = await asyncio.gather(*(probe(url, None, seconds=seconds) for url in LOCAL_SERVERS.values()))
    return dict(zip(LOCAL_SERVERS, probes, strict=True))
