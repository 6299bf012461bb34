"""A build with a small model: one sentence at a time, other languages simulated, the same bytes from the store."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from goldbench.pipeline.build.writers import parameters, with_prompt_style
from goldbench.pipeline.config import PromptStyle, config_of
from tests.conftest import Goldbench
from tests.model_server.fixture import ServerHandle

ENGLISH = [
    "The pump house was built in 1888 by the engineers of the Karlsruhe works. Sand filters are washed every 12 hours.",
    "If the pressure gauge shows more than 4 bar, open the relief valve. The station has three motor valves of iron.",
    "The upper reservoir of Lindau holds drinking water for the village. The dam was raised in 1931 after a flood.",
]
GERMAN = (
    "Die Pumpe der Station wird vor dem ersten Frost entleert, damit das Wasser im Gehäuse nicht gefriert. Der Filter "
    "aus Sand wird jede Woche gespült, und der Wärter schreibt den Druck in das Buch der Anlage. Im Sommer "
    "öffnet die Gemeinde das alte Maschinenhaus, zeigt die Kessel und lässt Besucher das große Schwungrad bewegen."
)


def documents(folder: Path) -> None:
    folder.mkdir()
    filler = "Visitors come on Sundays, and the gate is open for everyone who likes old machines and quiet water."
    for number, text in enumerate(ENGLISH):
        (folder / f"en-{number}.md").write_text(f"# Station {number}\n\n{text} {filler}\n", encoding="utf-8")
    (folder / "faq.csv").write_text("title,text\nWhen does the gate open?,It is open on Sundays.\n", encoding="utf-8")
    (folder / "de.md").write_text(f"# Station\n\n{GERMAN}\n", encoding="utf-8")


def test_questions_come_with_their_sentence_and_other_languages_are_simulated(
    goldbench: Goldbench, tmp_path: Path, model_server: ServerHandle
):
    documents(tmp_path / "docs")
    given = ("build", "docs", "--base-url", model_server.base_url, "--model", "tiny-135m", "--chunk-size", 400)
    done = goldbench(*given, "--out", "run", "--queries", 4)
    assert "queries by generator: ask.v1 3, offline-v1 1" in done.stdout, done.stderr
    assert "the small model leaves out 1 question in titles; --generator simulated asks them" in done.stderr
    queries = [json.loads(line) for line in (tmp_path / "run/3-queries.jsonl").read_text(encoding="utf-8").splitlines()]
    for query in queries:
        if query["generator"] == "ask.v1":
            assert query["text"].endswith("?")
            assert query["quote"] == query["evidence"][0]["quote"]
            assert query["answer"] == query["quote"]
        else:
            assert query["language"] == "de"
    manifest = json.loads((tmp_path / "run/manifest.json").read_text(encoding="utf-8"))
    assert (manifest["evidence_level"], manifest["model"]) == ("smoke", "tiny-135m")
    body = model_server.requests()[0]["body"]
    assert [message["role"] for message in body["messages"]] == ["system", *["user", "assistant"] * 5, "user"]
    assert (body["temperature"], body["logprobs"]) == (0, True)

    asked = model_server.stats()["requests"]
    again = goldbench(*given, "--out", "again", "--queries", 4)
    assert again.returncode == 0, again.stderr
    assert model_server.stats()["requests"] == asked, "every answer is in the store"
    for name in ("3-queries.jsonl", "dataset.json"):
        assert (tmp_path / "run" / name).read_bytes() == (tmp_path / "again" / name).read_bytes()


def test_replies_that_cannot_be_used_are_failures_with_their_reason(
    goldbench: Goldbench, tmp_path: Path, model_server: ServerHandle
):
    documents(tmp_path / "docs")
    (tmp_path / "docs/de.md").unlink()
    model_server.script({"do": {"content": '{"question": "Who wrote a question of its own?"}'}})
    done = goldbench("build", "docs", "--base-url", model_server.base_url, "--model", "tiny-135m", "--out", "run")
    assert done.returncode != 0
    assert "does not fit ChosenQuestion" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("SmolLM2-135M-Instruct", 135e6), ("qwen2.5-0.5b", 5e8), ("llama3.2:1b", 1e9), ("gemma-3-270m", 270e6),
        ("mistral-7b-v0.3", 7e9), ("gpt-5-mini", None), ("qwen3", None), ("q4_k_m", None),
    ],
)  # fmt: skip
def test_the_size_of_a_model_is_read_from_its_name(name: str, count: float | None):
    assert parameters(name) == count


@pytest.mark.parametrize(
    ("url", "name", "style"),
    [
        ("http://127.0.0.1:8080/v1", "smollm2-135m", PromptStyle.SMALL),
        ("http://127.0.0.1:8080/v1", "llama-8b", PromptStyle.FULL),
        ("https://example.org/v1", "smollm2-135m", PromptStyle.FULL),
        ("http://127.0.0.1:8080/v1", "qwen3", PromptStyle.FULL),
    ],
)
def test_small_models_of_this_machine_are_asked_one_sentence_at_a_time(url: str, name: str, style: PromptStyle):
    config = config_of({"model": {"base_url": url, "name": name}}, {})
    assert with_prompt_style(config).generate.prompt_style is style
