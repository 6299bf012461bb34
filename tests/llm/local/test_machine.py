"""How a model file uses the machine: processes, threads and layers, and the looks at the machine during a run."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest

from goldbench.config import config_of
from goldbench.generate.writers import with_local_models
from goldbench.llm.catalogue import CATALOGUE, recommended
from goldbench.llm.local import local_wire, machine
from goldbench.llm.local.machine import Layout, Machine, layout
from goldbench.llm.local.model_file import find_model
from goldbench.llm.model_path import open_model
from goldbench.llm.preflight import tell_slow
from goldbench.llm.server_settings import ModelSettings
from tests.llm.conftest import verdict_request
from tests.llm.local.installed import needs_local_model
from tests.model_server.fixture import ServerHandle


@pytest.mark.parametrize(
    ("megabytes", "machine", "calls", "expected"),
    [
        (98, Machine(8, 16_000), 64, Layout(8, 1)),
        (98, Machine(8, 16_000), 3, Layout(3, 1)),
        (98, Machine(8, 1_000), 64, Layout(2, 1)),
        (1117, Machine(8, 16_000), 64, Layout(4, 2)),
        (1117, Machine(8, 6_000), 64, Layout(2, 4)),
        (5028, Machine(8, 16_000), 64, Layout(1, 8)),
    ],
)
def test_a_file_gets_processes_and_threads_by_its_size_and_what_is_free(
    megabytes: float, machine: Machine, calls: int, expected: Layout
) -> None:
    assert layout(megabytes, machine, calls_at_once=calls) == expected


def test_what_others_use_is_left_to_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "usable_processors", lambda: 16)
    for load, cores in ((0.2, 16), (0.5, 15), (11.6, 4), (40.0, 1)):
        monkeypatch.setattr(machine, "os", SimpleNamespace(getloadavg=lambda load=load: (load, 0.0, 0.0)))
        assert Machine.now().cores == cores


@dataclass
class StubChild:
    """A process that stands for the model and is the test server."""

    url: str
    key: str = "key-of-the-tests"
    ended: bool = False

    async def end(self) -> str:
        self.ended = True
        return "exit code 0"


async def test_as_many_calls_are_in_flight_as_processes_run(
    model_server: ServerHandle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    children: list[StubChild] = []

    async def start(*_: object, **_options: object) -> StubChild:
        children.append(StubChild(model_server.base_url))
        return children[-1]

    monkeypatch.setattr(local_wire, "start_child", start)
    monkeypatch.setattr(machine, "layout_now", lambda _: Layout(3, 1))
    model_server.script(latency_ms=100)
    file = tmp_path / "m.gguf"
    file.write_bytes(b"GGUF")
    async with open_model(ModelSettings(name="m", file=file)) as path:
        await asyncio.gather(*(path.complete(verdict_request(number)) for number in range(8)))
        assert model_server.stats()["in_flight_max"] == 3
        assert [child.ended for child in children] == [False] * 3
    assert all(child.ended for child in children)


def test_a_large_file_is_called_slow(tmp_path: Path) -> None:
    lines: list[str] = []
    for megabytes in (1_100, 5_000):
        file = tmp_path / f"{megabytes}.gguf"
        with file.open("wb") as sparse:
            sparse.truncate(megabytes * 10**6)
        tell_slow(ModelSettings(name="m", file=file), lines.append)
    (line,) = lines
    assert "5.0 GB" in line


@pytest.mark.parametrize(
    ("label", "parameters", "temperature"), [(b"1.5B", 1.5e9, 0.3), (b"8x7B", 56e9, 0.8), (None, 160, 0.3)]
)
def test_a_small_model_writes_at_a_lower_temperature_by_what_its_file_says(
    label: bytes | None, parameters: float, temperature: float, tmp_path: Path
) -> None:
    needs_local_model()
    path = tmp_path / "any-70b.gguf"
    field = b"" if label is None else b"general.size_label" + bytes((8, 0, 0, 0, len(label))) + bytes(7) + label
    path.write_bytes((b"GGUF" + field).ljust(100, b"\0"))
    model = find_model(str(path), None)
    assert model is not None
    assert model.parameters == parameters
    tables = with_local_models(config_of({"model": {"name": str(path)}}, {})).model
    assert tables.writing_temperature == temperature
    assert tables.answer_tokens(2) == 800
    named = with_local_models(config_of({"model": {"name": str(path), "temperature": 1, "max_answer_tokens": 70}}, {}))
    assert (named.model.writing_temperature, named.model.answer_tokens(2)) == (1, 70)


def test_a_model_at_a_server_writes_as_its_name_says() -> None:
    for name, temperature in (("qwen2.5:1.5b", 0.3), ("qwen3:8b", 0.8), ("gpt-5", 0.8)):
        model = config_of({"model": {"name": name}}, {}).model
        assert (model.writing_temperature, model.answer_tokens(2)) == (temperature, 1500)


def test_the_recommended_model_is_the_largest_that_memory_and_cores_bear() -> None:
    for megabytes, cores, name in (
        (500, 8, "local"),
        (1_500, 8, "qwen2.5-0.5b"),
        (3_000, 8, "qwen2.5-1.5b"),
        (64_000, 1, "granite-3.3-2b"),
        (64_000, 2, "qwen3-4b"),
        (6_000, 8, "qwen3-4b"),
        (16_000, 8, "qwen3-8b"),
    ):
        assert recommended(megabytes=megabytes, cores=cores).name == name


def test_the_digest_of_the_bundled_model_is_that_of_the_catalogue() -> None:
    needs_local_model()
    model = find_model("local", None)
    assert model is not None
    assert model.sha256 == CATALOGUE[0].sha256
