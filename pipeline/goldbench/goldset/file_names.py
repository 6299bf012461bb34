"""The names of all files of a run folder, and of what lies beside one; imports nothing that takes time."""

from __future__ import annotations

from pathlib import Path

from goldbench.formats.interchange_names import (
    BEIR_CARD,
    BEIR_CORPUS,
    BEIR_QUERIES,
    BEIR_TEST_LINES,
    BEIR_TEST_QRELS,
    TREC_QRELS,
    TREC_TOPICS,
)

MANIFEST = "manifest.json"
DATASET = "dataset.json"
CONFIG = "0-config.toml"
MEMBERS = ("needs", "unanswerable", "answers", "history", "standalone", "derived", "originals", "frequency", "traffic")
"""The members of ``dataset.json`` that only some sets have."""

DOCUMENTS = "0-documents.jsonl"
RELEVANCE = "0-relevance.jsonl"
"""What is relevant to each query whatever the chunking; only a rechunked set has it."""
RENAMED = "0-renamed.jsonl"
"""Ids that an import had to change, with what they are called here; written only when there are any."""
CHUNKS = "1-chunks.jsonl"
CANDIDATES = "2-candidates.jsonl"
QUERIES = "3-queries.jsonl"
UNLABELLED = "3-unlabelled.jsonl"
"""Queries that came without a label. Those for which a passage was found since are also in ``3-queries.jsonl``; the
others wait for judgments. Written only when there are any."""
UNANSWERABLE = "3-unanswerable.jsonl"
"""Queries that nothing in the corpus answers; written only when there are any."""
UNANSWERABLE_JUDGMENTS = "3-unanswerable-judgments.jsonl"
"""What the judge said about the passages most likely to answer these queries."""
REJECTIONS = "3-rejections.jsonl"
RETIRED = "3-retired.jsonl"
"""Queries that left the set when its documents changed; written only when there are any."""
POOL = "4-pool.jsonl"
JUDGMENTS = "4-judgments.jsonl"
CHECKS = "4-source-checks.jsonl"
"""Judgments of each query's source, made with the answer in sight."""
UNGRADED = "4-rejections.jsonl"
"""Queries that a grading left out."""
REJECTED = "5-rejections.jsonl"
"""Queries that a review left out."""

ADD = "add"
"""The stage of the manifest that counts queries added to a set."""
TEMPORARY = "goldbench-"
"""How the name of the temporary folder begins that holds a set without a folder of its own."""

OWN = "own"
USERS = "users"
"""The names of who wrote queries that came without a label: the owner of the set, or users."""

BEIR = "beir"
TREC = "trec"
CORPUS_COPY = f"{BEIR}/{BEIR_CORPUS}"
QUERIES_COPY = f"{BEIR}/{BEIR_QUERIES}"
QRELS_COPY = f"{BEIR}/{BEIR_TEST_QRELS}"
QRELS_LINES = f"{BEIR}/{BEIR_TEST_LINES}"
DATASET_CARD = f"{BEIR}/{BEIR_CARD}"
QRELS = f"{TREC}/{TREC_QRELS}"
TOPICS = f"{TREC}/{TREC_TOPICS}"
GIVEN_QRELS = f"{TREC}/qrels-given.txt"
"""The labels from before the first grading."""

UNREVIEWED = "unreviewed"
"""The folder where an applied review keeps what was there before."""
BY_QUERY = (QUERIES, POOL, JUDGMENTS, CHECKS)
"""The files whose records belong to single queries; `UNREVIEWED` keeps copies of them."""
UNREVIEWED_QRELS = f"{UNREVIEWED}/{TREC_QRELS}"
LEDGER = "review.sqlite"
"""The file of the cookies' key beside a set whose ledger is on a server."""
RUBRIC = "rubric.md"
"""What the grades mean, for the judge and for people; the user may edit it."""
CARD_JSON = "card.json"
CARD_MARKDOWN = "card.md"
RUNS = "runs"
"""The folder of the runs of users' systems, one ``NAME.trec`` each."""
BENCH = "bench"

FILES_OF_A_SET = (
    DATASET, CONFIG, DOCUMENTS, RELEVANCE, RENAMED, CHUNKS, CANDIDATES, QUERIES, UNLABELLED, UNANSWERABLE,
    UNANSWERABLE_JUDGMENTS, REJECTIONS, RETIRED, POOL, JUDGMENTS, CHECKS, UNGRADED, REJECTED,
    CORPUS_COPY, QUERIES_COPY, QRELS_COPY, QRELS_LINES, DATASET_CARD, QRELS, TOPICS, GIVEN_QRELS,
    UNREVIEWED_QRELS, *(f"{UNREVIEWED}/{name}" for name in BY_QUERY),
)  # fmt: skip
"""Everything that a manifest can list, and that a new set in the folder replaces. People's decisions, runs, experiments
and what users write are not part of it, nor is the card, which names the set that it was made for."""

ANSWERS = "answers.sqlite"
"""The store of model answers, beside the run folder so that several runs share it."""


def answers_beside(folder: Path) -> Path:
    """Return where the store of answers lies for a run folder; as short a path as the folder's, except for ``.``."""
    near = folder.parent
    real = folder.resolve().parent
    return (near if near.resolve() == real else real) / ANSWERS
