"""Embedding retrieval over a real server: what is sent, what is kept, what is refused."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from anyio.from_thread import start_blocking_portal

from goldbench.errors import ModelUnavailable, RetrieverFailed
from goldbench.llm.model_path import open_model
from goldbench.llm.server_settings import ModelSettings
from goldbench.llm.store import AnswerStore
from goldbench.retrieval.dense import Dense, ServerEncoder, embedded
from goldbench.retrieval.stopwatch import Stopwatch
from goldbench.retrieval.system_settings import EmbeddingSettings
from tests.model_server.fixture import ServerHandle

PASSAGES = {
    "pump": "The pump lifts water into the upper tank.",
    "valve": "A valve closes when pressure falls.",
    "grease": "Operators grease every bearing in spring.",
    "twin": "A valve closes when pressure falls.",
}
QUERIES = {"q": "when does the valve close", "r": "grease for a bearing"}

Embed = Callable[[Sequence[str]], np.ndarray]


@contextlib.contextmanager
def embedding(server: ServerHandle, store: Path, **settings: Any) -> Iterator[Embed]:
    wanted = ModelSettings(
        name="m", base_url=server.base_url, embedding="e", **{"dimensions": 64, "never_reached_s": 1.0, **settings}
    )
    with (
        AnswerStore(store) as answers,
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(open_model(wanted, answers=answers)) as path,
    ):
        assert path.embedder is not None
        yield lambda texts: portal.call(path.embedder.embed, texts)  # type: ignore[union-attr]


def dense(embed: Embed, stopwatch: Stopwatch | None = None, **settings: Any) -> Dense:
    chosen = EmbeddingSettings(**settings)
    encoder = ServerEncoder(chosen, embed=embed)
    return Dense(chosen, encoder=encoder, stopwatch=stopwatch or Stopwatch())


def test_passages_with_the_querys_words_come_first(model_server: ServerHandle, tmp_path: Path) -> None:
    with embedding(model_server, tmp_path / "a.sqlite") as embed:
        system = dense(embed)
        system.index(PASSAGES)
        match = system.search(QUERIES, k=3)
    assert list(match["q"])[:2] == ["valve", "twin"]
    assert match["q"]["valve"] == match["q"]["twin"]
    assert next(iter(match["r"])) == "grease"
    assert all(len(ranking) == 3 for ranking in match.values())


def test_the_time_of_the_model_is_told_apart(model_server: ServerHandle, tmp_path: Path) -> None:
    model_server.script(latency_ms=120)
    stopwatch = Stopwatch()
    with embedding(model_server, tmp_path / "a.sqlite") as embed:
        system = dense(embed, stopwatch)
        system.index(PASSAGES)
        before = stopwatch.seconds["embed"]
        system.search(QUERIES, k=3)
    assert before >= 0.1
    assert stopwatch.seconds["embed"] - before >= 0.1


def test_prefixes_are_sent_and_tell_vectors_apart(model_server: ServerHandle, tmp_path: Path) -> None:
    with embedding(model_server, tmp_path / "a.sqlite") as embed:
        system = dense(embed, query_prefix="query: ", passage_prefix="passage: ")
        system.index({"a": "pump"})
        system.search({"q": "pump"}, k=1)
        plain = dense(embed)
        plain.index({"a": "pump"})
    sent = [text for row in model_server.requests() for text in row["body"]["input"]]
    assert sent == ["passage: pump", "query: pump", "pump"]


def test_equal_texts_are_embedded_once(model_server: ServerHandle, tmp_path: Path) -> None:
    with embedding(model_server, tmp_path / "a.sqlite") as embed:
        dense(embed).index(PASSAGES)
    assert model_server.stats()["texts"] == 3


SEARCH = """
import json, sys
from pathlib import Path
from tests.model_server.fixture import ServerHandle
from tests.retrieval.test_dense import PASSAGES, QUERIES, dense, embedding
with embedding(ServerHandle(None, sys.argv[1], ""), Path(sys.argv[2])) as embed:
    system = dense(embed)
    system.index(PASSAGES)
    print(json.dumps(system.search(QUERIES, k=4)))
"""


def test_an_embedding_is_paid_once_over_processes_and_openings(model_server: ServerHandle, tmp_path: Path) -> None:
    store = tmp_path / "a.sqlite"
    command = [sys.executable, "-c", SEARCH, model_server.base_url, str(store)]
    root = Path(__file__).parents[2]
    first = json.loads(subprocess.run(command, capture_output=True, text=True, check=True, cwd=root).stdout)
    assert model_server.stats()["texts"] == 5
    for _ in range(2):
        with embedding(model_server, store) as embed:
            system = dense(embed)
            system.index(PASSAGES)
            assert system.search(QUERIES, k=4) == first
    assert model_server.stats()["texts"] == 5
    with embedding(model_server, store, dimensions=32) as embed:  # another size is another vector
        dense(embed).index(PASSAGES)
    assert model_server.stats()["texts"] == 5 + 3
    elsewhere = ServerHandle(None, "http://127.0.0.1:9/v1", "")  # another model may have the same name there
    with embedding(elsewhere, store) as embed, pytest.raises(ModelUnavailable):
        embed(list(PASSAGES.values()))


def test_texts_of_any_kind_are_embedded(model_server: ServerHandle, tmp_path: Path) -> None:
    passages = {"a": "lone \ud800", "b": "nul \x00 tab \t", "c": "", "d": "long " * 30_000, "e": "<b>html</b>"}
    with embedding(model_server, tmp_path / "a.sqlite") as embed:
        system = dense(embed)
        system.index(passages)
        assert len(system.search({"q": "html \udfff"}, k=9)["q"]) == 5


def test_a_large_corpus_goes_in_batches_and_comes_back_in_order() -> None:
    sizes: list[int] = []

    def embed(texts: Sequence[str]) -> np.ndarray:
        sizes.append(len(texts))
        return np.array([[float(text[2:]), 1.0] for text in texts])

    texts = {f"d{n}": str(n % 700) for n in range(1000)}
    rows = embedded(texts, embed, prefix="p:", at_once=256)
    assert sizes == [256, 256, 188]
    assert rows[:, 0].tolist() == [n % 700 for n in range(1000)]


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (lambda texts: np.ones((len(texts) + 1, 3)), "was given 2 texts and answered with 3 x 3 numbers"),
        (lambda texts: np.ones(len(texts)), "was given 2 texts and answered with 2 numbers"),
        (lambda texts: np.ones((len(texts), 1 + len(texts[0]))), "gave vectors of 2 and of 3 dimensions"),
        (lambda texts: np.zeros((len(texts), 3)), "passage 'a' is all 0"),
        (lambda texts: np.full((len(texts), 3), 1e300), "passage 'a' holds a number that is not finite"),
    ],
)
def test_what_is_not_one_vector_for_each_text_is_refused(answer: Embed, problem: str) -> None:
    class Encoder:
        def passages(self, texts: dict[str, str]) -> np.ndarray:
            return embedded(texts, answer, at_once=2)

        queries = passages

    system = Dense(EmbeddingSettings(), encoder=Encoder(), stopwatch=Stopwatch())
    with pytest.raises(RetrieverFailed, match=problem):
        system.index({"a": "a", "b": "b", "c": "cc", "d": "dd"})
