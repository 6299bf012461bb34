"""The files of docs/how_to/rag_team_langchain_qdrant.md, run as they stand there with LangChain and Qdrant."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.model_server.fixture import ServerHandle

PAGE = (ROOT / "docs" / "how_to" / "rag_team_langchain_qdrant.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r'^```python title="([\w.]+)"\n(.*?)^```$', PAGE, re.MULTILINE | re.DOTALL))
PACKAGES = ("langchain-qdrant==1.1.0", "qdrant-client==1.20.0")
OLLAMA = "http://127.0.0.1:11434/v1"


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """A folder with the packages that the page asks for; they are in no environment of the project."""
    folder = tmp_path / "packages"
    uv = [str(Path(sys.executable).with_name("uv")), "--system-certs", "--quiet"]
    command = [*uv, "pip", "install", "--python", sys.executable, "--target", str(folder), *PACKAGES]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    except OSError as error:
        pytest.skip(f"uv cannot be started: {error}")
    if done.returncode:
        pytest.skip(f"the packages cannot be installed: {done.stderr.strip()[-200:]}")
    return folder


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_the_files_of_the_page_build_a_set_and_score_two_retrievers(
    packages: Path, tmp_path: Path, model_server: ServerHandle
) -> None:
    shutil.copytree(ROOT / "data" / "example", tmp_path / "data" / "example")
    for name, text in FILES.items():
        (tmp_path / name).write_text(text.replace(OLLAMA, model_server.base_url), encoding="utf-8")
    printed = {}
    for name in ("build_set.py", "score_rag.py"):
        done = subprocess.run(
            [sys.executable, name],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(packages), "COLUMNS": "120"},
            capture_output=True,
            encoding="utf-8",
            timeout=150,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        printed[name] = done.stdout
    assert "15 queries" in printed["build_set.py"]
    means = re.search(r"^similarity +([\d.]+) +([\d.]+) +([\d.]+)", printed["score_rag.py"], re.MULTILINE)
    assert means, printed["score_rag.py"]
    assert all(0 <= float(mean) <= 1 for mean in means.groups())
    assert "similarity" in printed["score_rag.py"].partition("difference")[2]
