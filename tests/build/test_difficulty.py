"""Every query says how hard it is; shares of difficulty steer what is written, and no selection by rank is silent."""

from __future__ import annotations

from pathlib import Path

import pytest

from goldbench.pipeline.goldset.gold_path import texts_of_documents
from goldbench.pipeline.retrieval.bm25 import BM25
from goldbench.pipeline.retrieval.system_settings import BM25Settings
from goldbench.pipeline.retrieval.tokens import tokenizer
from tests.build.test_build import lines
from tests.build.test_kinds import linked
from tests.conftest import Goldbench


@pytest.fixture
def goldbench(goldbench_inside: Goldbench) -> Goldbench:
    return goldbench_inside


def levels(run: Path) -> list[str]:
    return [row["difficulty"]["level"] for row in lines(run / "3-queries.jsonl")]  # type: ignore[index]


@pytest.mark.parametrize("recipe", ["terms", pytest.param("mixed", marks=pytest.mark.slow)])
def test_every_query_has_the_rank_that_a_bundled_system_gives_over_the_emitted_corpus(
    recipe: str, goldbench: Goldbench, tmp_path: Path
) -> None:
    linked(tmp_path / "docs", 24)
    done = goldbench("build", "docs", "--generator", "simulated", "--offline-recipe", recipe, "--out", "run")
    assert done.returncode == 0, done.stderr
    rows = lines(tmp_path / "run" / "3-queries.jsonl")
    settings = BM25Settings(language="en")
    bm25 = BM25(settings, tokens=tokenizer(settings.analyzer, language="en"))
    bm25.index(texts_of_documents(tmp_path / "run"))
    found = bm25.search({str(row["query_id"]): str(row["text"]) for row in rows}, k=100)
    assert rows
    for row in rows:
        ranking = list(found[str(row["query_id"])])
        rank = ranking.index(str(row["chunk_id"])) + 1 if row["chunk_id"] in ranking else None
        assert row["difficulty"]["ranks"]["bm25"] == rank  # type: ignore[index]
        assert row["difficulty"]["needed"] == 1  # type: ignore[index]
    card = goldbench("card", "run")
    assert card.returncode == 0, card.stderr
    assert "levels of difficulty" in (tmp_path / "run" / "card.md").read_text(encoding="utf-8")
