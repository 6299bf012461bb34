"""A larger model on this machine is named to who writes with the bundled one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from goldbench.pipeline.llm.catalogue import offered
from tests.conftest import Goldbench
from tests.llm.local.installed import needs_local_model

WEIGHTS = "application/vnd.ollama.image.model"


def keep_in_ollama(folder: Path, name: str, megabytes: int) -> None:
    path = folder / "manifests/registry.ollama.ai" / name
    path.parent.mkdir(parents=True)
    layers = [{"mediaType": WEIGHTS, "size": megabytes * 1_000_000}, {"mediaType": "text", "size": 10}]
    path.write_text(json.dumps({"layers": layers}))


def keep_in_hub(cache: Path, name: str) -> None:
    model = offered(name)
    assert model is not None
    folder = cache / f"models--{model.repository.replace('/', '--')}"
    (folder / "refs").mkdir(parents=True)
    (folder / "refs/main").write_text("abc")
    (folder / "snapshots/abc").mkdir(parents=True)
    (folder / "snapshots/abc" / model.file).write_bytes(b"GGUF")


@pytest.fixture
def advice(goldbench: Goldbench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """Return what a build with the bundled model says about larger ones."""
    needs_local_model()
    monkeypatch.setenv("OLLAMA_MODELS", str(tmp_path / "ollama"))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    (tmp_path / "note.txt").write_text("The circulation pump starts when the tank falls below forty litres of water.")

    def build() -> list[str]:
        done = goldbench("build", "note.txt", "--model", "local", "--queries", 1, "--out", "set")
        return [line for line in done.stderr.splitlines() if "larger model" in line]

    return build


def test_the_largest_model_of_ollama_that_fits_is_named_with_its_server(
    advice: Callable[[], list[str]], tmp_path: Path
) -> None:
    keep_in_ollama(tmp_path / "ollama", "library/small/1b", 100)
    keep_in_ollama(tmp_path / "ollama", "somebody/larger/2b", 200)
    keep_in_ollama(tmp_path / "ollama", "library/nomic-embed-text/latest", 300)
    keep_in_ollama(tmp_path / "ollama", "library/huge/1000b", 10_000_000)
    broken = tmp_path / "ollama/manifests/registry.ollama.ai/library/broken"
    broken.mkdir()
    (broken / "latest").write_text("[]")
    (line,) = advice()
    assert "--model somebody/larger:2b --base-url http://127.0.0.1:11434/v1" in line


def test_nothing_is_named_where_nothing_is(advice: Callable[[], list[str]]) -> None:
    assert advice() == []


def test_a_model_in_the_cache_of_the_hub_is_named(advice: Callable[[], list[str]], tmp_path: Path) -> None:
    keep_in_hub(tmp_path / "hub", "qwen2.5-0.5b")
    (line,) = advice()
    assert "--model qwen2.5-0.5b" in line
