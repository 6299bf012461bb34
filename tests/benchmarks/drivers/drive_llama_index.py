"""LlamaIndex: ``pairs``, queries with the chunk each is about, or ``questions``, without labels.

``pairs`` is what ``generate_question_context_pairs`` became, in llama-index-finetuning: one request after another,
concurrency cannot be told. ``questions`` is the deprecated ``DatasetGenerator`` of the core: all requests at once.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from importlib.metadata import version
from pathlib import Path

from llama_index.core.schema import TextNode
from llama_index.llms.openai_like import OpenAILike


def pairs(llm: OpenAILike, nodes: list[TextNode]) -> tuple[float, int]:
    from llama_index.finetuning import generate_qa_embedding_pairs

    started = time.perf_counter()
    dataset = generate_qa_embedding_pairs(
        nodes, llm=llm, num_questions_per_chunk=1, output_path="pairs.json", verbose=False
    )
    return time.perf_counter() - started, len(dataset.queries)


def questions(llm: OpenAILike, nodes: list[TextNode]) -> tuple[float, int]:
    from llama_index.core.evaluation import DatasetGenerator

    started = time.perf_counter()
    generator = DatasetGenerator(nodes, llm=llm, num_questions_per_chunk=1)
    generate_questions = generator.generate_questions_from_nodes()
    return time.perf_counter() - started, len(generate_questions)


def main(task: dict, answer: Path, way: str) -> None:
    warnings.simplefilter("ignore", DeprecationWarning)
    nodes = [TextNode(text=text, id_=f"c{number}") for number, text in enumerate(task["chunks"])]
    llm = OpenAILike(model="bench", api_base=task["base_url"], api_key="none", is_chat_model=True)
    seconds, queries = {"pairs": pairs, "questions": questions}[way](llm, nodes)
    package = {"pairs": "llama-index-finetuning", "questions": "llama-index-core"}[way]
    measured = {"seconds": seconds, "queries": queries, "version": version(package)}
    answer.write_text(json.dumps(measured), encoding="utf-8")


main(json.loads(Path(sys.argv[1]).read_text("utf-8")), Path(sys.argv[2]), sys.argv[3])
