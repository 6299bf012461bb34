"""Asking a server which models it offers, without asking any of them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import aiohttp

from pipeline.llm.proxies import is_loopback

LOCAL_SERVERS = {
    "Ollama": "http://127.0.0.1:11434/v1",
    "vLLM": "http://127.0.0.1:8000/v1",
    "llama.cpp": "http://127.0.0.1:8080/v1",
    "LM Studio": "http://127.0.0.1:1234/v1",
}


@dataclass(frozen=True, slots=True)
class Probe:
    """What a server said of itself: its models, or why it could not be asked."""

    base_url: str
    models: tuple[str, ...] = ()
    problem: str | None = None


async def probe(base_url: str, api_key: str | None, *, seconds: float = 5.0) -> Probe:
    """Return what ``GET /models`` gives; never raises for a server that is down, slow or strange."""
    headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
    limit = aiohttp.ClientTimeout(total=seconds)
    try:
        async with (
            aiohttp.ClientSession(timeout=limit, trust_env=not is_loopback(base_url)) as session,
            session.get(f"{base_url.rstrip('/')}/models", headers=headers, allow_redirects=False) as response,
        ):
            if response.status in {401, 403}:
                return Probe(base_url, problem=f"refuses the key (HTTP {response.status})")
            if response.status != 200:
                return Probe(base_url, problem=f"answers HTTP {response.status}")
            listed = await response.json(content_type=None)
    except TimeoutError:
        return Probe(base_url, problem=f"gives no answer within {seconds:g} s")
    except (aiohttp.ClientError, OSError, ValueError) as error:
        return Probe(base_url, problem=f"cannot be reached ({type(error).__name__})")
    items = listed.get("data") if isinstance(listed, dict) else None
    if not isinstance(items, list):
        return Probe(base_url, problem="does not list models as an OpenAI-compatible server does")
    names = sorted(str(item["id"]) for item in items if isinstance(item, dict) and "id" in item)
    return Probe(base_url, tuple(names))


async def probe_local(*, seconds: float = 1.0) -> dict[str, Probe]:
    """Return what each well-known local server says."""
    found = await asyncio.gather(*(probe(url, None, seconds=seconds) for url in LOCAL_SERVERS.values()))
    return dict(zip(LOCAL_SERVERS, found, strict=True))
