"""The names of files that other tools expect in a BEIR folder and beside TREC judgments."""

BEIR_CORPUS = "corpus.jsonl"
BEIR_QUERIES = "queries.jsonl"
BEIR_QRELS = "qrels"
"""The folder of a BEIR folder that holds one file of judgments per split."""
BEIR_TEST_QRELS = f"{BEIR_QRELS}/test.tsv"
BEIR_LOOSE_QRELS = "qrels.tsv"
"""Judgments beside the corpus, as some BEIR folders have them."""

TREC_QRELS = "qrels.txt"
TREC_TOPICS = "topics.tsv"
