"""A build that asks in short: numbered sentences, one of them asked for, the sentence of the answer as evidence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from goldbench.config import PromptStyle, config_of
from goldbench.generate.writers import with_prompt_style
from goldbench.llm.catalogue import parameters_in
from tests.conftest import Goldbench
from tests.model_server.fixture import ServerHandle

ENGLISH = [
    "The pump house was built in 1888 by the engineers of the Karlsruhe works. Sand filters are washed every 12 hours.",
    "If the pressure gauge shows more than 4 bar, open the relief valve. The station has three motor valves of iron.",
    "The upper reservoir of Lindau holds drinking water for the village. The dam was raised in 1931 after a flood.",
]
FILLER = "Visitors come on Sundays, and the gate is open for everyone who likes old machines and quiet water."
GERMAN = (
    "Die Pumpe der Station wird vor dem ersten Frost entleert, damit das Wasser im Gehäuse nicht gefriert. Der Filter "
    "aus Sand wird jede Woche gespült, und der Wärter schreibt den Druck in das Buch der Anlage. Im Sommer "
    "öffnet die Gemeinde das alte Maschinenhaus, zeigt die Kessel und lässt Besucher das große Schwungrad bewegen."
)
QUESTIONS = '[generate]\nprompt_style = "short"\n[generate.styles]\nquestion = 1\n'
POINTING = {"query": "What does this passage say about the author?", "sentence": 1, "answer": "the Karlsruhe works"}
"""A reply whose query is rejected."""


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    for number, text in enumerate(ENGLISH):
        (folder / f"en-{number}.md").write_text(f"# Station {number}\n\n{text} {FILLER}\n", encoding="utf-8")
    (folder / "de.md").write_text(f"# Station\n\n{GERMAN}\n", encoding="utf-8")
    (tmp_path / "short.toml").write_text(QUESTIONS, encoding="utf-8")
    return folder


def build(server: ServerHandle, model: str, out: str = "run") -> tuple[str | int, ...]:
    return ("build", "docs", "--base-url", server.base_url, "--model", model, "--out", out, "--config", "short.toml")


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_every_language_is_asked_with_its_own_examples_and_answered_by_a_sentence_of_the_passage(
    goldbench: Goldbench, documents: Path, tmp_path: Path, model_server: ServerHandle
) -> None:
    done = goldbench(*build(model_server, "any-model"), "--queries", 4)
    assert done.returncode == 0, done.stderr
    queries = lines(tmp_path / "run/3-queries.jsonl")
    assert {query["language"] for query in queries} == {"en", "de"}
    for query in queries:
        assert query["generator"] == "ask.v1"
        assert query["quote"] == query["evidence"][0]["quote"]
        assert query["quote"] in " ".join([*ENGLISH, FILLER, GERMAN])
        assert query["answer"] in query["quote"]
    bodies = [request["body"]["messages"] for request in model_server.requests()]
    asked_in = {
        language: [b for b in bodies if f"{language}, sentence " in b[-1]["content"]]
        for language in ("German (de)", "English (en)")
    }
    for language, asked in asked_in.items():
        assert asked, language
        assert all(f"{language}, sentence " in message["content"] for b in asked for message in b[1::2])
        assert len({json.dumps(b[:-1]) for b in asked}) == 1, "all but the passage is the same, for caches of prefixes"
    manifest = json.loads((tmp_path / "run/manifest.json").read_text(encoding="utf-8"))
    assert manifest["evidence_level"] == "model"

    asked = model_server.stats()["requests"]
    again = goldbench(*build(model_server, "any-model", "again"), "--queries", 4)
    assert again.returncode == 0, again.stderr
    assert model_server.stats()["requests"] == asked, "every answer is in the store"
    for name in ("3-queries.jsonl", "dataset.json"):
        assert (tmp_path / "run" / name).read_bytes() == (tmp_path / "again" / name).read_bytes()


def test_a_tiny_model_is_asked_about_english_passages_alone_and_its_queries_are_for_a_try(
    goldbench: Goldbench, documents: Path, tmp_path: Path, model_server: ServerHandle
) -> None:
    goldbench(*build(model_server, "tiny-135m"), "--queries", 4)
    queries = lines(tmp_path / "run/3-queries.jsonl")
    assert {query["language"] for query in queries} == {"en"}
    (left_out,) = (item for item in lines(tmp_path / "run/3-rejections.jsonl") if item["chunk_id"].startswith("de"))
    assert (left_out["filter"], left_out.get("candidate")) == ("foreign-language", None)
    assert json.loads((tmp_path / "run/manifest.json").read_text(encoding="utf-8"))["evidence_level"] == "smoke"


def test_another_sentence_is_asked_for_if_the_first_query_is_rejected(
    goldbench: Goldbench, documents: Path, tmp_path: Path, model_server: ServerHandle
) -> None:
    for path in documents.iterdir():
        path.unlink()
    (documents / "long.md").write_text(f"# Station\n\n{' '.join(ENGLISH)} {FILLER}\n", encoding="utf-8")
    model_server.script({"when": {"times": 1}, "do": {"content": json.dumps(POINTING)}})
    done = goldbench(*build(model_server, "any-model"), "--queries", 1)
    assert done.returncode == 0, done.stderr
    first, second = (request["body"]["messages"][-1]["content"] for request in model_server.requests())
    assert first.rpartition("\n")[0] == second.rpartition("\n")[0], "the same passage"
    assert first != second, "another sentence"
    (rejected,) = lines(tmp_path / "run/3-rejections.jsonl")
    assert rejected["candidate"]["text"] == POINTING["query"]
    assert len(lines(tmp_path / "run/3-queries.jsonl")) == 1


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("SmolLM2-135M-Instruct", 135e6), ("qwen2.5-0.5b", 5e8), ("gpt-5-mini", None), ("q4_k_m", None),
    ],
)  # fmt: skip
def test_the_size_of_a_model_is_read_from_its_name(name: str, count: float | None) -> None:
    assert parameters_in(name) == count


@pytest.mark.parametrize(
    ("url", "name", "style"),
    [
        ("https://example.org/v1", "llama-8b", PromptStyle.SHORT),
        ("https://example.org/v1", "qwen2.5-14b", PromptStyle.LONG),
        ("http://127.0.0.1:8080/v1", "qwen3", PromptStyle.LONG),
        (None, "local", PromptStyle.SHORT),
    ],
)
def test_a_model_known_to_be_small_is_asked_in_short_at_first(url: str | None, name: str, style: PromptStyle) -> None:
    config = config_of({"model": {"base_url": url, "name": name}}, {})
    assert with_prompt_style(config).generate.prompt_style is style


@pytest.mark.parametrize(("wanted", "kept"), [(3, False), (4, True)])
def test_a_query_that_the_model_was_unsure_of_is_taken_only_if_the_others_are_too_few(
    goldbench: Goldbench, documents: Path, tmp_path: Path, model_server: ServerHandle, wanted: int, kept: bool
) -> None:
    model_server.script({"when": {"contains": "[1] # Station 1"}, "do": {"logprob": -0.9}})
    done = goldbench(*build(model_server, "any-model"), "--queries", wanted)
    assert done.returncode == 0, done.stderr
    queries = lines(tmp_path / "run/3-queries.jsonl")
    assert len(queries) == wanted
    assert any(query["mean_logprob"] < -0.8 for query in queries) is kept
    assert ('"unlikely"' in (tmp_path / "run/3-rejections.jsonl").read_text(encoding="utf-8")) is not kept
