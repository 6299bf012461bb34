"""LlamaIndex: nodes with the queries to evaluate, and one file that both of its classes for such sets read.

LlamaIndex 0.12 has ``EmbeddingQAFinetuneDataset`` (queries, corpus, relevant passages) and ``LabelledRagDataset``
(queries with reference answers). 0.14 has dropped both; its ``RetrieverEvaluator`` takes queries and ids one by one.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from goldbench.exports.exported_set import ExportedQuery, ExportedSet
from goldbench.exports.json_files import write_json
from goldbench.exports.packages import package


class LlamaIndexSet(NamedTuple):
    """A set in classes of LlamaIndex.

    ``nodes`` are the passages to index, each a ``TextNode`` with the id of the passage. ``queries`` and
    ``relevant_docs`` are what ``RetrieverEvaluator.aevaluate`` takes, by query id. ``dataset`` is an
    ``EmbeddingQAFinetuneDataset``, None where LlamaIndex has no such class any more.
    """

    nodes: list[Any]
    queries: dict[str, str]
    relevant_docs: dict[str, list[str]]
    dataset: Any


def write(exported: ExportedSet, place: Path) -> None:
    """Write the members of both classes and, beside them, grades, answers and metadata.

    Args:
        exported: The set.
        place: The new file.
    """
    queries, relevant_docs = _queries(exported), _relevant(exported)
    value = {
        "queries": queries,
        "corpus": dict(exported.corpus()),
        "relevant_docs": relevant_docs,
        "mode": "text",
        "examples": [_example(query) for query in exported.queries],
        "relevance_scores": {query.query_id: dict(query.grades) for query in exported.queries},
        "answers": {query.query_id: _answer(query) for query in exported.queries if query.answer is not None},
        "metadata": dict(exported.metadata),
    }
    write_json(place, value)


def nodes_and_queries(exported: ExportedSet) -> LlamaIndexSet:
    """Return the set in classes of LlamaIndex.

    Raises:
        MissingPackage: llama-index-core is not installed, or cannot be imported.
    """
    with package("llama-index-core"):
        from llama_index.core import evaluation
        from llama_index.core.schema import TextNode
    nodes = [TextNode(id_=doc_id, text=text) for doc_id, text in exported.corpus()]
    queries, relevant_docs = _queries(exported), _relevant(exported)
    kind = getattr(evaluation, "EmbeddingQAFinetuneDataset", None)
    corpus = {node.node_id: node.text for node in nodes}
    dataset = kind and kind(queries=queries, corpus=corpus, relevant_docs=relevant_docs)
    return LlamaIndexSet(nodes, queries, relevant_docs, dataset)


def _queries(exported: ExportedSet) -> dict[str, str]:
    return {query.query_id: query.alone for query in exported.queries}


def _relevant(exported: ExportedSet) -> dict[str, list[str]]:
    return {query.query_id: [context.doc_id for context in query.contexts] for query in exported.queries}


def _example(query: ExportedQuery) -> dict[str, Any]:
    contexts = [context.text for context in query.contexts]
    return {"query": query.alone, "reference_contexts": contexts, "reference_answer": query.answer or ""}


def _answer(query: ExportedQuery) -> dict[str, Any]:
    return {"text": query.answer, "evidence": [{"quote": one.text, "chunk_id": one.doc_id} for one in query.evidence]}
