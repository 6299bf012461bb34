"""A small gold set, and systems of our own that say when they were asked."""

from __future__ import annotations

import json
import random
from pathlib import Path

WORDS = [
    "valve",
    "pump",
    "filter",
    "sensor",
    "relay",
    "cable",
    "timer",
    "gasket",
    "nozzle",
    "meter",
    "battery",
    "panel",
]

SYSTEMS = """
import time
from pathlib import Path

def _told(query):
    with open("asked.txt", "a", encoding="utf-8") as file:
        file.write(query + "\\n")

def first(query, k):
    _told(query)
    return ["d00", "d01"][:k]

def slow(query, k):
    _told(query)
    time.sleep(0.06)
    return ["d01"]

def broken(query, k):
    raise ValueError(query)
"""


def write_bench_gold(folder: Path, *, smoke: bool = False) -> Path:
    """Twelve queries of two words, each with one relevant passage among 24; passages share words."""
    corpus = {f"d{number:02}": _passage(number) for number in range(24)}
    queries = {f"q{number:02}": f"{WORDS[number]} {WORDS[number * 5 % 12]}" for number in range(12)}
    gold = {
        "queries": queries,
        "corpus": corpus,
        "relevant_docs": {f"q{number:02}": [f"d{number:02}"] for number in range(12)},
        "mode": "text",
    }
    if smoke:
        gold["metadata"] = {"evidence_level": "smoke", "notice": "Made up by a machine."}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "manifest.json").write_text("{}", encoding="utf-8")
    (folder / "dataset.json").write_text(json.dumps(gold), encoding="utf-8")
    (folder.parent / "ours.py").write_text(SYSTEMS, encoding="utf-8")
    return folder


def _passage(number: int) -> str:
    """Words of which most belong to the query of this number, if there is one; no two passages score the same."""
    draw = random.Random(number)
    own = [WORDS[number % 12], WORDS[number * 5 % 12]]
    return " ".join(draw.choice(own if number < 12 and draw.random() < 0.85 else WORDS) for _ in range(5 + number))


def asked(folder: Path) -> list[str]:
    """The queries that our own systems were asked, in order."""
    path = folder / "asked.txt"
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []
