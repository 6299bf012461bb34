"""A cap on money holds whatever a server reports: what it bills is held against what was booked."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldbench.errors import LimitReached, ModelUnavailable, UsageError
from goldbench.llm import batch
from goldbench.llm.budget import Budget, Reservation
from goldbench.llm.model_path import ModelPath, open_model, open_reranker
from goldbench.llm.server_settings import Model, ModelSettings
from goldbench.llm.store import AnswerStore
from goldbench.llm.vectors import RerankSettings
from goldbench.ports import Usage
from goldbench.records.manifest import StageUsage
from goldbench.text.display import dollars
from tests.conftest import Goldbench
from tests.generate.test_build import corpus
from tests.llm.conftest import Opener, comes_about, verdict_request
from tests.llm.test_batched import batches
from tests.model_server.fixture import ServerHandle

PRICES = {"usd_per_million_input": 2.0, "usd_per_million_output": 10.0}
CAP_USD = 0.03
ROUNDING = 1e-9
FIGURES = "Table 7: " + "3 1 4 1 5 9 2 6 5 3 5 8 9 7 9 " * 20

CONTEXT_EXCEEDED = {"error": {"message": "the request exceeds the available context size (64 tokens)", "n_ctx": 64}}
UNREPORTED = {"usage": False, "silent_thoughts": True}
FAULTS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "no usage": ({}, UNREPORTED),
    "usage of the input alone": ({}, {"usage": "input", "silent_thoughts": True}),
    "time-out": ({"hang": True}, {}),
    "half a reply": ({"connection": "half"}, {}),
    "reply cut short": ({"connection": "short"}, {}),
    "HTTP 500": ({"status": 500}, {}),
    "misfit without usage": ({"reply": "wrong-json"}, UNREPORTED),
}
"""What a server does to every second request, and its settings."""


def billed_usd(server: ServerHandle) -> float:
    """Return what the server bills for every request that it worked on."""
    billed = server.stats()["billed"]
    shares = {"chat": 1.0, "batch-line": 0.5, "embeddings": 1.0}
    return sum(
        share * (2.0 * billed.get(f"{kind} input", 0) + 10.0 * billed.get(f"{kind} output", 0)) / 1e6
        for kind, share in shares.items()
    )


async def ask(path: ModelPath, count: int) -> list[Any]:
    calls = (path.complete(verdict_request(n, user=f"Passage {n}. {FIGURES}")) for n in range(count))
    return await asyncio.gather(*calls, return_exceptions=True)


def check(server: ServerHandle, usage: StageUsage, *, cap_usd: float = CAP_USD) -> None:
    """Check that the bill is within what was booked, and that within the cap."""
    assert usage.usd is not None
    assert billed_usd(server) <= usage.usd + ROUNDING
    assert usage.usd <= cap_usd + ROUNDING


@pytest.mark.parametrize(("shape", "calls_at_once"), [("plain", 64), ("stream", 1)])
@pytest.mark.parametrize("fault", FAULTS)
async def test_no_fault_of_a_server_costs_more_than_the_cap(
    fault: str, shape: str, calls_at_once: int, open_path: Opener, model_server: ServerHandle
):
    action, server = FAULTS[fault]
    whole = {"shape": "stream"} if shape == "stream" else {}
    model_server.script({"when": {"every": 2}, "do": {**whole, **action}}, {"when": {}, "do": whole}, **server)
    limits = {"concurrency": calls_at_once, "timeout_seconds": 0.5 if "hang" in action else None, "max_attempts": 3}
    async with open_path(max_usd=CAP_USD, **limits, **PRICES) as path:
        outcomes = await ask(path, 200)
        usage = path.usage()["grade"]
    check(model_server, usage)
    assert usage.usd is not None
    assert usage.usd > CAP_USD / 2
    assert usage.estimated_requests > 0
    assert 0 < usage.estimated_usd <= usage.usd + ROUNDING
    assert "max-usd" in {outcome.limit for outcome in outcomes if isinstance(outcome, LimitReached)}


@pytest.mark.parametrize("action", [{"status": 429}, {"status": 400, "body": CONTEXT_EXCEEDED}])
async def test_a_refused_call_is_not_charged(action: dict[str, Any], open_path: Opener, model_server: ServerHandle):
    model_server.script({"when": {"every": 2}, "do": action})
    async with open_path(max_usd=CAP_USD, max_attempts=3, **PRICES) as path:
        await ask(path, 20)
        usage = path.usage()["grade"]
    assert usage.usd == pytest.approx(billed_usd(model_server))
    assert usage.estimated_requests == 0


@pytest.mark.parametrize(
    ("action", "server"), [({"status": 500}, {}), ({"lost": True}, {}), ({"reply": "wrong-json"}, UNREPORTED)]
)
async def test_no_fault_of_a_batch_costs_more_than_the_cap(
    action: dict[str, Any],
    server: dict[str, Any],
    model_server: ServerHandle,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(batch, "MOST_LINES", 8)
    monkeypatch.setattr(batch, "QUIET_S", 0.05)
    model_server.script({"when": {"kind": "batch-line", "every": 2}, "do": action}, batch_s=0.05, **server)
    async with batches(model_server, tmp_path, max_usd=CAP_USD / 2, **PRICES) as path:
        outcomes = await ask(path, 60)
        usage = path.usage()["grade"]
    check(model_server, usage, cap_usd=CAP_USD / 2)
    assert usage.estimated_requests > 0
    assert "max-usd" in {outcome.limit for outcome in outcomes if isinstance(outcome, LimitReached)}


async def test_a_batch_that_is_refused_is_not_charged(model_server: ServerHandle, tmp_path: Path):
    model_server.script({"when": {"kind": "files-and-batches", "nth": [2]}, "do": {"status": 400}})
    async with batches(model_server, tmp_path, max_usd=1.0, **PRICES) as path:
        outcomes = await ask(path, 4)
        budget = path.gate.budget
    assert {type(outcome) for outcome in outcomes} == {ModelUnavailable}
    assert (budget.usd, budget.tokens, budget.requests) == (0.0, 0, 0)


async def test_a_batch_that_a_run_leaves_behind_is_charged(model_server: ServerHandle, tmp_path: Path):
    model_server.script(batch_s=0.5)
    said: asyncio.Queue[str] = asyncio.Queue()
    async with batches(model_server, tmp_path, said=said, max_usd=1.0, **PRICES) as path:
        asking = asyncio.create_task(ask(path, 4))
        await said.get()
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
    async with batches(model_server, tmp_path, max_usd=1.0, **PRICES) as later:
        await ask(later, 4)
    assert path.gate.budget.usd >= billed_usd(model_server) > 0
    assert later.gate.budget.usd == pytest.approx(billed_usd(model_server))


async def test_a_call_that_is_given_up_is_charged(open_path: Opener, model_server: ServerHandle):
    model_server.script({"when": {}, "do": {"hang": True}})
    async with open_path(**PRICES) as path:
        asking = asyncio.create_task(path.complete(verdict_request(1)))
        await comes_about(lambda: model_server.stats()["in_flight"] > 0)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        usage = path.usage()["grade"]
    assert usage.usd is not None
    assert usage.usd >= billed_usd(model_server) > 0
    assert usage.estimated_requests == 1


async def test_an_embedding_without_a_usage_is_charged(model_server: ServerHandle):
    model_server.script(usage=False)
    settings = ModelSettings(name="gpt-4o-mini", embedding="text-embedding-3-small", base_url=model_server.base_url)
    async with open_model(settings) as path:
        assert path.embedder is not None
        await path.embedder.embed(["A pump.", FIGURES])
        usage = path.usage()["embed"]
    billed = model_server.stats()["billed"]["embeddings input"]
    assert usage.input_tokens >= billed > 0
    assert usage.estimated_requests == 1


async def test_a_reranker_without_a_price_is_refused_under_a_cap_on_money(model_server: ServerHandle):
    settings = RerankSettings(url=f"{model_server.base_url}/rerank", model="r")
    with pytest.raises(UsageError):
        async with open_reranker(settings, budget=Budget(Model(max_usd=1.0))):
            pass
    assert not model_server.stats()["by_kind"]


async def test_paths_that_share_a_cap_wait_for_one_another(model_server: ServerHandle, tmp_path: Path):
    """The second path has no call in flight of its own that could wake the one that waits."""
    model_server.script(latency_ms=300)
    settings = ModelSettings(name="m", base_url=model_server.base_url, max_tokens=900)
    budget = Budget(settings)
    with AnswerStore(tmp_path / "answers.sqlite") as answers:
        async with (
            open_model(settings, answers=answers, budget=budget) as first,
            open_model(settings.model_copy(update={"name": "n"}), answers=answers, budget=budget) as second,
        ):
            calls = [path.complete(verdict_request(n)) for n, path in enumerate((first, first, first, second))]
            async with asyncio.timeout(30):
                outcomes = await asyncio.gather(*calls, return_exceptions=True)
    assert not [outcome for outcome in outcomes if isinstance(outcome, TimeoutError)]
    stats = model_server.stats()
    assert stats["input_tokens"] + stats["output_tokens"] <= 900


ENDS = st.sampled_from(["reported", "unknown", "free", "unsent"])
COSTS = st.tuples(st.integers(1, 400), st.integers(0, 400), st.floats(0, 1), ENDS)


def usage_at(share: float, most: tuple[int, int], *, estimated: bool = False) -> Usage:
    read, written = (int(share * tokens) for tokens in most)
    return Usage(read, written, usd=(0.3 * read + 1.7 * written) / 1e3, estimated=estimated)


@given(calls=st.lists(COSTS, max_size=40), picks=st.randoms(use_true_random=False))
def test_no_order_of_outcomes_passes_a_cap(calls: list[tuple[int, int, float, str]], picks: Any):
    budget = Budget(Model(max_usd=1.0, max_tokens=900, max_requests=30))
    flying: list[tuple[Reservation, Usage | None]] = []

    def end_one() -> None:
        reservation, cost = flying.pop(picks.randrange(len(flying)))
        if cost is None:
            budget.release(reservation)
        else:
            budget.settle(reservation, cost)
        assert budget.usd <= 1.0 + ROUNDING
        assert budget.tokens <= 900
        assert budget.requests <= 30

    for read, written, share, end in calls:
        most = usage_at(1.0, (read, written), estimated=True)
        ends = {"reported": usage_at(share, (read, written)), "unknown": most, "free": Usage(), "unsent": None}
        try:
            while not budget.check(most):
                assert flying, "a call waits although none is in flight"
                end_one()
        except LimitReached:
            continue
        flying.append((budget.reserve(most), ends[end]))
        if flying and picks.random() < 0.5:
            end_one()
    while flying:
        end_one()
    assert budget.estimated_usd <= budget.usd + ROUNDING


def test_a_build_stops_at_the_cap_and_reports_its_estimates(
    goldbench: Goldbench, model_server: ServerHandle, tmp_path: Path
):
    corpus(tmp_path / "docs")
    model_server.script(**UNREPORTED)
    prices = "\n".join(f"{name} = {usd}" for name, usd in PRICES.items())
    (tmp_path / "goldbench.toml").write_text(f"[model]\n{prices}\n", "utf-8")
    model = ("--base-url", model_server.base_url, "--model", "m", "--max-usd", 0.1)
    done = goldbench("build", "docs", "--out", "run", "--queries", 60, "--config", "goldbench.toml", *model)
    assert done.returncode == 3, done.stderr
    usage = [
        StageUsage(**row) for row in json.loads((tmp_path / "run" / "manifest.json").read_text())["usage"].values()
    ]
    booked = sum(row.usd or 0.0 for row in usage)
    assert billed_usd(model_server) <= booked + ROUNDING
    assert booked <= 0.1 + ROUNDING
    assert sum(row.estimated_requests for row in usage) > 0
    assert all(dollars(row.estimated_usd) in done.stdout for row in usage if row.estimated_requests)
    assert f"{dollars(sum(row.estimated_usd for row in usage))} of it" in done.stderr
