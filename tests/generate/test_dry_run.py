"""A dry run says what a build will send, and sends and writes nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Goldbench
from tests.generate.test_build import corpus
from tests.model_server.fixture import ServerHandle

ZH = """
第{n}号机组的循环水泵在水箱液位低于{t}升时启动，浮球开关再次断开两分钟后停止运行。叶轮磨损后会发出明显的撞击声，更换叶轮时必须同时更换轴封，因为拆下叶轮之后旧轴封一定会漏水。第{n}号仓库保存着编号为{t}的备用轴封。
{n}系列砂滤池每隔{t}小时反向冲洗一次，防止细小的黏土沉积在下层。如果冲洗以后压力表的读数仍然超过上限，就要更换上层的砾石并且重复冲洗两遍，然后水厂才可以向第{n}站的村庄供应饮用水。
第{n}街道的电动阀门关闭得很慢，需要{t}秒钟，否则水柱突然停止会使老旧的铸铁管道爆裂。停电期间由弹簧关闭阀门，恢复供电并且绿灯重新亮起以后，必须用放在{n}号柜门后面的手柄给弹簧上紧发条。
""".strip().splitlines()


@pytest.fixture
def goldbench(goldbench_inside: Goldbench) -> Goldbench:
    return goldbench_inside


def chinese(folder: Path, count: int = 12) -> Path:
    folder.mkdir()
    for number in range(count):
        text = ZH[number % 3].format(n=number, t=7 * number + 11)
        (folder / f"zh-{number}.md").write_text(f"# 说明{number}\n\n{text}\n", encoding="utf-8")
    return folder


def english(folder: Path) -> Path:
    return corpus(folder)


def mixed(folder: Path) -> Path:
    chinese(folder, 6)
    return corpus(folder, 6)


def chinese_with_western_marks(folder: Path) -> Path:
    chinese(folder)
    for path in folder.iterdir():
        path.write_text(path.read_text("utf-8").translate({ord("，"): ","}), encoding="utf-8")
    return folder


def total(stdout: str) -> list[int]:
    """Return requests, stored, input tokens and output tokens of the last row."""
    row = next(line for line in stdout.splitlines() if line.startswith("total"))
    return [int(cell.replace(",", "")) for cell in row.split()[1:5]]


def everything(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    "make",
    [
        english,
        pytest.param(chinese, marks=pytest.mark.slow),
        pytest.param(mixed, marks=pytest.mark.slow),
        pytest.param(chinese_with_western_marks, marks=pytest.mark.slow),
    ],
)
def test_the_plan_holds_when_every_reply_is_good(
    make, goldbench: Goldbench, tmp_path: Path, model_server: ServerHandle
):
    make(tmp_path / "docs")
    command = ("build", "docs", "--base-url", model_server.base_url, "--model", "m", "--answers", "answers.sqlite")
    for queries in (4, 8):  # the second time half of the answers are in the store
        before = everything(tmp_path)
        plan = goldbench(*command, "--out", f"run-{queries}", "--queries", queries, "--dry-run")
        assert plan.returncode == 0, plan.stderr
        assert everything(tmp_path) == before
        assert model_server.stats()["by_kind"] == {}
        assert goldbench(*command, "--out", f"run-{queries}", "--queries", queries).returncode == 0
        stats = model_server.stats()
        requests, stored, input_tokens, output_tokens = total(plan.stdout)
        assert (requests, stored) == (stats["requests"], 4 if queries == 8 else 0)
        assert input_tokens == pytest.approx(stats["input_tokens"], rel=0.1)
        assert output_tokens == pytest.approx(stats["output_tokens"], rel=0.3)
        model_server.reset()


def test_the_plan_counts_on_as_many_rejected_queries_as_stored_replies_had(
    goldbench: Goldbench, tmp_path: Path, model_server: ServerHandle
):
    corpus(tmp_path / "docs", 60)
    (tmp_path / "short.toml").write_text('[generate]\nprompt_style = "short"\nstyles = { question = 1 }\n')
    pointing = json.dumps({"query": "What does this passage say?", "sentence": 1, "answer": "the valve"})
    numbers = range(0, 60, 4)
    model_server.script(*({"when": {"contains": f" {number}\n"}, "do": {"content": pointing}} for number in numbers))
    command = ("build", "docs", "--config", "short.toml", "--base-url", model_server.base_url, "--model", "m")
    command += ("--answers", "answers.sqlite")
    assert goldbench(*command, "--out", "few", "--queries", 20).returncode == 0
    plan = goldbench(*command, "--out", "many", "--queries", 36, "--dry-run")
    model_server.reset()
    assert goldbench(*command, "--out", "many", "--queries", 36).returncode == 0
    stats = model_server.stats()
    requests, _, input_tokens, output_tokens = total(plan.stdout)
    assert requests == pytest.approx(stats["requests"], rel=0.2)
    assert input_tokens + output_tokens == pytest.approx(stats["input_tokens"] + stats["output_tokens"], rel=0.2)


def test_a_price_is_said_where_it_is_known_and_missed_where_not(
    goldbench: Goldbench, tmp_path: Path, model_server: ServerHandle
):
    corpus(tmp_path / "docs")
    command = ("build", "docs", "--out", "run", "--queries", 5, "--base-url", model_server.base_url, "--dry-run")
    assert "unknown" in goldbench(*command, "--model", "m").stdout
    (tmp_path / "goldbench.toml").write_text("[model]\nusd_per_million_input = 100\nusd_per_million_output = 0\n")
    plan = goldbench(*command, "--model", "m", "--config", "goldbench.toml")
    row = next(line for line in plan.stdout.splitlines() if line.startswith("total"))
    assert float(row.split("$")[1]) == pytest.approx(total(plan.stdout)[2] / 1e4, abs=1e-4)


def test_no_server_is_asked_even_for_the_name_of_its_model(
    goldbench: Goldbench, tmp_path: Path, model_server: ServerHandle
):
    corpus(tmp_path / "docs")
    plan = goldbench("build", "docs", "--out", "run", "--base-url", model_server.base_url, "--dry-run")
    assert plan.returncode == 2
    assert "give --model" in plan.stderr
    assert model_server.stats()["by_kind"] == {}


def test_an_offline_build_costs_nothing_and_the_plan_says_so(goldbench: Goldbench, tmp_path: Path):
    corpus(tmp_path / "docs")
    plan = goldbench("build", "docs", "--out", "run", "--dry-run")
    assert plan.returncode == 0
    assert "0 requests" in plan.stdout
    assert not (tmp_path / "run").exists()


def test_a_file_that_is_no_store_is_refused_and_left_as_it_is(goldbench: Goldbench, tmp_path: Path):
    corpus(tmp_path / "docs")
    (tmp_path / "notes.sqlite").write_text("my notes, no database, and long enough to look like something " * 20)
    before = everything(tmp_path)
    command = ("build", "docs", "--out", "run", "--base-url", "http://127.0.0.1:9/v1", "--model", "m")
    plan = goldbench(*command, "--answers", "notes.sqlite", "--dry-run")
    assert plan.returncode == 2
    assert "not an answer store" in plan.stderr
    assert everything(tmp_path) == before


@pytest.mark.slow
def test_a_stored_query_that_failed_its_check_is_planned_with_its_rewrite(
    goldbench: Goldbench, tmp_path: Path, model_server: ServerHandle
):
    corpus(tmp_path / "docs", 1)
    command = ("build", "docs", "--out", "run", "--queries", 1, "--base-url", model_server.base_url, "--model", "m")
    query = "What does the passage above say?"
    candidate = {
        "subject": "the pump",
        "evidence": "A worn impeller makes a rattling noise",
        "query": query,
        "answer": "It rattles.",
        "type": "fact",
        "style": "question",
    }
    reply = json.dumps({"skip_reason": None, "candidates": [candidate]})
    model_server.script({"when": {"lacks": query}, "do": {"content": reply}}, {"do": {"status": 400}})
    goldbench(*command)
    plan = goldbench(*command, "--dry-run")
    rewrite = next(line for line in plan.stdout.splitlines() if line.startswith("rewrite"))
    assert rewrite.split()[1:3] == ["1", "0"], plan.stdout
