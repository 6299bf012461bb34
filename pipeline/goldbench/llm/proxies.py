"""Whether a server is this machine itself, and the proxy of the environment through which another one is reached."""

from __future__ import annotations

import ipaddress
import os
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from goldbench.errors import UsageError


def is_loopback(host: str) -> bool:
    """Whether a host name or IP address is this machine itself; no name is resolved."""
    host = host.rstrip(".")
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def proxy_for(url: str) -> str | None:
    """Return the address of the environment's proxy for this server, None for none; this machine itself has none.

    Raises:
        UsageError: The variable that names the proxy holds no address of an HTTP proxy.
    """
    parts, proxies = urlsplit(url), getproxies()
    scheme = parts.scheme if proxies.get(parts.scheme) else "all"
    address = proxies.get(scheme, "")
    if not address or is_loopback(parts.hostname or "") or proxy_bypass(parts.netloc):
        return None
    address = address if "://" in address else f"http://{address}"
    if not _is_http_address(address):
        # Named as the environment spells it; its value may hold a password.
        name = f"{scheme}_proxy" if os.environ.get(f"{scheme}_proxy") else f"{scheme}_proxy".upper()
        raise UsageError(f"{name}: not a valid address of an HTTP proxy: correct it or unset it")
    return address


def _is_http_address(address: str) -> bool:
    try:
        parts = urlsplit(address)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
