"""The names of files that other tools expect in a BEIR folder and beside TREC judgments."""

BEIR_CORPUS = "corpus.jsonl"
BEIR_QUERIES = "queries.jsonl"
BEIR_QRELS = "qrels"
"""The folder of a BEIR folder that holds one file of judgments per split."""
BEIR_TEST_QRELS = f"{BEIR_QRELS}/test.tsv"
BEIR_TEST_LINES = f"{BEIR_QRELS}/test.jsonl"
"""The judgments of ``BEIR_TEST_QRELS`` again, for ``datasets`` and MTEB."""
JUDGMENT_COLUMNS = ("query-id", "corpus-id", "score")
"""The columns of BEIR's judgments."""
BEIR_CARD = "README.md"
"""The dataset card."""
"""Copies of the JSON Lines, only in a folder whose ids or texts ``datasets`` would misread as times."""
BEIR_LOOSE_QRELS = "qrels.tsv"
"""Judgments beside the corpus, as some BEIR folders have them."""

TREC_QRELS = "qrels.txt"
TREC_TOPICS = "topics.tsv"

EXPORT_ABOUT = "goldbench.json"
"""What a reader of an exported set must know of it, beside its files."""

AUTORAG_QA = "qa.parquet"
AUTORAG_CORPUS = "corpus.parquet"
"""The tables of AutoRAG."""
