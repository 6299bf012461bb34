"""Which certificates are trusted, and what is wrong with the one that a server shows."""

from __future__ import annotations

import os
import ssl

import httpx2

from goldbench.pipeline.errors import UsageError

VARIABLES = ("SSL_CERT_FILE", "SSL_CERT_DIR")
_EXPIRED, _NOT_YET, _SELF_SIGNED, _OWN_ROOT = 10, 9, 18, 19
_WRONG_NAME = frozenset({62, 64})
_NO_ISSUER = frozenset({2, 20, 21})
_TRUST = "set SSL_CERT_FILE to a PEM file that holds"


def trusted() -> ssl.SSLContext:
    """Return the context of every connection: the system's certificates, or those that the environment names.

    Raises:
        UsageError: The environment names a file that holds no certificates.
    """
    try:
        return httpx2.create_ssl_context()
    except (OSError, ValueError):
        name = next((name for name in VARIABLES if os.environ.get(name)), None)
        if name is None:
            raise UsageError(f"the system's certificates cannot be read: {_TRUST} the authorities you trust") from None
        raise UsageError(f"{name}: not a readable file of certificates (PEM): correct it or unset it") from None


def trouble(error: BaseException) -> str | None:
    """Return what is wrong with a TLS connection and what to set, None if the error is about something else.

    Args:
        error: The error of a connection; those that it was raised from count, too.
    """
    for one in chain(error):
        if isinstance(one, ssl.SSLCertVerificationError):
            return _of_certificate(one.verify_code)
        if isinstance(one, ssl.SSLError):
            if "WRONG_VERSION_NUMBER" in str(one.reason) or "HTTP_REQUEST" in str(one.reason):
                return "the server does not speak TLS at this port: begin base_url with http://, or correct the port"
            if "CERTIFICATE_REQUIRED" in str(one.reason):
                return "the server wants a certificate of the client, which goldbench cannot send: use another address"
            return None
    return None


def chain(error: BaseException) -> list[BaseException]:
    """Return an error and those that it was raised from, at most eight."""
    found: list[BaseException] = [error]
    while (below := found[-1].__cause__ or found[-1].__context__) is not None and len(found) < 8:
        found.append(below)
    return found


def _of_certificate(code: int) -> str:
    if code == _SELF_SIGNED:
        return f"the server's certificate is self-signed: {_TRUST} it, if the server is yours"
    if code == _OWN_ROOT or code in _NO_ISSUER:
        return f"the server's certificate is of an authority that is not trusted here: {_TRUST} the authority's"
    if code == _EXPIRED:
        return "the server's certificate has expired: renew it at the server, or set the clock of this machine"
    if code == _NOT_YET:
        return "the server's certificate is not valid yet: set the clock of this machine, or renew it at the server"
    if code in _WRONG_NAME:
        return "the server's certificate is for another host name: give base_url with the name that it is for"
    return f"the server's certificate cannot be verified (OpenSSL code {code}): {_TRUST} it, if the server is yours"
