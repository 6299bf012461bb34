"""Clients that send slowly, never finish or never read, and crowds without a cookie: others are still served."""

from __future__ import annotations

import contextlib
import http.client
import resource
import signal
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from goldbench.review import connections
from goldbench.review.ledger import LedgerFailed, open_ledger
from goldbench.review.security import Rates
from tests.conftest import posix
from tests.review.conftest import Process, Site, start_process
from tests.review.events import DATA, judge
from tests.review.postgres import postgres
from tests.review.review_set import write_set
from tests.review.test_http import Client, client_of, judgment

Sites = Callable[..., Site]


def connected(port: int, beginning: bytes) -> socket.socket:
    one = socket.create_connection(("127.0.0.1", port), timeout=60)
    one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    one.settimeout(60)
    with contextlib.suppress(OSError):
        one.sendall(beginning)
    return one


def beginnings(port: int) -> Iterator[bytes]:
    here = f"Host: 127.0.0.1:{port}\r\n".encode()
    yield b""
    yield b"GET / HT"
    yield b"POST /api/event HTTP/1.1\r\n" + here + b"Content-Type: application/json\r\nContent-Length: 9000\r\n\r\n{"
    yield (b"GET /static/review.js HTTP/1.1\r\n" + here + b"\r\n") * 200


@posix
@pytest.mark.slow
@pytest.mark.parametrize("files", [64, 128])
def test_slow_clients_keep_nobody_out_though_few_files_may_be_open(tmp_path: Path, files: int) -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, before[1]))
    try:
        started = start_process(write_set(tmp_path / "set", queries=4, passages=4), "--annotator", "anna")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    try:
        _judged_among_slow_clients(started)
    finally:
        started.process.kill()
        started.process.wait()


def _judged_among_slow_clients(started: Process) -> None:
    kinds, took = list(beginnings(started.port)), []
    with contextlib.ExitStack() as stack:
        slow = [stack.enter_context(connected(started.port, kinds[number % 4])) for number in range(200)]
        anna = Client(started.port).enter(started.links["anna"])
        for number in range(8):
            for one in slow[number::8]:
                with contextlib.suppress(OSError):
                    one.sendall(b"x")
            begun = time.monotonic()
            assert anna.post("/api/event", judgment(anna, number)).status == 200
            took.append(time.monotonic() - begun)
            slow += [stack.enter_context(connected(started.port, kinds[at % 4])) for at in range(20)]
    started.process.send_signal(signal.SIGINT)
    said = started.process.communicate(timeout=100)[0]
    assert "holds 8 events." in said
    assert "Traceback" not in said
    assert "internal error" not in said
    assert max(took) < 10


@pytest.mark.slow
def test_who_sends_half_a_request_loses_the_connection_and_who_is_quick_keeps_it(
    site: Sites, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "WAITING_S", 0.5)
    port = client_of(site(queries=1, passages=2)).port
    for beginning in list(beginnings(port))[:3]:
        with connected(port, beginning) as one:
            begun = time.monotonic()
            with contextlib.suppress(ConnectionError):
                while one.recv(4096):
                    pass
            assert time.monotonic() - begun < 30
    quick = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    with contextlib.closing(quick):
        quick.connect()
        opened = quick.sock
        for _ in range(2):
            quick.request("GET", "/static/asked.js")
            assert quick.getresponse().read()
            time.sleep(1.2)
        assert quick.sock is opened, "it had to connect again"


def test_a_crowd_without_a_cookie_keeps_nobody_from_opening_a_link(site: Sites) -> None:
    served = site(queries=1, passages=2, rates=Rates(rate=1, burst=50, clock=lambda: 0.0))
    crowd = Client(int(served.base.rpartition(":")[2].strip("/")))
    answers = [crowd.get("/?token=guessed").status for _ in range(60)]
    assert set(answers) == {403, 429}
    assert crowd.get("/").status == 429
    anna = client_of(served)
    assert anna.get("/api/session").status == 200


@pytest.mark.slow
def test_a_ledger_in_postgres_that_another_process_holds_is_given_up_soon() -> None:
    import psycopg

    with postgres() as address, open_ledger(address, data_sha=DATA) as ledger:
        ledger.append(judge(1))
        ledger.hurry(0.5)
        with psycopg.connect(address) as other:
            for held in ("SELECT * FROM goldbench_ledger FOR UPDATE", "LOCK TABLE goldbench_event"):
                other.execute(held)
                begun = time.monotonic()
                with pytest.raises(LedgerFailed, match="lock timeout"):
                    ledger.append(judge(2, query="q2"))
                assert time.monotonic() - begun < 30
                other.rollback()
        ledger.append(judge(2, query="q2"))
        assert len(ledger.events()) == 2
