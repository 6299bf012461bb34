"""What the server turns away, what it stores, and what it says, over real sockets."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from goldbench.prompts.rubric import Rubric
from tests.review.conftest import Site, only
from tests.review.review_set import write_set

Sites = Callable[..., Site]


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Client:
    """A browser without a screen: one connection, one cookie."""

    port: int
    cookie: str | None = None

    def ask(self, method: str, path: str, body: object = None, **headers: str | None) -> Answer:
        here = f"127.0.0.1:{self.port}"
        sent: dict[str, str | None] = {"Host": here}
        if self.cookie:
            sent["Cookie"] = self.cookie
        data = None
        if method == "POST":
            sent |= {"Origin": f"http://{here}", "Content-Type": "application/json"}
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, data, {k: v for k, v in sent.items() if v is not None})
            found = connection.getresponse()
            return Answer(found.status, {k.lower(): v for k, v in found.getheaders()}, found.read())
        finally:
            connection.close()

    def get(self, path: str, **headers: str | None) -> Answer:
        return self.ask("GET", path, **headers)

    def post(self, path: str, body: object, **headers: str | None) -> Answer:
        return self.ask("POST", path, body, **headers)

    def enter(self, link: str) -> Client:
        answer = self.get("/" + link.partition("/?")[2].join(["?", ""]))
        assert answer.status == 303
        self.cookie = answer.headers["set-cookie"].partition(";")[0]
        return self


def client_of(site: Site, name: str = "anna") -> Client:
    link = site.links[name]
    return Client(int(link.split(":")[2].partition("/")[0])).enter(link)


def judgment(client: Client, number: int = 0, **more: Any) -> dict[str, Any]:
    item = client.get("/api/next?n=1").json["items"][0]
    return {"client_id": f"client-{number:05}", "kind": "judge", "pair": item["pair"], "grade": 2, **more}


@pytest.fixture
def served(site: Sites) -> Site:
    return site(queries=2, passages=3, chunks=True)


@pytest.fixture
def anna(served: Site) -> Iterator[Client]:
    return client_of(served)


@pytest.fixture
def quiet(shared_site: Site) -> Client:
    """Somebody at a server where nothing is stored."""
    return client_of(shared_site)


def test_an_event_is_stored_once_however_often_it_is_sent(served: Site, anna: Client) -> None:
    body = judgment(anna)
    assert [anna.post("/api/event", body).json for _ in range(3)] == [{"seq": 1}] * 3
    assert [event.grade for event in served.events()] == [2]


def test_a_wrong_host_is_refused(quiet: Client) -> None:
    for host in ("evil.example", "127.0.0.1:1", f"evil.example:{quiet.port}", ""):
        assert quiet.get("/api/session", Host=host).status in {400, 421}, host


def test_what_another_page_sends_is_refused(shared_site: Site, quiet: Client) -> None:
    body = judgment(quiet)
    for origin in ("http://evil.example", "http://127.0.0.1:1", "null", f"https://127.0.0.1:{quiet.port}", None):
        assert quiet.post("/api/event", body, Origin=origin).status == 403, origin
    assert quiet.post("/api/event", body, Content_Type="text/plain").status == 415
    assert quiet.post("/api/event", body, Sec_Fetch_Site="same-site", Sec_Fetch_Mode="cors").status == 403
    assert quiet.get("/api/session", Sec_Fetch_Site="same-site", Sec_Fetch_Mode="no-cors").status == 403
    assert shared_site.events() == []


def test_without_a_cookie_nothing_of_the_data_is_told(shared_site: Site, quiet: Client) -> None:
    stranger = Client(quiet.port)
    for path in ("/api/session", "/api/next?n=3", "/progress", "/adjudicate", "/nothing"):
        assert stranger.get(path).status == 401, path
    assert stranger.get("/").status == 401
    assert b"wheel" not in stranger.get("/").body
    assert stranger.post("/api/event", {}).status == 401


def test_a_link_is_good_once(served: Site) -> None:
    link = served.links["anna"]
    port = int(link.split(":")[2].partition("/")[0])
    anna = Client(port).enter(link)
    token = link.partition("token=")[2]
    assert Client(port).get(f"/?token={token}").status == 403
    assert anna.get(f"/?token={token}").status == 303, "whoever is in already may reload"
    assert Client(port).get("/?token=guess").status == 403
    assert Client(port).get("/?token=%ff%00").status == 403
    assert served.links["anna"] != link
    assert Client(port).enter(served.links["anna"]).get("/api/session").json["annotator"] == "anna"


def test_a_changed_cookie_is_nobodys(quiet: Client) -> None:
    assert quiet.cookie
    name, _, value = quiet.cookie.partition("=")
    body, _, signature = value.partition(".")
    other = "1" if signature.endswith("0") else "0"
    for forged in (f"{body}.{signature[:-1]}{other}", f"{body}x.{signature}", body, "é", "." * 100, f"{body}.é"):
        assert quiet.get("/api/session", Cookie=f"{name}={forged}".encode().decode("latin-1")).status == 401


def test_the_cookie_is_strict_and_out_of_reach_of_scripts(served: Site) -> None:
    link = served.links["anna"]
    answer = Client(int(link.split(":")[2].partition("/")[0])).get("/?" + link.partition("?")[2])
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie


def test_every_answer_is_kept_to_itself(quiet: Client) -> None:
    for path in ("/", "/api/session", "/static/review.js", "/nothing"):
        headers = quiet.get(path).headers
        assert headers["content-security-policy"].startswith("default-src 'self'"), path
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert "server" not in headers


def test_an_oversize_body_is_refused_with_and_without_its_length(shared_site: Site, quiet: Client) -> None:
    large = {**judgment(quiet), "note": "x" * 300_000}
    assert quiet.post("/api/event", large).status == 413
    connection = http.client.HTTPConnection("127.0.0.1", quiet.port, timeout=60)
    headers = {
        "Host": f"127.0.0.1:{quiet.port}",
        "Origin": f"http://127.0.0.1:{quiet.port}",
        "Cookie": quiet.cookie or "",
        "Content-Type": "application/json",
    }
    connection.request("POST", "/api/event", iter([b"x" * 100_000] * 3), headers, encode_chunked=True)
    answer = connection.getresponse()
    assert (answer.status, b"bytes" in answer.read()) == (413, True)
    connection.close()
    assert shared_site.events() == []


def test_a_body_that_breaks_off_against_the_protocol_is_answered_and_leaves_no_traceback(
    shared_site: Site, quiet: Client, caplog: pytest.LogCaptureFixture
) -> None:
    here = f"127.0.0.1:{quiet.port}"
    lines = [f"Host: {here}", f"Origin: http://{here}", "Content-Type: application/json", "Transfer-Encoding: chunked"]
    head = "\r\n".join(["POST /api/event HTTP/1.1", *lines, f"Cookie: {quiet.cookie}"])
    with socket.create_connection(("127.0.0.1", quiet.port), timeout=20) as connection:
        connection.sendall(f"{head}\r\n\r\nno length\r\n".encode())
        answer = b"".join(iter(lambda: connection.recv(4096), b""))
    assert answer.startswith(b"HTTP/1.1 400")
    assert quiet.get("/api/session").status == 200
    assert caplog.records == []
    assert shared_site.events() == []


def test_no_path_leads_out(quiet: Client) -> None:
    for path in ("/static/../app.py", "/static/..%2fapp.py", "/static/%2e%2e%2f%2e%2e%2fcli.py", "//etc/passwd"):
        answer = quiet.get(path)
        assert (answer.status, b"import" in answer.body) == (404, False), path


def test_hostile_addresses_are_no_internal_error(quiet: Client) -> None:
    paths = ("/api/next?n=%C2%B2", "/api/item?pair=%ED%A0%80", "/?token=%ED%A0%80", "/static/%00")
    for path in (*paths, "/api/query?query=%00", "/api/next?n=1&have=" + "a," * 20_000):
        assert quiet.get(path).status < 500, path


@pytest.mark.parametrize(
    "change",
    [
        {"grade": 4},
        {"grade": True},
        {"pair": "unknown"},
        {"pair": None},
        {"client_id": "a b"},
        {"annotator": "bob"},
        {"ms": -1},
        {"have": ["x"] * 100},
    ],
)
def test_events_that_make_no_sense_are_refused(shared_site: Site, quiet: Client, change: dict[str, Any]) -> None:
    answer = quiet.post("/api/event", {**judgment(quiet), **change})
    assert answer.status == (410 if change.get("pair") else 400)
    assert shared_site.events() == []


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"\xff",
        b"[" * 100_000,
        b'{"client_id":"client-00001","kind":"judge","\\ud800":1}',
        b'{"client_id":"client-00001","kind":"judge","grade":1e999}',
        b'{"client_id":"client-00001\\n","kind":"judge"}',
        b'{"ms":' + b"9" * 5000 + b"}",
        b'{"client_id":"client-00001","kind":"undo","undoes":"\\ud800"}',
    ],
)
def test_hostile_bodies_are_refused_in_one_line(quiet: Client, body: bytes) -> None:
    answer = quiet.post("/api/event", body)
    assert answer.status == 400
    assert "\n" not in answer.json["error"]


def test_half_a_character_in_a_note_loses_no_note(served: Site, anna: Client) -> None:
    pair = judgment(anna)["pair"]
    raw = json.dumps({"client_id": "client-1", "kind": "note", "pair": pair, "note": "a\ud800\x00b"}).encode()
    assert anna.post("/api/event", raw).status == 200
    assert served.events()[0].note == "a?\ufffdb"


def test_what_another_person_judges_is_not_judged_unasked(site: Sites) -> None:
    served = site(annotators=("anna", "bob"), queries=1, passages=1)
    anna, bob = client_of(served), client_of(served, "bob")
    body = judgment(anna)
    assert bob.get("/api/next?n=3").json == {"items": []}
    assert bob.post("/api/event", {**body, "client_id": "client-bob"}).status == 409
    assert bob.get(f"/api/item?pair={body['pair']}").status == 409
    assert anna.post("/api/event", body).status == 200
    assert [event.annotator for event in served.events()] == ["anna"]


def test_what_an_event_says_of_itself_is_the_servers_word(site: Sites) -> None:
    served = site(queries=2, passages=3, queue=only("A", calibration=3))
    anna = client_of(served)
    anna.post("/api/event", judgment(anna, ms=1234, highlights=True))
    (event,) = served.events()
    item = next(one for one in served.queue if one.pair == (event.query_id, event.chunk_id))
    assert (event.lane, event.inclusion, event.annotator, event.ms) == (item.lane, item.inclusion, "anna", 1234)


def test_the_page_shows_the_rubric_of_the_set_and_its_digest_is_stored(site: Sites) -> None:
    ours = Rubric.of("## Ours\n\n- A **recall** notice is grade 3. <script>no()</script>")
    served = site(queries=1, passages=2, rubric=ours.text)
    anna = client_of(served)
    for path in ("/", "/adjudicate"):
        page = anna.get(path).body.decode()
        assert "A <strong>recall</strong> notice is grade 3." in page
        assert "no()</script>" not in page
    anna.post("/api/event", judgment(anna))
    assert [event.rubric_sha for event in served.events()] == [ours.sha]


def test_a_set_without_grades_is_reviewed_too(site: Sites, tmp_path: Path) -> None:
    served = site(write_set(tmp_path / "plain", graded=False, chunks=False, queries=2, passages=2), queue=only("ABC"))
    anna = client_of(served)
    assert len(anna.get("/api/next?n=9").json["items"]) == 4
    answer = anna.post("/api/event", judgment(anna))
    assert "revealed" not in answer.json
    assert anna.get("/api/progress").status == 200
