"""Whether a server is this machine itself, and whether it is reached through the proxies that the environment names."""

from __future__ import annotations

import ipaddress
import os
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from goldbench.pipeline.errors import UsageError


def is_loopback(host: str) -> bool:
    """Whether a host name or IP address is this machine itself; no name is resolved."""
    host = host.rstrip(".")
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def uses_proxies(url: str) -> bool:
    """Return whether the environment's proxies are for this server; they never are for this machine itself.

    Raises:
        UsageError: They are, and one of them is not an HTTP address.
    """
    parts, proxies = urlsplit(url), getproxies()
    if is_loopback(parts.hostname or ""):
        return False
    for scheme in ("http", "https", "all"):
        if proxies.get(scheme) and not _is_proxy(proxies[scheme]):
            raise UsageError(f"{_variable(scheme)}: not a valid address of a proxy: correct it or unset it")
    taken = parts.scheme if proxies.get(parts.scheme) else "all"
    address = proxies.get(taken, "")
    if "://" in address and not address.lower().startswith(("http://", "https://")) and not proxy_bypass(parts.netloc):
        raise UsageError(f"{_variable(taken)}: the proxy does not speak HTTP: name another or unset it")
    return True


def _is_proxy(address: str) -> bool:
    import httpx2  # slow to import, and many callers only ask for ``is_loopback``

    try:
        proxy = httpx2.Proxy(url=address if "://" in address else f"http://{address}")
    except (httpx2.InvalidURL, ValueError):
        return False
    return bool(proxy.url.host) and (proxy.url.port is None or 0 < proxy.url.port < 2**16)


def _variable(scheme: str) -> str:
    """Return the name of the variable as the environment spells it; its value may hold a password."""
    name = f"{scheme}_proxy"
    return name if os.environ.get(name) else name.upper()
