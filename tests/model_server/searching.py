"""What the server's embedding model and rerankers know: texts that share words are alike."""

from __future__ import annotations

import base64
import hashlib
import random
import re
from array import array
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_]+")
_BLOCK = re.compile(r"<<<(QUERY|PASSAGE \d+) [0-9a-f]{16}>>>\n(.*?)\n<<<END [0-9a-f]{16}>>>", re.DOTALL)
_SIZE = 512


def vector(text: str, size: int) -> list[float]:
    """Return the sum of a vector for each word, at length 1: a bag of words, hashed. Never all 0."""
    words = _words(text) or [f"\0{text}"]
    row = [sum(numbers) for numbers in zip(*(_of_word(word, size) for word in words), strict=True)]
    norm = sum(x * x for x in row) ** 0.5
    return [x / norm for x in row]


def relevance(query: str, passage: str) -> float:
    """Return a score from 0 to 1 that grows with the words in common."""
    likeness = sum(a * b for a, b in zip(vector(query, _SIZE), vector(passage, _SIZE), strict=True))
    return round((1 + likeness) / 2, 6)


def order_of(prompt: str) -> list[int]:
    """Return the numbers of the passages in a prompt, those most like its query first."""
    blocks = dict(_BLOCK.findall(prompt))
    query = blocks.pop("QUERY")
    scores = {int(name.split()[1]): relevance(query, text) for name, text in blocks.items()}
    return sorted(scores, key=lambda number: (-scores[number], number))


def query_of(prompt: str) -> str:
    """Return the query in a prompt."""
    return str(dict(_BLOCK.findall(prompt))["QUERY"])


def rewrites_of(prompt: str) -> list[str]:
    """Return as many rewrites as the prompt wants: the words of the query turned round and round."""
    match = re.search(r"Rewritten queries wanted: (\d+)", prompt)
    words = query_of(prompt).split()
    return [" ".join(words[n:] + words[:n]) for n in range(1, 1 + int(match.group(1) if match else 1))]


def results_for(query: str, documents: Sequence[str], how: str) -> list[dict[str, Any]]:
    """Return the rows of a ``/rerank`` answer, best first; ``how`` names a way in which they can be wrong."""
    scores = [relevance(query, text) for text in documents]
    rows = [
        {"index": index, "relevance_score": scores[index]}
        for index in sorted(range(len(scores)), key=lambda i: -scores[i])
    ]
    if how == "short":
        rows = rows[:-1]
    if how == "out-of-range":
        rows[0]["index"] = len(documents)
    if how == "twice":
        rows[0]["index"] = rows[-1]["index"]
    if how == "no-index":
        del rows[0]["index"]
    if how == "nan":
        rows[0]["relevance_score"] = float("nan")
    if how == "text":
        rows[0]["relevance_score"] = "high"
    return rows


def packed(row: list[float]) -> str:
    """Return a vector in base64, as clients ask for it to save space."""
    return base64.b64encode(array("f", row).tobytes()).decode()


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


@lru_cache(maxsize=4096)
def _of_word(word: str, size: int) -> tuple[float, ...]:
    chance = random.Random(hashlib.sha256(word.encode("utf-8", "surrogatepass")).digest())
    return tuple(chance.gauss(0, 1) for _ in range(size))
