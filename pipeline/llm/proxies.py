"""Which servers are reached through the proxies that the environment names."""

from __future__ import annotations

import ipaddress
import os
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx2

from pipeline.errors import UsageError


def is_loopback(url: str) -> bool:
    """Whether a server is this machine itself, as its address says; no name is resolved."""
    host = (urlsplit(url).hostname or "").rstrip(".")
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def uses_proxies(url: str) -> bool:
    """Return whether the proxies of the environment are for this server: they never are for this machine itself.

    Raises:
        UsageError: they are, and one of them is no address, or is of a kind that is not supported.
    """
    if is_loopback(url):
        return False
    parts, proxies = urlsplit(url), getproxies()
    for scheme in ("http", "https", "all"):
        if proxies.get(scheme) and not _is_proxy(proxies[scheme]):
            raise UsageError(f"{_variable(scheme)} is no address of a proxy: correct it or unset it")
    taken = parts.scheme if proxies.get(parts.scheme) else "all"
    address = proxies.get(taken, "")
    if "://" in address and not address.lower().startswith(("http://", "https://")) and not _is_spared(parts.netloc):
        raise UsageError(f"{_variable(taken)} names a proxy that does not speak HTTP: name another or unset it")
    return True


def _is_proxy(address: str) -> bool:
    try:
        proxy = httpx2.Proxy(url=address if "://" in address else f"http://{address}")
    except (httpx2.InvalidURL, ValueError):
        return False
    return bool(proxy.url.host) and (proxy.url.port is None or 0 < proxy.url.port < 2**16)


def _is_spared(host: str) -> bool:
    return bool(proxy_bypass(host))


def _variable(scheme: str) -> str:
    """Return the name of the variable, as it is spelt in the environment; its value may hold a password."""
    name = f"{scheme}_proxy"
    return name if os.environ.get(name) else name.upper()
