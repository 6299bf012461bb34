"""Whether a server is this machine itself, and the proxy of the environment through which another one is reached."""

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


def proxy_for(url: str) -> str | None:
    """Return the address of the environment's proxy for this server, None for none; this machine itself has none.

    Raises:
        UsageError: A variable that names a proxy holds no address, or the proxy for this server does not speak HTTP.
    """
    parts, proxies = urlsplit(url), getproxies()
    if is_loopback(parts.hostname or ""):
        return None
    for scheme in ("http", "https", "all"):
        if proxies.get(scheme) and not _is_proxy(proxies[scheme]):
            raise UsageError(f"{_variable(scheme)}: not a valid address of a proxy: correct it or unset it")
    taken = parts.scheme if proxies.get(parts.scheme) else "all"
    address = proxies.get(taken, "")
    if not address or proxy_bypass(parts.netloc):
        return None
    if "://" not in address:
        return f"http://{address}"
    if not address.lower().startswith(("http://", "https://")):
        raise UsageError(f"{_variable(taken)}: the proxy does not speak HTTP: name another or unset it")
    return address


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
