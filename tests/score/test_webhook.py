"""A web hook is told, patiently, and its silence is never fatal."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from goldbench.pipeline.errors import UsageError
from goldbench.pipeline.score.webhook import ATTEMPTS, check_address, tell

SECRET = "T000-secret"


class Hook:
    """A server that answers with the statuses it was given, the last one for good."""

    def __init__(self) -> None:
        self.statuses, self.received = [200], list[dict[str, object]]()
        hook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                hook.received.append(json.loads(body))
                status = hook.statuses.pop(0) if len(hook.statuses) > 1 else hook.statuses[0]
                self.send_response(status)
                if status == 429:
                    self.send_header("Retry-After", "0")
                if status == 302:
                    self.send_header("Location", "/elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/{SECRET}"


@pytest.fixture
def hook() -> Iterator[Hook]:
    made = Hook()
    thread = threading.Thread(target=made.server.serve_forever)
    thread.start()
    yield made
    made.server.shutdown()
    thread.join()
    made.server.server_close()


def test_a_message_arrives_as_json(hook: Hook) -> None:
    assert tell(hook.url, {"text": "r@10 is low"}) is None
    assert hook.received == [{"text": "r@10 is low"}]


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_server_in_trouble_is_asked_again(hook: Hook, status: int) -> None:
    hook.statuses = [status, status, 204]
    assert tell(hook.url, {}, first_wait=0.01) is None
    assert len(hook.received) == 3


def test_a_server_that_stays_in_trouble_is_given_up(hook: Hook) -> None:
    hook.statuses = [500]
    problem = tell(hook.url, {}, first_wait=0.01)
    assert problem == "127.0.0.1 answered 500"
    assert len(hook.received) == ATTEMPTS


@pytest.mark.parametrize("status", [302, 400, 401, 404])
def test_a_refusal_is_not_tried_again(hook: Hook, status: int) -> None:
    hook.statuses = [status]
    assert tell(hook.url, {}, first_wait=0.01) == f"127.0.0.1 answered {status}"
    assert len(hook.received) == 1


def test_nobody_there_is_said_without_the_secret() -> None:
    problem = tell(f"http://127.0.0.1:9/{SECRET}", {}, first_wait=0.01)
    assert problem == "127.0.0.1 cannot be reached"


@pytest.mark.parametrize("url", ["", "hook", "ftp://host/x", "http://", "file:///etc/passwd", "https://ho st/\x00"])
def test_what_is_no_address_is_refused_without_showing_it(url: str) -> None:
    with pytest.raises(UsageError) as raised:
        check_address(url)
    assert "passwd" not in str(raised.value)


def test_an_address_is_one() -> None:
    check_address("https://hooks.example.org/services/T0/B0/x")


@pytest.mark.parametrize("answer", [b"HTTP/1.1 103 Early Hints\r\n\r\n", b"X: still coming\r\n"])
def test_a_server_that_never_comes_to_an_end_is_given_up(answer: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        stop = threading.Event()

        def drip() -> None:
            with contextlib.suppress(OSError):
                while not stop.is_set():
                    client, _ = server.accept()
                    client.recv(9999)
                    client.sendall(b"" if b"103" in answer else b"HTTP/1.1 200 OK\r\n")
                    with contextlib.suppress(OSError):
                        while not stop.is_set():
                            client.sendall(answer)
                            time.sleep(0.02)
                    client.close()

        thread = threading.Thread(target=drip, daemon=True)
        thread.start()
        started = time.monotonic()
        url = f"http://127.0.0.1:{server.getsockname()[1]}/{SECRET}"
        assert "did not answer in" in str(tell(url, {}, first_wait=0.001, patience=0.2))
        assert time.monotonic() - started < 60
        stop.set()


@pytest.mark.parametrize("url", ["http://a..b/x", f"http://{'a' * 70}/x", "http://localhost:99999/x"])
def test_a_host_or_a_port_that_cannot_be_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match="--webhook: not a valid URL"):
        check_address(url)
