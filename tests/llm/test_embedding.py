"""Embeddings through the same path: kept per text, in batches, checked."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from goldbench.errors import AnswerRejected, ModelUnavailable
from tests.llm.conftest import Opener
from tests.model_server.fixture import ServerHandle


@pytest.fixture
def open_embedding(open_path: Opener) -> Opener:
    return partial(open_path, embedding="embed-model")


def _embedder(path):
    assert path.embedder is not None
    return path.embedder


async def test_rows_come_in_the_order_of_the_texts(open_embedding: Opener, model_server: ServerHandle):
    model_server.script({"when": {"kind": "embeddings"}, "do": {"reply": "shuffled"}})
    async with open_embedding() as path:
        both = await _embedder(path).embed(["one", "two", "one"])
        single = await _embedder(path).embed(["two"])
    assert both.dtype == np.float32
    assert both.shape == (3, 8)
    assert np.array_equal(both[0], both[2])
    assert np.array_equal(both[1], single[0])


async def test_only_new_texts_are_sent(open_embedding: Opener, model_server: ServerHandle):
    async with open_embedding(embedding_batch=10) as path:
        first = await _embedder(path).embed([f"text {n}" for n in range(25)])
    async with open_embedding(embedding_batch=10) as path:
        second = await _embedder(path).embed([f"text {n}" for n in range(30)])
        books = path.usage()["embed"]
    assert np.array_equal(first, second[:25])
    assert (books.requests, books.replayed) == (1, 25)
    sizes = [len(row["body"]["input"]) for row in model_server.requests()]
    assert sorted(sizes) == [5, 5, 10, 10]


@pytest.mark.parametrize("reply", ["short", "nan"])
async def test_a_wrong_response_is_no_vector(open_embedding: Opener, model_server: ServerHandle, reply: str):
    model_server.script({"when": {"kind": "embeddings"}, "do": {"reply": reply}})
    async with open_embedding() as path:
        with pytest.raises(AnswerRejected):
            await _embedder(path).embed(["one", "two"])


async def test_a_replay_embeds_what_is_kept_and_nothing_else(open_embedding: Opener, model_server: ServerHandle):
    async with open_embedding() as path:
        rows = await _embedder(path).embed(["one"])
    model_server.down()
    async with open_embedding(replay=True) as path:
        assert np.array_equal(await _embedder(path).embed(["one"]), rows)
        with pytest.raises(ModelUnavailable, match="embed: the store has no answer"):
            await _embedder(path).embed(["two"])
