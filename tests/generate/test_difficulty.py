"""Every query says how hard it is for word matching."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from goldbench.goldset.gold_path import texts_of_documents
from goldbench.retrieval.bm25 import BM25
from goldbench.retrieval.system_settings import BM25Settings
from goldbench.retrieval.tokens import tokenizer
from tests.conftest import Goldbench
from tests.generate.test_build import lines
from tests.generate.test_kinds import linked


@pytest.fixture
def goldbench(goldbench_inside: Goldbench) -> Goldbench:
    return goldbench_inside


def test_every_query_has_the_rank_that_a_bundled_system_gives_over_the_emitted_corpus(
    goldbench: Goldbench, tmp_path: Path
) -> None:
    linked(tmp_path / "docs", 24)
    done = goldbench("build", "docs", "--generator", "simulated", "--out", "run")
    assert done.returncode == 0, done.stderr
    rows = lines(tmp_path / "run" / "3-queries.jsonl")
    settings = BM25Settings(language="en")
    bm25 = BM25(settings, tokens=tokenizer(settings.analyzer, language="en"))
    bm25.index(texts_of_documents(tmp_path / "run"))
    match = bm25.search({str(row["query_id"]): str(row["text"]) for row in rows}, k=100)
    assert rows
    for row in rows:
        ranking = list(match[str(row["query_id"])])
        rank = ranking.index(str(row["chunk_id"])) + 1 if row["chunk_id"] in ranking else None
        assert row["difficulty"]["ranks"]["bm25"] == rank  # type: ignore[index]
        assert row["difficulty"]["needed"] == 1  # type: ignore[index]


def test_a_set_that_word_matching_does_not_reach_is_told(goldbench: Goldbench, tmp_path: Path) -> None:
    chance = random.Random(1)
    words = [first + last for first in ("ba", "ko", "mi", "tel", "sur") for last in ("ran", "tis", "mel", "dor", "gun")]
    (tmp_path / "docs").mkdir()
    for number in range(250):
        text = f"The {' '.join(chance.choices(words, k=60))}. The {' '.join(chance.choices(words, k=30))}.\n"
        (tmp_path / "docs" / f"{number:03}.txt").write_text(text, encoding="utf-8")
    done = goldbench("build", "docs", "--out", "out", "--generator", "simulated", "--queries", "12")
    assert re.search(r"\d+ of 12 queries have no passage among the first 100 results of BM25", done.stderr)
