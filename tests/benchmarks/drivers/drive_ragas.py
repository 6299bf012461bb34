"""ragas: ``TestsetGenerator`` over ready chunks, single-hop queries, its default transforms.

One running loop, as in a notebook, and ragas' asynchronous client: of the ways it can be run, the fastest.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from importlib.metadata import version
from pathlib import Path

from openai import AsyncOpenAI
from ragas.embeddings import OpenAIEmbeddings
from ragas.llms import llm_factory
from ragas.run_config import RunConfig
from ragas.testset import TestsetGenerator
from ragas.testset.synthesizers.single_hop.specific import SingleHopSpecificQuerySynthesizer
from ragas.tokenizers import get_default_tokenizer


async def measure(task: dict) -> dict:
    get_default_tokenizer().encode("it may have to fetch its table first")
    started = time.perf_counter()
    client = AsyncOpenAI(base_url=task["base_url"], api_key="none")
    llm = llm_factory("gpt-4o-mini", client=client)
    generator = TestsetGenerator(llm=llm, embedding_model=OpenAIEmbeddings(client=client))
    testset = generator.generate_with_chunks(
        task["chunks"],
        testset_size=len(task["chunks"]),
        query_distribution=[(SingleHopSpecificQuerySynthesizer(llm=llm), 1.0)],
        run_config=RunConfig(max_workers=task["concurrency"]),
    )
    queries = [sample.eval_sample.user_input for sample in testset.samples]
    seconds = time.perf_counter() - started
    return {"seconds": seconds, "queries": sum(map(bool, queries)), "version": version("ragas")}


measured = asyncio.run(measure(json.loads(Path(sys.argv[1]).read_text("utf-8"))))
Path(sys.argv[2]).write_text(json.dumps(measured), encoding="utf-8")
