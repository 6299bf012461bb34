"""BM25 of a running Elasticsearch or OpenSearch, through an index that is created for one use and then deleted."""

from __future__ import annotations

import base64
import json
import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from goldbench.errors import RetrieverFailed
from goldbench.measures.ranks.order import best, in_tie_order
from goldbench.retrieval.endpoint import Endpoint
from goldbench.retrieval.system_settings import SearchServerSettings

_BULK_BYTES = 5 * 2**20
_BULK_ROWS = 2_000
"""Limit a bulk request, in bytes and in passages; the next passage begins another request."""
_ROWS = "application/x-ndjson"
_SEARCHES = 64
"""Queries per search request."""
_DEEPEST = 10_000
"""Results that a server returns for one query at most, unless ``max_result_window`` of the index says otherwise."""


class SearchServer:
    """An index on the server under a random name, deleted by ``close``."""

    def __init__(self, settings: SearchServerSettings, *, key: str | None = None) -> None:
        """Take the settings and the API key or ``user:password``.

        Raises:
            RetrieverFailed: The URL is not valid, or holds a user or a password.
        """
        url = server_url(settings.url)
        if "@" in urlsplit(url).netloc:
            raise RetrieverFailed("its URL holds a user or a password; name the variable with api_key_env")
        headers = {"Authorization": _authorization(key)} if key else {}
        self._server = Endpoint(url, headers=headers, timeout_s=settings.timeout_seconds)
        self._settings = settings
        self._index: str | None = None
        self._ids: list[str] = []

    def index(self, passages: Mapping[str, str]) -> None:
        """Create an index with the similarity of the settings, send the passages and wait until they can be found."""
        self._drop()
        self._ids = in_tie_order(passages)
        index = f"goldbench-{uuid.uuid4().hex}"
        self._server.send("PUT", f"/{index}", body=json.dumps(self._described()).encode())
        self._index = index
        rows = ((position, passages[doc_id]) for position, doc_id in enumerate(self._ids))
        for count, body in _bulks(rows):
            _check_bulk(self._server.send("POST", f"/{index}/_bulk", body=body, kind=_ROWS), count)
        self._server.send("POST", f"/{index}/_refresh")

    def search(self, queries: Mapping[str, str], *, k: int) -> dict[str, dict[str, float]]:
        """Return for each query at most ``k`` passages, best first; the server decides which equal scores it cuts off.

        Raises:
            RetrieverFailed: The server fails, or its answer does not fit the queries.
        """
        if self._index is None:
            raise RetrieverFailed("nothing was indexed")
        rankings: dict[str, dict[str, float]] = {}
        waiting = iter(queries.items())
        while several := dict(islice(waiting, _SEARCHES)):
            rankings.update(self._searched(several, k))
        return rankings

    def close(self) -> None:
        """Delete the index."""
        with suppress(RetrieverFailed):  # a server that is gone keeps the index; its name shows where it came from
            self._drop()
        self._server.close()

    def _drop(self) -> None:
        if self._index is not None:
            index = self._index
            self._index = None
            self._server.send("DELETE", f"/{index}")

    def _described(self) -> dict[str, Any]:
        similarity = {"type": "BM25", "k1": self._settings.k1, "b": self._settings.b}
        text = {"type": "text", "analyzer": self._settings.analyzer, "similarity": "as_asked"}
        settings = {"number_of_shards": 1, "number_of_replicas": 0, "similarity": {"as_asked": similarity}}
        fields = {"text": text, "place": {"type": "integer"}}
        return {"settings": settings, "mappings": {"dynamic": False, "properties": fields}}

    def _searched(self, queries: Mapping[str, str], k: int) -> Iterator[tuple[str, dict[str, float]]]:
        order = [{"_score": "desc"}, {"place": "asc"}]
        fixed = {"size": min(k, _DEEPEST), "sort": order, "track_scores": True, "_source": False}
        bodies = ({"query": {"match": {"text": {"query": text}}}, **fixed} for text in queries.values())
        sent = "".join(f"{{}}\n{json.dumps(body)}\n" for body in bodies).encode()
        answer = self._server.send("POST", f"/{self._index}/_msearch", body=sent, kind=_ROWS)
        responses = answer.get("responses") if isinstance(answer, dict) else None
        if not isinstance(responses, list) or len(responses) != len(queries):
            raise RetrieverFailed("the server did not answer each query once")
        for query_id, response in zip(queries, responses, strict=True):
            yield query_id, best(_hits(response, self._ids), k)


def server_url(url: str) -> str:
    """Return the URL to speak HTTP with: port 9200 unless one is given, TLS for ``https`` and ``…s://``."""
    parts = urlsplit(url)
    scheme = "https" if parts.scheme in {"https", "elasticsearchs", "opensearchs"} else "http"
    plain = parts.scheme in {"http", "https"}
    port = "" if plain or re.search(r":\d+$", parts.netloc) else ":9200"
    return urlunsplit((scheme, parts.netloc + port, parts.path.rstrip("/"), "", ""))


def _authorization(key: str) -> str:
    return f"Basic {base64.b64encode(key.encode()).decode()}" if ":" in key else f"ApiKey {key}"


def _bulks(rows: Iterator[tuple[int, str]]) -> Iterator[tuple[int, bytes]]:
    """Yield bodies of bulk requests, and how many passages each holds.

    A passage is named by its place, because its id may be longer than the 512 bytes that a server takes.
    """
    body = bytearray()
    count = 0
    for position, text in rows:
        body += json.dumps({"index": {"_id": str(position)}}).encode() + b"\n"
        body += json.dumps({"text": text, "place": position}).encode() + b"\n"
        count += 1
        if len(body) >= _BULK_BYTES or count >= _BULK_ROWS:
            yield count, bytes(body)
            body = bytearray()
            count = 0
    if body:
        yield count, bytes(body)


def _check_bulk(answer: Any, count: int) -> None:  # noqa: ANN401  JSON
    try:
        errors = [item["index"].get("error") for item in answer["items"]]
    except (AttributeError, KeyError, TypeError):
        errors = []
    if len(errors) != count:
        raise RetrieverFailed("the server did not report on each passage that was sent")
    if any(errors):
        kind = _kind(next(filter(None, errors)))
        raise RetrieverFailed(f"the server refused {count - errors.count(None):,} of {count:,} passages ({kind})")


def _hits(response: Any, ids: Sequence[str]) -> dict[str, float]:  # noqa: ANN401  JSON
    try:
        if "error" in response:
            raise RetrieverFailed(f"the server could not search ({_kind(response['error'])})")
        if response.get("timed_out") or response.get("_shards", {}).get("failed"):
            raise RetrieverFailed("the server searched only a part of the index")
        return {ids[int(hit["_id"])]: float(hit["_score"]) for hit in response["hits"]["hits"]}
    except (AttributeError, KeyError, TypeError, ValueError, IndexError):
        raise RetrieverFailed("the server did not answer with a list of hits") from None


def _kind(error: Any) -> str:  # noqa: ANN401  JSON
    """Return what kind of error a server names, never its reason, which quotes texts."""
    kind = error.get("type") if isinstance(error, dict) else None
    return kind if isinstance(kind, str) and re.fullmatch(r"[a-z_]{1,60}", kind) else "an error"
