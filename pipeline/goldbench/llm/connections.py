"""How a server is reached: whether it is this machine itself, the environment's proxy, and trusted certificates."""

from __future__ import annotations

import ipaddress
import os
import ssl
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx2

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
    parts = urlsplit(url)
    proxies = getproxies()
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


def trusted() -> ssl.SSLContext:
    """Return the context of every connection: the system's certificates, or those that the environment names.

    Raises:
        UsageError: The environment names a file that holds no certificates.
    """
    try:
        return httpx2.create_ssl_context()
    except (OSError, ValueError):
        name = next(
            (name for name in ("SSL_CERT_FILE", "SSL_CERT_DIR") if os.environ.get(name)), "the system's certificates"
        )
        raise UsageError(f"{name}: not a readable file of certificates (PEM): correct it or unset it") from None


def tls_problem(error: BaseException) -> str | None:
    """Return what is wrong with a TLS connection and what to set, None if the error is about something else.

    Args:
        error: The error of a connection; those that it was raised from count, too.
    """
    tls_error = next((each for each in chain(error) if isinstance(each, ssl.SSLError)), None)
    if isinstance(tls_error, ssl.SSLCertVerificationError):
        return (
            f"the server's certificate cannot be verified ({tls_error.verify_message}): correct base_url or the clock, "
            "renew it at the server, or set SSL_CERT_FILE to a PEM file that holds it or its authority"
        )
    reason = str(tls_error.reason) if tls_error else ""
    if "WRONG_VERSION_NUMBER" in reason or "HTTP_REQUEST" in reason:
        return "the server does not speak TLS at this port: begin base_url with http://, or correct the port"
    if "CERTIFICATE_REQUIRED" in reason:
        return "the server wants a certificate of the client, which goldbench cannot send: use another address"
    return None


def chain(error: BaseException) -> list[BaseException]:
    """Return an error and those that it was raised from, at most eight."""
    errors = [error]
    while (below := errors[-1].__cause__ or errors[-1].__context__) is not None and len(errors) < 8:
        errors.append(below)
    return errors
