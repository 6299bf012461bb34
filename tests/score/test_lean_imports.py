"""What small runs do without: packages whose import takes longer than the work."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.score.deciding_files import write_gold, write_run

HEAVY = (
    *("numpy", "polars", "pandas", "scipy", "pyarrow", "pydantic", "regex", "rich", "jinja2", "sqlite3", "openai"),
    *("importlib.metadata", "tempfile", "xml.etree", "asyncio"),
)
CODE = """
import sys
from goldbench.pipeline.__main__ import main
try:
    main()
finally:
    print(sorted(set(HEAVY) & set(sys.modules)), file=sys.stderr)
"""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    write_gold(tmp_path)
    write_run(tmp_path, "good.trec", skill=0.9)
    write_run(tmp_path, "bad.trec", skill=0.4)
    (tmp_path / "gold").mkdir()
    lines = [line.split() for line in (tmp_path / "gold.qrels").read_text().splitlines()]
    relevant = {query_id: {doc_id: 1} for query_id, _, doc_id, grade in lines if grade != "0"}
    metadata = {"metadata": {"content_sha256": "a" * 64}}
    (tmp_path / "gold" / "dataset.json").write_text(json.dumps({"relevant_docs": relevant, **metadata}))
    loaded(tmp_path, "gate", "gold.qrels", "--run", "good.trec", "--baseline", "qrels.json", "--init")
    loaded(tmp_path, "gate", "gold", "--run", "good.trec", "--baseline", "folder.json", "--init")
    return tmp_path


def loaded(folder: Path, *arguments: str, code: int = 0) -> list[str]:
    """Return which of the heavy modules a command imports."""
    script = CODE.replace("HEAVY", repr(HEAVY))
    command = [sys.executable, "-c", script, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    found: list[str] = ast.literal_eval(done.stderr.splitlines()[-1])
    return found


@pytest.mark.parametrize("arguments", ["--version", "--help"])
def test_the_version_and_the_list_of_commands_need_not_even_typer(tmp_path: Path, arguments: str) -> None:
    script = CODE.replace("HEAVY", repr((*HEAVY, "typer", "inspect", "json", "subprocess")))
    done = subprocess.run([sys.executable, "-c", script, arguments], capture_output=True, text=True, check=True)
    assert done.stderr == "[]\n"
    assert "goldbench" in done.stdout


@pytest.mark.parametrize("gold", ["gold.qrels", "gold"])
def test_a_small_run_is_scored_without_heavy_packages(files: Path, gold: str) -> None:
    assert loaded(files, "score", gold, "--run", "A=good.trec", "--run", "B=bad.trec", "--missing", "zero") == []


@pytest.mark.parametrize(("gold", "baseline"), [("gold.qrels", "qrels.json"), ("gold", "folder.json")])
def test_a_small_run_is_gated_without_heavy_packages(files: Path, gold: str, baseline: str) -> None:
    gate = ("gate", gold, "--baseline", baseline)
    assert loaded(files, *gate, "--run", "good.trec", "--min", "mrr=0.1") == []
    assert loaded(files, *gate, "--run", "bad.trec", "--max-drop", "1%", "--significant-only", code=1) == []
