"""Asking a server which models it offers, without calling any of them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from goldbench.errors import GoldbenchError, ModelError
from goldbench.llm.exchange import ExchangeFailed
from goldbench.llm.reply_body import mapping_at
from goldbench.llm.server_settings import ModelSettings, shown_address

LOCAL_SERVERS = {
    "Ollama": "http://127.0.0.1:11434/v1",
    "vLLM": "http://127.0.0.1:8000/v1",
    "llama.cpp": "http://127.0.0.1:8080/v1",
    "LM Studio": "http://127.0.0.1:1234/v1",
}
_PROBLEMS = {"connect": "cannot be reached", "not-json": "does not list models as an OpenAI-compatible server does"}


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
    from goldbench.llm.client import open_client  # imports openai

    address = shown_address(base_url, api_key)
    problem = "does not list models as an OpenAI-compatible server does"
    rows: Any = None
    try:
        settings = ModelSettings(name="any", base_url=base_url, api_key=api_key, key_header=key_header)
        async with asyncio.timeout(seconds), open_client(settings) as client:
            rows = (await client.get("/models")).get("data")
    except ExchangeFailed as failed:
        problem = _PROBLEMS.get(failed.kind, f"gives no answer ({failed.kind})")
    except ModelError as error:
        problem = f"cannot be used: {error.message.removeprefix(f'{address}: ')}"
    except GoldbenchError as error:
        problem = str(error)
    except ValidationError:
        problem = "is no address, or its key cannot be sent"
    except TimeoutError:
        problem = f"gives no answer within {seconds:g} s"
    if not isinstance(rows, list):
        return Probe(address, problem=problem)
    lengths = {str(row["id"]): _context(row) for row in rows if isinstance(row, dict) and "id" in row}
    models = tuple(sorted(lengths))
    return Probe(address, models, contexts={name: length for name in models if (length := lengths[name])})


def _context(row: dict[str, Any]) -> int | None:
    """Return the length of a model's context, as vLLM, OpenRouter, LM Studio and llama.cpp list it."""
    lengths = [row.get(name) for name in ("max_model_len", "loaded_context_length", "context_length")]
    lengths.append(mapping_at(row, "meta").get("n_ctx"))
    return next((length for length in lengths if isinstance(length, int) and 0 < length < 2**31), None)


async def probe_local(*, seconds: float = 1.0) -> dict[str, Probe]:
    """Return the models of each well-known local server."""
    probes = await asyncio.gather(*(probe(url, None, seconds=seconds) for url in LOCAL_SERVERS.values()))
    return dict(zip(LOCAL_SERVERS, probes, strict=True))
