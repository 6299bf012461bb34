"""Every query says how hard it is; shares of difficulty steer what is written, and no selection by rank is silent."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from goldbench.config import load_config
from goldbench.goldset.gold_path import texts_of_documents
from goldbench.records.query import Constraints, Level
from goldbench.retrieval.bm25 import BM25
from goldbench.retrieval.system_settings import BM25Settings
from goldbench.retrieval.tokens import tokenizer
from goldbench.stages.generate import describe_constraints
from tests.conftest import Goldbench
from tests.generate.test_build import lines
from tests.generate.test_dry_run import total
from tests.generate.test_kinds import linked
from tests.model_server.fixture import ServerHandle

LONG = ("--model", "m", "--prompt-style", "long")


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


SHARES = {"easy": 0.3, "medium": 0.4, "hard": 0.3}


def asked(folder: Path, server: ServerHandle | None, shares: dict[str, float] = SHARES, **more: str) -> tuple[str, ...]:
    """Write the configuration of a build and return its arguments."""
    rows = "\n".join(f"{level} = {share}" for level, share in shares.items())
    tables = "\n".join(f"[{table}]\n{text}" for table, text in more.items())
    (folder / "goldbench.toml").write_text(f"[generate.difficulty]\n{rows}\n{tables}\n")
    model = ("--base-url", server.base_url, *LONG) if server else ("--generator", "simulated")
    return ("build", "docs", "--config", "goldbench.toml", *model)


def manifest(run: Path) -> dict[str, Any]:
    return dict(json.loads((run / "manifest.json").read_text(encoding="utf-8")))


def test_without_shares_the_prompt_is_what_it_was_and_nothing_is_said() -> None:
    plain, config = describe_constraints(Constraints()), load_config(None, {"generate": {"generator": "simulated"}})
    assert plain == "Also:\n- The query has 2 to 40 words."
    assert all(describe_constraints(Constraints(), level).startswith(f"{plain}\n- ") for level in Level)
    assert "difficulty" not in config.shaping()["generate"]


def test_shares_are_met_exactly_by_a_writer_who_can_and_the_plan_holds(
    goldbench: Goldbench, tmp_path: Path, model_server: ServerHandle
) -> None:
    linked(tmp_path / "docs", 30)
    command = (*asked(tmp_path, model_server), "--out", "run", "--queries", 20)
    requests, _, input_tokens, _ = total(goldbench(*command, "--dry-run").stdout)
    done = goldbench(*command)
    assert done.returncode == 0, done.stderr
    assert Counter(levels(tmp_path / "run")) == {"easy": 6, "medium": 8, "hard": 6}
    stats = model_server.stats()
    assert stats["requests"] == requests == 20
    assert input_tokens == pytest.approx(stats["input_tokens"], rel=0.1)
    told = manifest(tmp_path / "run")["difficulty"]
    assert {level: (count["wanted"], count["kept"]) for level, count in told["levels"].items()} == {
        "easy": (6, 6),
        "medium": (8, 8),
        "hard": (6, 6),
    }
    assert told["set_aside"] == 0
    assert "Difficulty is not as asked for" not in done.stderr


def test_what_cannot_be_met_is_one_line_the_count_is_reached_and_selection_is_told_everywhere(
    goldbench: Goldbench, tmp_path: Path, model_server: ServerHandle
) -> None:
    linked(tmp_path / "docs", 90)
    model_server.script(levels={"bad": 1})
    done = goldbench(*asked(tmp_path, model_server, {"easy": 0.2, "hard": 0.8}), "--out", "run", "--queries", 30)
    assert done.returncode == 0, done.stderr
    assert Counter(levels(tmp_path / "run")) == {"easy": 30}
    assert done.stderr.count("Difficulty is not as asked for: easy 30 of 6, medium 0 of 0, hard 0 of 24") == 1
    assert model_server.stats()["requests"] <= 36  # one wave tells that nothing hard is written
    check_told(goldbench, tmp_path, aside=manifest(tmp_path / "run")["difficulty"]["set_aside"])


def check_told(goldbench: Goldbench, folder: Path, *, aside: int) -> None:
    """Manifest, card, rejections and scores all tell of the selection."""
    told = manifest(folder / "run")["difficulty"]
    assert told["systems"] == ["bm25", "bm25-ngrams"]
    assert told["set_aside"] == aside
    rejected = [row for row in lines(folder / "run" / "3-rejections.jsonl") if row["filter"] == "difficulty"]
    assert len(rejected) == aside
    assert all(row["candidate"] for row in rejected)
    card = goldbench("card", "run")
    assert card.returncode == 0, card.stderr
    assert "selected by the rank" in (folder / "run" / "card.md").read_text(encoding="utf-8")
    first = lines(folder / "run" / "3-queries.jsonl")[0]
    (folder / "bm25.trec").write_text(f"{first['query_id']} Q0 {first['chunk_id']} 1 1.0 bm25\n")
    scored = goldbench("score", "run", "--run", "bm25.trec")
    assert scored.returncode == 0, scored.stderr
    warned = " ".join(scored.stderr.split())
    assert warned.count("scores of BM25 and other systems that match words are biased on this set") == 1
    assert "By difficulty of the query" in scored.stdout


def test_candidates_that_no_share_needs_are_set_aside_listed_and_counted(
    goldbench: Goldbench, tmp_path: Path, model_server: ServerHandle
) -> None:
    linked(tmp_path / "docs", 90)
    model_server.script(levels={"bad": 0.5})
    done = goldbench(*asked(tmp_path, model_server), "--out", "run", "--queries", 20)
    assert done.returncode == 0, done.stderr
    assert Counter(levels(tmp_path / "run")) == {"easy": 6, "medium": 8, "hard": 6}
    aside = manifest(tmp_path / "run")["difficulty"]["set_aside"]
    assert aside > 0
    check_told(goldbench, tmp_path, aside=aside)
    assert goldbench("validate", "run").returncode == 0


def test_a_query_of_too_many_words_of_its_passage_is_worded_again_once(
    goldbench: Goldbench, tmp_path: Path, model_server: ServerHandle
) -> None:
    linked(tmp_path / "docs", 30)
    model_server.script(levels={"copies": True})
    done = goldbench(*asked(tmp_path, model_server, {"hard": 1}), "--out", "run", "--queries", 6)
    assert done.returncode == 0, done.stderr
    rows = lines(tmp_path / "run" / "3-queries.jsonl")
    assert [row["difficulty"]["level"] for row in rows] == ["hard"] * 6  # type: ignore[index]
    assert all(row["first_text"] for row in rows)
    assert model_server.stats()["requests"] == 12


def test_queries_that_need_several_passages_count_as_what_they_measure(
    goldbench: Goldbench, tmp_path: Path, model_server: ServerHandle
) -> None:
    linked(tmp_path / "docs", 30)
    kinds = {"generate.kinds": "fact = 0.6\nmulti_hop = 0.4"}
    done = goldbench(*asked(tmp_path, model_server, **kinds), "--out", "run", "--queries", 10)
    assert done.returncode == 0, done.stderr
    rows = lines(tmp_path / "run" / "3-queries.jsonl")
    assert Counter(str(row["kind"]) for row in rows) == {"fact": 6, "multi_hop": 4}
    joined = [row["difficulty"] for row in rows if row["kind"] == "multi_hop"]
    assert all(one["needed"] == 2 and one["level"] != "easy" for one in joined)  # type: ignore[index]
    assert Counter(levels(tmp_path / "run")) == {"easy": 3, "medium": 4, "hard": 3}


def test_simulated_queries_are_selected_and_a_recipe_that_holds_words_out_ignores_the_shares(
    goldbench: Goldbench, tmp_path: Path
) -> None:
    linked(tmp_path / "docs", 60)
    command = asked(tmp_path, None, {"easy": 0.5, "medium": 0.5})
    done = goldbench(*command, "--out", "run", "--queries", 8)
    assert done.returncode == 0, done.stderr
    assert "their wording is not steered" in done.stderr
    assert len(levels(tmp_path / "run")) == 8
    check_told(goldbench, tmp_path, aside=manifest(tmp_path / "run")["difficulty"]["set_aside"])
    ignored = goldbench(*command, "--offline-recipe", "mixed", "--out", "other", "--queries", 8)
    assert "[generate.difficulty] is ignored: the recipe mixed" in ignored.stderr
    assert manifest(tmp_path / "other")["difficulty"] is None


def test_a_set_that_word_matching_does_not_reach_is_told(goldbench: Goldbench, tmp_path: Path) -> None:
    chance = random.Random(1)
    words = [first + last for first in ("ba", "ko", "mi", "tel", "sur") for last in ("ran", "tis", "mel", "dor", "gun")]
    (tmp_path / "docs").mkdir()
    for number in range(250):
        text = f"The {' '.join(chance.choices(words, k=60))}. The {' '.join(chance.choices(words, k=30))}.\n"
        (tmp_path / "docs" / f"{number:03}.txt").write_text(text, encoding="utf-8")
    done = goldbench("build", "docs", "--out", "out", "--generator", "simulated", "--queries", "12")
    assert re.search(r"\d+ of 12 queries have no passage among the first 100 results of BM25", done.stderr)
