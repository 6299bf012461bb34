"""Which certificates are trusted, and what is wrong with the one that a server shows."""

from __future__ import annotations

import os
import ssl

import httpx2

from goldbench.errors import UsageError

VARIABLES = ("SSL_CERT_FILE", "SSL_CERT_DIR")


def trusted() -> ssl.SSLContext:
    """Return the context of every connection: the system's certificates, or those that the environment names.

    Raises:
        UsageError: The environment names a file that holds no certificates.
    """
    try:
        return httpx2.create_ssl_context()
    except (OSError, ValueError):
        name = next((name for name in VARIABLES if os.environ.get(name)), "the system's certificates")
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
