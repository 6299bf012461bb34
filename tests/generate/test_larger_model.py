"""A larger model on this machine is named to who writes with the bundled one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from goldbench.llm.catalogue import offered
from tests.conftest import Goldbench
from tests.llm.local.installed import needs_local_model

WEIGHTS = "application/vnd.ollama.image.model"
MODELS = {"library/small/1b": 100, "somebody/larger/2b": 200, "library/embed/8b": 300, "library/huge/1b": 9**9}
"""Models of Ollama and their megabytes."""


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


def test_the_largest_model_on_the_machine_that_fits_is_named(
    goldbench: Goldbench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs_local_model()
    monkeypatch.setenv("OLLAMA_MODELS", str(tmp_path / "ollama"))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    (tmp_path / "note.txt").write_text("The circulation pump starts when the tank falls below forty litres of water.")
    build = ("build", "note.txt", "--model", "local", "--queries", 1, "--replace", "--out")
    assert "larger model" not in goldbench(*build, "one").stderr
    for name, megabytes in MODELS.items():
        keep_in_ollama(tmp_path / "ollama", name, megabytes)
    assert "--model somebody/larger:2b --base-url http://127.0.0.1:11434/v1" in goldbench(*build, "two").stderr
    keep_in_hub(tmp_path / "hub", "qwen2.5-0.5b")
    assert "--model qwen2.5-0.5b" in goldbench(*build, "three").stderr


def test_without_the_library_of_the_hub_nothing_fails() -> None:
    code = (
        "import sys; sys.modules['huggingface_hub'] = None; "
        "from goldbench.generate.larger_model import larger_model; print(larger_model())"
    )
    done = subprocess.run([sys.executable, "-c", code], env={"HOME": "/"}, capture_output=True, text=True, check=True)
    assert done.stdout == "None\n"
