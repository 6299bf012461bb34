"""BEIR folders: ``corpus.jsonl``, ``queries.jsonl`` and ``qrels/<split>.tsv`` (or ``qrels.tsv`` beside them)."""

from __future__ import annotations

from pathlib import Path

from pipeline.errors import InputError
from pipeline.formats.benchmarks.collection import Chosen, Collection, choose, entries, qrels, topics
from pipeline.text.display import shown


def read_beir(folder: Path, chosen: Chosen) -> Collection:
    """Return the collection in a BEIR folder; the split is ``test`` unless named.

    Raises:
        InputError: a file is missing.
        UsageError: there are several to choose from.
    """
    if not folder.is_dir():
        raise InputError(shown(folder), "is no folder with corpus.jsonl, queries.jsonl and qrels")
    corpus = choose(folder, chosen.corpus, ("corpus.jsonl", "corpus.jsonl.gz"), what="corpus")
    queries = choose(folder, chosen.queries, ("queries.jsonl", "queries.jsonl.gz"), what="queries")
    patterns: tuple[str, ...] = ("qrels/*.tsv", "qrels/*.tsv.gz", "qrels.tsv", "qrels.tsv.gz")
    if chosen.split is None and (folder / "qrels" / "test.tsv").is_file():
        patterns = ("qrels/test.tsv",)
    judged = choose(folder, chosen.qrels, patterns, what="qrels", split=chosen.split)
    return Collection(
        kind="beir",
        documents=lambda: entries(corpus),
        queries=lambda: topics(queries),
        judgments=lambda: qrels(judged),
        names=(shown(corpus), shown(queries), shown(judged)),
        files=(corpus, queries, judged),
        joins_titles=True,
    )
