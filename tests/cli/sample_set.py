"""A small gold set with runs and people's labels, made of rules alone: the same bytes everywhere, no clock in them."""

from __future__ import annotations

import json
from pathlib import Path

LONG = "hybrid-of-words-and-vectors-reranked-twice"
WIDE = "词与向量"
"""Names of runs that are long, and of characters two columns wide."""

_PARTS = ("valve", "pump", "filter", "lamp", "probe", "cable", "drive", "motor", "clock", "shaft", "wheel", "brake")
_WORK = ("cleaned", "opened", "stored", "tested", "sealed", "dried", "locked", "painted", "cooled", "weighed")


def write_sample(folder: Path) -> None:
    """Write the set ``gold``, the runs ``a.trec``, ``b.trec`` and ``c.trec``, and the labels ``people.txt``."""
    corpus, queries, relevant = {}, {}, {}
    for place, part in enumerate(_PARTS):
        for turn, work in enumerate(_WORK[:4]):
            text = (
                f"The {part} is {work} every {turn + 2} weeks. Close the {_PARTS[place - 1]} first, and wait a minute."
            )
            corpus[f"{part}-{turn}"] = text
        queries[f"q{place:02}"] = f"How often must the {part} be {_WORK[place % 4]}?"
        relevant[f"q{place:02}"] = f"{part}-{place % 4}"
    gold = folder / "gold"
    gold.mkdir(parents=True)
    grades = {query: {doc: 3} for query, doc in relevant.items()}
    data = {
        "queries": queries,
        "corpus": corpus,
        "relevant_docs": {query: [doc] for query, doc in relevant.items()},
        "mode": "text",
        "relevance_scores": grades,
        "metadata": {"evidence_level": "smoke", "notice": "Queries of a rule. They ask one thing. Use them for tests."},
    }
    (gold / "dataset.json").write_text(json.dumps(data, ensure_ascii=False), encoding="utf-8")
    ids = sorted(corpus)
    for name, skill in (("a", 1), ("b", 3), ("c", 5)):
        lines = []
        for place, (query, doc) in enumerate(relevant.items()):
            others = [one for one in ids[place:] + ids[:place] if one != doc]
            rank = (place * skill) % 7
            found = [*others[:rank], doc, *others[rank:12]]
            lines += [f"{query} Q0 {one} {at + 1} {20 - at} t" for at, one in enumerate(found)]
        (folder / f"{name}.trec").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for name, shift in (("people", 0), ("model", 1)):
        lines = [
            f"{query} 0 {ids[(position * 3 + turn) % len(ids)]} {(position + turn + (shift if turn == 2 else 0)) % 4}"
            for position, query in enumerate(relevant)
            for turn in range(4)
        ]
        (folder / f"{name}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
