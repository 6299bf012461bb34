"""A tiny model of MTEB: hashed words, so that texts with the same words are alike. It imports nothing of goldbench."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
from mteb.models import ModelMeta


class HashedWords:
    """An encoder that counts words in 256 buckets."""

    mteb_model_meta = ModelMeta.create_empty({"name": "none/hashed-words", "revision": "1"})

    def __init__(self, *_: object, **__: object) -> None:
        """Take what MTEB's command line gives."""

    def encode(self, inputs: Any, **_: object) -> Any:
        return np.array([_vector(text) for batch in inputs for text in batch["text"]])

    def similarity(self, left: Any, right: Any) -> Any:
        return np.asarray(left) @ np.asarray(right).T

    def similarity_pairwise(self, left: Any, right: Any) -> Any:
        return (np.asarray(left) * np.asarray(right)).sum(axis=1)


def _vector(text: str) -> Any:
    counts = np.zeros(256, dtype=np.float32)
    for word in text.lower().split():
        counts[zlib.crc32(word.encode()) % 256] += 1
    return counts / max(float(np.linalg.norm(counts)), 1e-9)
