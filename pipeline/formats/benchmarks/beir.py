"""BEIR folders: ``corpus.jsonl``, ``queries.jsonl`` and ``qrels/<split>.tsv`` (or ``qrels.tsv`` beside them)."""

from __future__ import annotations

from pathlib import Path

from pipeline.errors import InputError
from pipeline.formats.benchmarks.collection import Chosen, Collection, choose, entries, qrels, topics
from pipeline.formats.interchange_names import (
    BEIR_CORPUS,
    BEIR_LOOSE_QRELS,
    BEIR_QRELS,
    BEIR_QUERIES,
    BEIR_TEST_QRELS,
)
from pipeline.text.display import shown


def read_beir(folder: Path, chosen: Chosen) -> Collection:
    """Return the collection in a BEIR folder; the split is ``test`` unless named.

    Raises:
        InputError: a file is missing.
        UsageError: there are several to choose from.
    """
    if not folder.is_dir():
        raise InputError(shown(folder), f"is no folder with {BEIR_CORPUS}, {BEIR_QUERIES} and {BEIR_QRELS}")
    corpus = choose(folder, chosen.corpus, (BEIR_CORPUS, f"{BEIR_CORPUS}.gz"), what="corpus")
    queries = choose(folder, chosen.queries, (BEIR_QUERIES, f"{BEIR_QUERIES}.gz"), what="queries")
    split = f"{BEIR_QRELS}/*.tsv"
    patterns: tuple[str, ...] = (split, f"{split}.gz", BEIR_LOOSE_QRELS, f"{BEIR_LOOSE_QRELS}.gz")
    if chosen.split is None and (folder / BEIR_TEST_QRELS).is_file():
        patterns = (BEIR_TEST_QRELS,)
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
