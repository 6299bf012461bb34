"""How a model file uses the machine: processes, threads and layers, and the looks at the machine during a run."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest

from goldbench.config import config_of
from goldbench.errors import UsageError
from goldbench.generate.writers import with_local_models
from goldbench.llm.catalogue import CATALOGUE, recommended
from goldbench.llm.local import local_wire, machine
from goldbench.llm.local.machine import ALL_LAYERS, Layout, Machine, layout
from goldbench.llm.local.model_file import find_model
from goldbench.llm.model_path import open_model
from goldbench.llm.preflight import tell_slow
from goldbench.llm.server_settings import ModelSettings
from tests.conftest import Goldbench
from tests.llm.conftest import verdict_request
from tests.llm.local.installed import needs_local_model
from tests.model_server.fixture import ServerHandle


@pytest.mark.parametrize(
    ("megabytes", "machine", "changes", "expected"),
    [
        (98, Machine(8, 16_000), {}, Layout(8, 1)),
        (98, Machine(8, 1_000), {}, Layout(2, 1)),
        (1117, Machine(8, 16_000), {}, Layout(4, 2)),
        (1117, Machine(8, 6_000), {}, Layout(2, 4)),
        (5028, Machine(8, 16_000), {}, Layout(1, 8)),
        (5028, Machine(8, 16_000), {"threads": 2}, Layout(1, 2)),
        (5028, Machine(8, 64_000, graphics=24_000), {}, Layout(1, 8, ALL_LAYERS)),
        (5028, Machine(8, 64_000, graphics=8_000), {}, Layout(1, 8)),
        (5028, Machine(8, 64_000, graphics=8_000), {"gpu_layers": 20}, Layout(1, 8, 20)),
    ],
)
def test_a_file_gets_processes_and_threads_by_its_size_and_what_is_free(
    megabytes: float, machine: Machine, changes: dict[str, int], expected: Layout
) -> None:
    assert layout(megabytes, machine, ModelSettings(name="m", **changes)) == expected


def test_the_load_of_the_models_own_processes_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "usable_processors", lambda: 16)
    for load, own_load, cores in ((0.2, 0, 16), (0.5, 0, 15), (11.6, 0, 4), (11.6, 8, 12), (3.0, 8, 16), (40.0, 8, 1)):
        monkeypatch.setattr(machine, "os", SimpleNamespace(getloadavg=lambda load=load: (load, 0.0, 0.0)))
        assert Machine.now(own_load=own_load).cores == cores


@dataclass
class StubChild:
    """A process that stands for the model and is the test server."""

    url: str
    key: str = "key-of-the-tests"
    ended: bool = False

    async def end(self) -> str:
        self.ended = True
        await asyncio.sleep(0.01)
        return "exit code 0"


@dataclass
class Stubs:
    """What the machine bears now, and the processes that were started."""

    bears: Layout
    children: list[StubChild]

    def running(self) -> int:
        return sum(not child.ended for child in self.children)


@pytest.fixture
def stubs(model_server: ServerHandle, monkeypatch: pytest.MonkeyPatch) -> Stubs:
    """Processes of a model that are the test server, on a machine that is looked at before every call."""
    stubs = Stubs(Layout(1, 1), [])

    async def start(*_: object, **_options: object) -> StubChild:
        stubs.children.append(StubChild(model_server.base_url))
        return stubs.children[-1]

    monkeypatch.setattr(local_wire, "start_child", start)
    monkeypatch.setattr(local_wire, "layout_now", lambda *_, **_looks: stubs.bears)
    monkeypatch.setattr(local_wire, "_LOOK_AGAIN_S", 0.0)
    model_server.script(latency_ms=100)
    return stubs


async def test_the_calls_in_flight_follow_the_machine_during_a_run(
    stubs: Stubs, model_server: ServerHandle, tmp_path: Path
) -> None:
    file = tmp_path / "m.gguf"
    file.write_bytes(b"GGUF")

    async def most_in_flight(first: int) -> int:
        model_server.reset()
        await asyncio.gather(*(path.complete(verdict_request(number)) for number in range(first, first + 8)))
        return int(model_server.stats()["in_flight_max"])

    async with open_model(ModelSettings(name="m", file=file)) as path:
        assert await most_in_flight(0) == 1
        stubs.bears = Layout(3, 1)
        assert await most_in_flight(10) == 3
        assert stubs.running() == 3
        stubs.bears = Layout(1, 1)
        await path.complete(verdict_request(20))
        assert stubs.running() == 1
        assert await most_in_flight(30) == 1
    assert stubs.running() == 0


def test_layers_on_a_graphics_card_that_is_not_there_are_refused_in_one_line(
    goldbench_inside: Goldbench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs_local_model()
    config = config_of({"model": {"name": "local", "gpu_layers": 20}}, {})
    monkeypatch.setattr(machine, "graphics_megabytes", lambda: 8_000)
    with_local_models(config)
    monkeypatch.setattr(machine, "graphics_megabytes", lambda: 0)
    with pytest.raises(UsageError) as refused:
        with_local_models(config)
    assert refused.value.parameter == "gpu"
    (tmp_path / "a.md").write_text("A valve.\n", encoding="utf-8")
    done = goldbench_inside("build", "a.md", "--out", "run", "--model", "local", "--gpu", "20")
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("goldbench: --gpu: ")


def test_a_large_file_without_a_graphics_card_is_called_slow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []
    for megabytes, graphics in ((1_100, 0), (5_000, 24_000), (5_000, 0)):
        file = tmp_path / f"{megabytes}.gguf"
        with file.open("wb") as sparse:
            sparse.truncate(megabytes * 10**6)
        monkeypatch.setattr(machine, "graphics_megabytes", lambda graphics=graphics: graphics)
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
