"""The first steps of somebody who installed the wheel, in a folder whose own packages have this project's folder names.

``python -m tests.packaging.journey PYTHON`` walks them with the interpreter of an environment that holds the wheel.
"""

from __future__ import annotations

import argparse
import http.cookiejar
import os
import re
import shutil
import signal
import subprocess
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("pipeline", "prompts", "schemas")
DOCUMENTS = ROOT / "data" / "example" / "documents"
INTERFACE = "import goldbench; from goldbench.pipeline.measures import evaluate"


class Installed:
    """An environment that holds the wheel, used from one folder.

    Args:
        python: The interpreter of the environment.
        folder: An empty folder, the working directory of everything that runs. It gets packages named as the folders of
            this project, which raise when they are imported.
    """

    def __init__(self, python: Path, folder: Path) -> None:
        self.python, self.folder = python, folder
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "OPENAI", "GOLD"))}
        self.environment = {**kept, "PYTHONUTF8": "1", "COLUMNS": "200"}
        for name in FOLDERS:
            (folder / name).mkdir()
            (folder / name / "__init__.py").write_text(f"raise SystemExit('the {name} of this folder')\n", "utf-8")

    def run(self, *arguments: object, rc: int = 0) -> str:
        """Run the interpreter, check its exit code, and return what it printed on both streams."""
        done = subprocess.run(
            [self.python, *map(str, arguments)],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            timeout=300,
            check=False,
        )
        assert done.returncode == rc, f"{arguments}: exit code {done.returncode}\n{done.stdout}"
        return done.stdout

    def goldbench(self, *arguments: object, rc: int = 0) -> str:
        """Run the command so that the working directory leads the search path of modules."""
        return self.run("-m", "goldbench", *arguments, rc=rc)

    def has(self, module: str) -> bool:
        """Return whether a module can be found."""
        code = f"import sys, importlib.util; sys.exit(importlib.util.find_spec('{module}') is None)"
        return subprocess.run([self.python, "-P", "-c", code], env=self.environment, check=False).returncode == 0


def walk(python: Path, folder: Path) -> list[str]:
    """Take every step that the environment's packages allow, and return the names of the steps.

    Args:
        python: The interpreter of an environment that holds the wheel.
        folder: An empty folder.

    Raises:
        AssertionError: A step does not do what the README says.
    """
    here = Installed(python, folder)
    steps = [check_top_level, build_and_score, import_interface, convert_documents, write_page, review]
    return [step.__name__ for step in steps if step(here) is not False]


def check_top_level(here: Installed) -> None:
    """Check that ``goldbench`` is the only top-level package of its distribution, and the one that is imported."""
    listed = here.run("-P", "-c", "from importlib.metadata import files; print(*files('goldbench'), sep='\\n')")
    tops = {line.split("/")[0] for line in listed.split() if not line.startswith("..")}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"goldbench"}, tops
    place = Path(here.run("-c", "import goldbench; print(goldbench.__file__)").strip()).parent
    assert place.parent.name == "site-packages", place
    assert not [name for name in FOLDERS if (place.parent / name).exists()]
    script = here.python.with_name("goldbench")
    version = subprocess.run([script, "--version"], cwd=here.folder, capture_output=True, text=True, check=True).stdout
    assert version == here.goldbench("--version")


def build_and_score(here: Installed) -> None:
    """Build a set from text files, search it, score the run, write the card, and run an experiment."""
    texts = [*DOCUMENTS.rglob("*.md"), *DOCUMENTS.rglob("*.csv"), *DOCUMENTS.rglob("*.txt")]
    for path in texts:
        target = here.folder / "documents" / path.relative_to(DOCUMENTS)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    here.goldbench("build", "documents", "--out", "set", "--queries", 30)
    here.goldbench("validate", "set")
    here.goldbench("retrieve", "set", "--system", "bm25", "-o", "bm25.trec")
    assert "ndcg@10" in here.goldbench("score", "set", "--run", "bm25=bm25.trec")
    assert "30 queries" in here.goldbench("card", "set")
    assert "ndcg@10" in here.goldbench("bench", "set", "--system", "bm25", "--system", "lsi", "--out", "bench")
    assert "grade.v1" in here.goldbench("prompts", "list")


def import_interface(here: Installed) -> None:
    """Use the set from Python."""
    here.run("-c", INTERFACE)


def convert_documents(here: Installed) -> None:
    """Build from a PDF: read with the extra ``documents``, and without it skipped, counted and named."""
    (here.folder / "mixed").mkdir()
    shutil.copy(DOCUMENTS / "index.md", here.folder / "mixed")
    shutil.copy(DOCUMENTS / "service" / "field-service-notes.pdf", here.folder / "mixed")
    command = ("build", "mixed", "--out", "pdf", "--queries", 3)
    if here.has("pdfminer"):
        here.goldbench(*command)
    else:
        said = here.goldbench(*command, rc=3)
        assert "field-service-notes.pdf" in said, said
        assert "documents" in said, said


def write_page(here: Installed) -> bool:
    """Write the page of a score, if the extra ``report`` is there; a page without it ends in one line."""
    if not here.has("plotly"):
        said = here.goldbench("score", "set", "--run", "bm25=bm25.trec", "--html", "page.html", rc=1)
        assert "report" in said.splitlines()[-1], said
        return False
    here.goldbench("score", "set", "--run", "bm25=bm25.trec", "--html", "page.html")
    assert "ndcg@10" in (here.folder / "page.html").read_text("utf-8").lower()
    return True


def review(here: Installed) -> bool:
    """Start the page on which people judge, get it with its scripts and styles, and stop the server."""
    if not here.has("starlette"):
        said = here.goldbench("review", "set", rc=1)
        assert "review" in said.splitlines()[-1], said
        return False
    with served(here) as link:
        jar = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        get = urllib.request.build_opener(urllib.request.ProxyHandler({}), jar).open
        with get(link, timeout=30) as page:
            text = page.read().decode()
        parts = re.findall(r'(?:src|href)="(/?[\w./-]+\.(?:js|css)[^"]*)"', text)
        assert parts, text
        for part in parts:
            with get(urllib.request.urljoin(link, part), timeout=30) as answer:
                assert answer.status == 200
                assert answer.read()
    return True


@contextmanager
def served(here: Installed) -> Iterator[str]:
    """Yield the link of a person to a running review server, and end the server as Ctrl-C does."""
    command = [here.python, "-m", "goldbench", "review", "set", "--port", "0", "--annotator", "anna"]
    process = subprocess.Popen(
        command,
        cwd=here.folder,
        env=here.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
    )
    assert process.stdout is not None
    said = []
    try:
        for line in process.stdout:
            said.append(line)
            if found := re.search(r"anna: (http://\S+)", line):
                yield found[1]
                process.send_signal(signal.SIGINT)
                assert "Stopped" in process.communicate(timeout=30)[0]
                return
        raise AssertionError("".join(said))
    finally:
        process.kill()
        process.wait()


def main() -> None:
    """Walk with the interpreter that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("python", type=Path, help="interpreter of an environment that holds the wheel")
    with tempfile.TemporaryDirectory() as folder:
        print("The wheel does:", ", ".join(walk(parser.parse_args().python.absolute(), Path(folder))))


if __name__ == "__main__":
    main()
