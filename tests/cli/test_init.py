"""``goldbench init``: a configuration that build and bench accept, what it asks, and what it refuses.

That the three commands work as they are printed is part of ``tests/workbench/test_whole_way.py``.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from goldbench.bench.bench_file import BenchFile, load_bench
from goldbench.config import BENCH_TABLES, Config, load_config
from goldbench.goldset.folder import GoldFolder
from goldbench.prompts.rubric import DEFAULT
from tests.conftest import IMPORT_PATH, ROOT, Goldbench
from tests.model_server.fixture import ServerHandle

TOPICS = ("valves", "pumps", "filters", "lamps", "probes", "cables", "drives", "motors", "clocks", "shafts")


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    """Documents of one's own in a folder whose name needs quotes."""
    folder = tmp_path / "my docs"
    folder.mkdir()
    for position, topic in enumerate(TOPICS):
        text = " ".join(
            f"The {topic} of line {turn} are {verb} by the {TOPICS[(position + turn) % 10]} crew "
            f"in {turn + position} days."
            for turn, verb in enumerate(("cleaned", "opened", "tested", "sealed", "painted", "weighed", "replaced"))
        )
        (folder / f"{topic}.md").write_text(f"# About {topic}\n\n{text}\n", encoding="utf-8")
    return folder


@pytest.mark.usefixtures("documents")
def test_the_file_is_commented_and_taken_by_build_and_bench(goldbench_inside: Goldbench, tmp_path: Path) -> None:
    retriever = "http://127.0.0.1:9/search"
    done = goldbench_inside("init", "my docs", "--retriever", retriever, "--language", "de", "--queries", 20)
    assert done.returncode == 0, done.stderr
    path = tmp_path / "goldbench.toml"
    text = path.read_text(encoding="utf-8")
    config = load_config(path, {})
    assert (config.generate.queries, config.generate.constraints.language) == (20, "de")
    bench = load_bench(path, level=1)
    assert [point.name for point in bench.points] == ["bm25", "mine"]
    assert bench.described["mine"]["url"] == retriever
    assert bench.described["bm25"]["language"] == "de"
    example = (ROOT / "data" / "example" / "goldbench.toml").read_text(encoding="utf-8")
    comments = [re.findall(r"# (?!.*= )([A-Z].*)$", one, re.MULTILINE) for one in (text, example)]
    assert len(set(comments[0]) & set(comments[1])) > 10


@pytest.mark.parametrize(
    ("retriever", "expected"),
    [
        ("bm25", {"bm25": {"kind": "bm25"}}),
        ("lsi", {"bm25": {"kind": "bm25"}, "lsi": {"kind": "lsi"}}),
        (
            "python:search.mine:find",
            {"bm25": {"kind": "bm25"}, "mine": {"kind": "python", "function": "search.mine:find"}},
        ),
        ("run:old.trec", {"bm25": {"kind": "bm25"}, "mine": {"kind": "run", "file": "old.trec"}}),
        (
            "opensearch://localhost:9200",
            {"bm25": {"kind": "bm25"}, "mine": {"kind": "opensearch", "url": "opensearch://localhost:9200"}},
        ),
    ],
)
@pytest.mark.usefixtures("documents")
def test_every_retriever_of_bench_is_written(
    goldbench_inside: Goldbench, tmp_path: Path, retriever: str, expected: dict[str, object]
) -> None:
    done = goldbench_inside("init", "my docs", "--retriever", retriever, "--json")
    assert done.returncode == 0, done.stderr
    assert tomllib.loads((tmp_path / "goldbench.toml").read_text(encoding="utf-8"))["systems"] == expected
    assert load_bench(tmp_path / "goldbench.toml", level=1)
    assert len(json.loads(done.stdout)["commands"]) == 3


@pytest.mark.slow
@pytest.mark.usefixtures("documents")
def test_a_model_at_a_server_has_a_price_before_anything_is_sent(
    goldbench_inside: Goldbench, model_server: ServerHandle, tmp_path: Path
) -> None:
    done = goldbench_inside("init", "my docs", "--model", "small", "--base-url", model_server.base_url)
    assert done.returncode == 0, done.stderr
    assert re.search(r"^total +\d+ ", done.stdout, re.MULTILINE), done.stdout
    assert model_server.stats()["answered"] == 0
    config = load_config(tmp_path / "goldbench.toml", {})
    assert (config.model.name, config.model.base_url, config.generate.queries) == ("small", model_server.base_url, 50)


@pytest.mark.usefixtures("documents")
def test_a_file_is_never_overwritten_without_being_told(goldbench_inside: Goldbench, tmp_path: Path) -> None:
    path = tmp_path / "goldbench.toml"
    path.write_text("# mine\n", encoding="utf-8")
    refused = goldbench_inside("init", "my docs")
    assert (refused.returncode, "add --replace" in refused.stderr) == (2, True)
    assert path.read_text(encoding="utf-8") == "# mine\n"
    assert goldbench_inside("init", "my docs", "--replace").returncode == 0
    assert "# mine" not in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "name the folder of documents"),
        (("nowhere",), "not found"),
        (("my docs", "--language", "klingon"), "language"),
        (("my docs", "--base-url", "http://127.0.0.1:9/v1"), "simulated queries need no server"),
        (("my docs", "--retriever", "grep"), "not a retriever"),
        (("my docs", "--out", "none/goldbench.toml"), "folder none not found"),
        (("my docs", "--model", "m", "--base-url", "nonsense"), "base"),
    ],
)
@pytest.mark.usefixtures("documents")
def test_without_a_terminal_it_never_waits_and_says_what_is_wrong(
    goldbench_inside: Goldbench, tmp_path: Path, arguments: tuple[str, ...], says: str
) -> None:
    done = goldbench_inside("init", *arguments)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert says in done.stderr
    assert not (tmp_path / "goldbench.toml").exists()


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="needs a pseudo terminal")
def test_at_a_terminal_it_asks_what_no_option_says(documents: Path, tmp_path: Path) -> None:
    pexpect = pytest.importorskip("pexpect")
    environment = {**os.environ, "PYTHONPATH": IMPORT_PATH, "TERM": "dumb"}
    child = pexpect.spawn(
        sys.executable,
        ["-m", "goldbench", "init", "--language", "en"],
        cwd=tmp_path,
        env=environment,
        encoding="utf-8",
        timeout=100,
    )
    for question, answer in (("Folder of documents", documents.name), ("Model", ""), ("Retriever", "lsi")):
        child.expect(question)
        child.sendline(answer)
    child.expect("Run these three commands")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0
    found = tomllib.loads((tmp_path / "goldbench.toml").read_text(encoding="utf-8"))
    assert list(found["systems"]) == ["bm25", "lsi"]
    assert found["generate"]["generator"] == "simulated"
    assert found["generate"]["constraints"] == {"language": "en"}


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="needs a pseudo terminal")
def test_at_a_terminal_a_wrong_answer_is_asked_again(documents: Path, tmp_path: Path) -> None:
    pexpect = pytest.importorskip("pexpect")
    environment = {**os.environ, "PYTHONPATH": IMPORT_PATH, "TERM": "dumb"}
    child = pexpect.spawn(
        sys.executable, ["-m", "goldbench", "init"], cwd=tmp_path, env=environment, encoding="utf-8", timeout=100
    )
    for question, wrong, told, right in (
        ("Folder of documents", "nowhere", "not found", documents.name),
        ("Model", None, None, ""),
        ("Retriever", "bm52", "did you mean bm25", "bm25"),
        ("Language", "english", "not a valid value", "en"),
    ):
        child.expect(question)
        if wrong is not None:
            child.sendline(wrong)
            child.expect(told)
            child.expect(question)
        child.sendline(right)
    child.expect("Run these three commands")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0


def test_the_tables_of_bench_are_those_that_a_build_passes_over() -> None:
    assert set(BENCH_TABLES) <= BenchFile.model_fields.keys()
    assert not set(BENCH_TABLES) & Config.model_fields.keys()


def test_a_misspelled_table_is_an_error_for_build_and_bench(tmp_path: Path, goldbench_inside: Goldbench) -> None:
    (tmp_path / "goldbench.toml").write_text("[sistems.bm25]\nkind = 'bm25'\n", encoding="utf-8")
    (tmp_path / "a.md").write_text("A valve.\n", encoding="utf-8")
    for command in (("build", "a.md", "--out", "x"), ("retrieve", "x", "-o", "r.trec")):
        done = goldbench_inside(*command, "--config", "goldbench.toml")
        assert (done.returncode, "sistems" in done.stderr) == (2, True), done.stderr


def test_the_commands_can_be_pasted_into_a_shell(documents: Path, tmp_path: Path, goldbench_inside: Goldbench) -> None:
    done = goldbench_inside("init", documents.name)
    first = next(line for line in done.stdout.splitlines() if "goldbench build" in line)
    said = subprocess.run(["sh", "-c", f"printf '%s\\n' {first.strip()}"], capture_output=True, text=True, check=True)
    assert said.stdout.splitlines()[:3] == ["goldbench", "build", "my docs"]


def test_the_rubric_that_it_writes_is_there_to_be_edited_and_stays_through_a_build(
    documents: Path, tmp_path: Path, goldbench_inside: Goldbench
) -> None:
    goldbench_inside("init", documents.name, "--set", "mine")
    path = tmp_path / "mine" / "rubric.md"
    assert GoldFolder(path.parent).rubric() == DEFAULT
    path.write_text("- 3: all of it\n", encoding="utf-8")
    goldbench_inside("init", documents.name, "--set", "mine", "--replace")
    built = goldbench_inside("build", documents.name, "--out", "mine", "--generator", "simulated")
    assert built.returncode == 0, built.stderr
    assert path.read_text(encoding="utf-8") == "- 3: all of it\n"
