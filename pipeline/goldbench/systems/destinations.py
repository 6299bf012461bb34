"""Where the texts of a command go: one line that names every server that it may send them to."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlsplit

from goldbench.config import Config, Engine
from goldbench.llm.connections import is_loopback
from goldbench.retrieval import system_settings as s


def destinations(
    config: Config, systems: Iterable[s.SystemSettings] = (), *, chat: bool = False, replay: bool = False
) -> list[str]:
    """Return the addresses to which a command may send texts, and in words what else it hands them to.

    Args:
        config: The configuration.
        systems: The retrieval systems that it searches with, and their parts.
        chat: Whether it asks the chat model.
        replay: Whether models are answered from the store alone.
    """
    addresses = [_chat_server(config)] if chat and not replay else []
    for settings in systems:
        if isinstance(settings, s.PythonSettings):
            addresses.append(f"the function {settings.function}")
        elif isinstance(settings, s.HttpSettings | s.SearchServerSettings):
            addresses.append(settings.url)
        elif not replay:
            addresses.append(_model_server(settings, config))
    if config.machines.engine is Engine.RAY:
        addresses.append("the nodes of the Ray cluster")
    return list(dict.fromkeys(address for address in addresses if address))


def _model_server(settings: s.SystemSettings, config: Config) -> str | None:
    """Return the address of the model that a system asks, None if it asks none at a server."""
    if isinstance(settings, s.EmbeddingSettings):
        return settings.base_url or config.model.server
    if isinstance(settings, s.RerankEndpointSettings):
        return settings.url
    rewrites = isinstance(settings, s.RewriteSettings) and settings.file is None
    if rewrites or isinstance(settings, s.HyDESettings | s.ListwiseSettings):
        return _chat_server(config)
    return None


def _chat_server(config: Config) -> str | None:
    return None if config.model.needs_no_server else config.model.server


def text_line(addresses: Iterable[str]) -> str:
    """Return the line that says whether text leaves this machine, and to which hosts it goes."""
    inside: list[str] = []
    outside: list[str] = []
    for address in addresses:
        parts = urlsplit(address)
        host = parts.netloc.rpartition("@")[2] or address
        (inside if is_loopback(parts.hostname or "") else outside).append(host)
    if outside:
        return f"Text leaves this machine: it goes to {', '.join(dict.fromkeys(outside + inside))}."
    if inside:
        return f"Text goes to {', '.join(dict.fromkeys(inside))} on this machine."
    return "No text leaves this machine."
