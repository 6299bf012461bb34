"""A server whose certificate cannot be verified is named as such, with what to set."""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
from aiohttp import web

from goldbench.errors import ModelUnavailable, UsageError
from goldbench.llm.model_path import open_model
from goldbench.llm.probe import probe
from goldbench.llm.server_settings import ModelSettings
from tests.llm.conftest import verdict_request

pytest.importorskip("cryptography")
REPLY = {"choices": [{"message": {"content": '{"reason": "It says so.", "grade": 2}'}, "finish_reason": "stop"}]}


def _certificate(folder: Path) -> Path:
    """Write a certificate that it signed itself, and its key, into one PEM file."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "a server")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    path = folder / "server.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(private + certificate.public_bytes(serialization.Encoding.PEM))
    return path


@asynccontextmanager
async def _serving(certificate: Path | None) -> AsyncIterator[str]:
    async def reply(_: web.Request) -> web.Response:
        return web.json_response(REPLY)

    app = web.Application()
    app.router.add_post("/v1/chat/completions", reply)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    context = None
    if certificate:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(certificate)
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    asyncio.get_running_loop().set_exception_handler(lambda *_: None)  # the server's side of a refused handshake
    yield f"https://127.0.0.1:{runner.addresses[0][1]}/v1"
    await runner.cleanup()


@pytest.mark.parametrize(
    ("has_certificate", "problem"),
    [
        (True, r"cannot be verified \(self-signed certificate\): .* set SSL_CERT_FILE"),
        (False, r"does not speak TLS at this port: begin base_url with http://"),
    ],
)
async def test_trouble_with_a_certificate_is_named_with_its_setting(
    tmp_path: Path, has_certificate: bool, problem: str
):
    certificate = _certificate(tmp_path) if has_certificate else None
    async with _serving(certificate) as url, open_model(ModelSettings(name="m", base_url=url)) as path:
        with pytest.raises(ModelUnavailable, match=problem) as caught:
            await path.complete(verdict_request())
        models = await probe(url, None)
    assert str(caught.value).startswith(url)
    assert re.search(problem, str(models.problem))


async def test_a_certificate_that_is_set_is_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    certificate = _certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    async with _serving(certificate) as url, open_model(ModelSettings(name="m", base_url=url)) as path:
        assert (await path.complete(verdict_request())).answer.grade == 2


async def test_a_file_without_certificates_is_named_by_its_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authorities.pem"))
    with pytest.raises(UsageError, match=r"^SSL_CERT_FILE: not a readable file of certificates"):
        async with open_model(ModelSettings(name="m", base_url="https://127.0.0.1:9/v1")):
            pass
