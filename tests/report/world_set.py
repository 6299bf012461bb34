"""A small set in Arabic, Chinese and German, with Markdown and tables, and the runs of two systems with mixed names."""

from __future__ import annotations

import json
from pathlib import Path

from goldbench.formats.runs.trec import write_run
from goldbench.measures.names import parse_measures
from goldbench.records.scorecard import Method
from goldbench.score.page_data import write_report
from goldbench.score.runs import load_gold, load_run

ARABIC_SYSTEM = "نظام BM25 (النسخة 2)!"
SYSTEMS = (ARABIC_SYSTEM, "dense v1.0")
ARABIC_QUERY = "متى أُعيد بناء الجسر القديم (Old Bridge) في 2004؟"
ARABIC_PASSAGE = (
    "أُعيد بناء الجسر القديم (Old Bridge) في المدينة سنة 2004، بعد حرب دامت 3 سنوات.\n"
    "تقول UNESCO إنه «تراث عالمي»؛ طوله 29 مترًا (95 ft)!"
)
TABLE = "## Preise\n\n| Größe | Preis |\n|---|---|\n| **klein** | 3 € |\n| groß | 5 € |\n\nAlle Preise mit Steuer."
LONG = "水泵每天运行。" * 2_000

QUERIES = {
    "ar-1": ARABIC_QUERY,
    "ar-2": "كم طول الجسر؟",
    "zh-1": "水泵什么时候维修？",
    "zh-2": "谁修理了水泵？",
    "de-1": "Was kostet die große Größe?",
    "de-2": "Wann öffnet das Freibad?",
}
CORPUS = {
    "ar-bridge": ARABIC_PASSAGE,
    "ar-other": "النهر طويل، وعليه جسور كثيرة.",
    "zh-pump": "水泵在星期二维修，由王工负责。",
    "zh-long": LONG,
    "de-table": TABLE,
    "de-pool": "Das Freibad öffnet um 9 Uhr; sonntags erst um 10 Uhr.",
    "de-html": "<script>window.broken=1</script> **fett** <img src=x onerror='window.broken=1'>",
}
RELEVANT = {
    "ar-1": ["ar-bridge"],
    "ar-2": ["ar-bridge"],
    "zh-1": ["zh-pump"],
    "zh-2": ["zh-pump"],
    "de-1": ["de-table"],
    "de-2": ["de-pool"],
}


def write_world(folder: Path) -> Path:
    """Write the set and a run of each system, and return the folder; the second system misses half of the queries."""
    dataset = {"queries": QUERIES, "corpus": CORPUS, "relevant_docs": RELEVANT, "mode": "text"}
    (folder / "dataset.json").write_text(json.dumps(dataset), encoding="utf-8")
    everything = list(CORPUS)
    for place, name in enumerate(("first", "second")):
        run = {}
        for number, (query_id, relevant) in enumerate(RELEVANT.items()):
            own = [doc_id for doc_id in everything if doc_id[:2] == query_id[:2] and doc_id not in relevant]
            wanted = [*relevant, *own] if number % 2 == 0 or place == 0 else [*own, "de-html"]
            run[query_id] = {doc_id: float(10 - rank) for rank, doc_id in enumerate([*wanted, "de-html"])}
        write_run(folder / f"{name}.trec", run, tag=name)
    return folder


def world_page(folder: Path) -> Path:
    """Write the page of scores of the set, and return its path."""
    write_world(folder)
    gold = load_gold(folder)
    runs = {name: load_run(folder / f"{file}.trec") for name, file in zip(SYSTEMS, ("first", "second"), strict=True)}
    method = Method(missing="zero", scores="float64", permutations=200, resamples=200)
    path = folder / "scores.html"
    write_report(path, gold, runs, parse_measures(["ndcg@10", "mrr@10"]), match="id", method=method)
    return path
