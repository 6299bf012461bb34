"""The first steps of somebody who installed the wheel, and what each must give.

``python -m tests.packaging.journey PYTHON`` walks them with the interpreter of an environment with the wheel, from an
empty folder; ``--hostile`` from one whose packages have the names of this project's folders.
"""

from __future__ import annotations

import argparse
import csv
import http.cookiejar
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("pipeline", "prompts", "schemas")
DOCUMENTS = ROOT / "data" / "example" / "documents"
README = (ROOT / "README.md").read_text("utf-8")
PYTHON_PAGE = (ROOT / "docs" / "reference" / "python.md").read_text("utf-8")
INTERFACE = """
from goldbench import GoldSet, build, evaluate
gold = GoldSet.load("set")
assert len(gold.queries) == 30, gold.queries
ids = list(gold.corpus)
found = gold.evaluate(lambda query, k: ids[:k])
assert 0 <= found["ndcg@10"] < 0.5, found
assert len(gold.to_pandas().queries) == 30
perfect = evaluate(gold.qrels, {query: dict.fromkeys(docs, 1.0) for query, docs in gold.qrels.items()}, ["hit@10"])
assert perfect["hit@10"] == 1, perfect
assert len(build("documents", queries=5, progress=False).queries) == 5
"""


class Installed:
    """An environment that holds the wheel, used from one folder.

    Args:
        python: The interpreter of the environment.
        folder: An empty folder, the working directory of everything that runs.
        hostile: Put packages into it that are named as the folders of this project and raise when they are imported,
            and run the command so that the folder leads the search path of modules. If not, run the installed script.
    """

    def __init__(self, python: Path, folder: Path, *, hostile: bool) -> None:
        self.python, self.folder = python, folder
        self.command = [python, "-m", "goldbench"] if hostile else [python.with_name("goldbench")]
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "OPENAI", "GOLD"))}
        self.environment = {**kept, "PYTHONUTF8": "1", "COLUMNS": "200"}
        for name in FOLDERS if hostile else ():
            (folder / name).mkdir()
            (folder / name / "__init__.py").write_text(f"raise SystemExit('the {name} of this folder')\n", "utf-8")

    def python_says(self, *arguments: str) -> str:
        """Run the interpreter, and return what it printed."""
        return self.run([self.python, *arguments], rc=0)

    def goldbench(self, *arguments: object, rc: int = 0) -> str:
        """Run the command, check its exit code, and return what it printed."""
        return self.run([*self.command, *map(str, arguments)], rc=rc)

    def run(self, command: list[Any], *, rc: int) -> str:
        """Run a command, check its exit code, and return what it printed on both streams."""
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            timeout=300,
            check=False,
        )
        assert done.returncode == rc, f"{command}: exit code {done.returncode}\n{done.stdout}"
        return done.stdout

    def read(self, name: str) -> Any:
        """Return the content of a JSON file of the folder."""
        return json.loads((self.folder / name).read_text("utf-8"))

    def has(self, module: str) -> bool:
        """Return whether a module can be found."""
        code = f"import sys, importlib.util; sys.exit(importlib.util.find_spec('{module}') is None)"
        return subprocess.run([self.python, "-P", "-c", code], env=self.environment, check=False).returncode == 0


def walk(python: Path, folder: Path, *, hostile: bool = True) -> list[str]:
    """Take every step that the environment's packages allow, and return the names of the steps.

    Args:
        python: The interpreter of an environment that holds the wheel.
        folder: An empty folder.
        hostile: As in `Installed`.

    Raises:
        AssertionError: A step does not do what the README says.
    """
    installed = Installed(python, folder, hostile=hostile)
    steps = [check_top_level, build_and_score, measure_systems, use_interface, convert_documents, write_page, review]
    return [step.__name__ for step in steps if step(installed) is not False]


def check_top_level(installed: Installed) -> None:
    """Check that ``goldbench`` is the only top-level package of its distribution, and the one that is imported."""
    listed = installed.python_says(
        "-P", "-c", "from importlib.metadata import files; print(*files('goldbench'), sep='\\n')"
    )
    tops = {line.split("/")[0] for line in listed.split() if not line.startswith("..")}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"goldbench"}, tops
    place = Path(installed.python_says("-c", "import goldbench; print(goldbench.__file__)").strip()).parent
    assert place.parent.name == "site-packages", place
    assert not [name for name in FOLDERS if (place.parent / name).exists()]
    version = installed.python_says("-c", "import goldbench; print('goldbench', goldbench.__version__)")
    assert installed.goldbench("--version") == version


def build_and_score(installed: Installed) -> None:
    """Build a set from text files, search it, score the run, and write the card."""
    texts = [*DOCUMENTS.rglob("*.md"), *DOCUMENTS.rglob("*.csv"), *DOCUMENTS.rglob("*.txt")]
    for path in texts:
        target = installed.folder / "documents" / path.relative_to(DOCUMENTS)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    installed.goldbench("build", "documents", "--out", "set", "--queries", 30)
    assert "every reference and span holds" in installed.goldbench("validate", "set")
    installed.goldbench("retrieve", "set", "--system", "bm25", "-o", "bm25.trec")
    assert "ndcg@10" in installed.goldbench("score", "set", "--run", "bm25=bm25.trec")
    installed.goldbench("gate", "set", "--run", "bm25.trec", "--min", "ndcg@10=0.5")
    assert "30 queries" in installed.goldbench("card", "set")
    assert len(installed.read("set/card.json")["figures"]) == 14
    assert "grade.v1" in installed.goldbench("prompts", "list")


def measure_systems(installed: Installed) -> None:
    """Compare two systems in an experiment."""
    said = installed.goldbench("bench", "set", "--system", "bm25", "--system", "lsi", "--out", "bench")
    assert "ndcg@10" in said, said
    systems = installed.read("bench/experiment.json")["systems"]
    assert {system["system"] for system in systems} == {"bm25", "lsi"}


def use_interface(installed: Installed) -> None:
    """Use the set from Python, and get from the README's ten lines the figures of the page on the Python interface."""
    installed.python_says("-c", INTERFACE)
    lines = next(
        block for block in re.findall(r"```python\n(.*?)```", README, re.DOTALL) if "build(texts=texts" in block
    )
    (installed.folder / "ten_lines.py").write_text(lines.replace("data/example/documents", "documents"), "utf-8")
    said = installed.python_says("-c", "from ten_lines import *; print(result); print(len(queries), len(qrels) >= 30)")
    begins, counts = said[said.index("measure ") :].splitlines()[:5], said.splitlines()[-1]
    assert begins[-1].startswith("Verdict: "), said
    assert "\n".join(begins) in PYTHON_PAGE, said
    assert counts == "30 True", said


def convert_documents(installed: Installed) -> None:
    """Build from a PDF: read with the extra ``documents``, and without it skipped, counted and named with the hint."""
    mixed, pdf = installed.folder / "mixed", "field-service-notes.pdf"
    shutil.copytree(installed.folder / "documents" / "manual", mixed)
    expected = {path.name for path in mixed.iterdir()}
    shutil.copy(DOCUMENTS / "service" / pdf, mixed)
    command = ("build", "mixed", "--out", "pdf", "--queries", 10)
    if installed.has("pypdfium2"):
        installed.goldbench(*command)
        expected.add(pdf)
    else:
        said = installed.goldbench(*command, rc=3).splitlines()
        assert any(re.match(f"skipped .*{pdf}: .*the extra documents", line) for line in said), said
        assert any(re.search("^documents .* unreadable 1$", line) for line in said), said
    assert "every reference and span holds" in installed.goldbench("validate", "pdf")
    records = (installed.folder / "pdf" / "0-documents.jsonl").read_text("utf-8").splitlines()
    assert {json.loads(record)["source"] for record in records} == expected
    assert len(installed.read("pdf/dataset.json")["queries"]) == 10


def write_page(installed: Installed) -> bool:
    """Write the page of a score, if the extra ``report`` is there; without it the figures come, and one line."""
    command = ("score", "set", "--run", "bm25=bm25.trec", "--html", "page.html")
    if not installed.has("plotly"):
        assert "ndcg@10" in check_missing(installed, "report", *command)
        assert not (installed.folder / "page.html").exists()
        return False
    installed.goldbench(*command)
    assert "ndcg@10" in (installed.folder / "page.html").read_text("utf-8").lower()
    return True


def check_missing(installed: Installed, extra: str, *command: str) -> str:
    """Check that a command ends with a line that names the extra, and return what it said before."""
    *before, line = installed.goldbench(*command, rc=2).splitlines()
    assert line.endswith(f"(the extra {extra})"), line
    return "\n".join(before)


def review(installed: Installed) -> bool:
    """Judge a passage on the page for people, get the page's scripts and styles, and stop the server."""
    if not installed.has("starlette"):
        assert check_missing(installed, "review", "review", "set") == ""
        return False
    with served(installed) as link:
        judge(link)
    installed.goldbench("review", "export", "set", "--format", "csv", "--out", "people.csv")
    with (installed.folder / "people.csv").open(encoding="utf-8", newline="") as file:
        (row,) = csv.DictReader(file)
    assert row["grade"] == "2", row
    return True


def judge(link: str) -> None:
    """Open the link of a person, load what its page needs, and give one passage a grade."""
    jar = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), jar)

    def ask(path: str, sent: object = None) -> str:
        """Get a page, or send JSON to it as the page itself does."""
        headers = {"Origin": link.partition("/?")[0], "Content-Type": "application/json"} if sent else {}
        request = urllib.request.Request(
            urllib.request.urljoin(link, path), json.dumps(sent).encode() if sent else None, headers
        )
        with opener.open(request, timeout=100) as answer:
            return str(answer.read().decode())

    page = ask(link)
    parts = re.findall(r'(?:src|href)="(/?[\w./-]+\.(?:js|css)[^"]*)"', page)
    assert parts, page
    assert all(ask(part) for part in parts)
    (item,) = json.loads(ask("/api/next?n=1"))["items"]
    judgment = {"client_id": "client-00001", "kind": "judge", "pair": item["pair"], "grade": 2}
    assert json.loads(ask("/api/event", judgment)) == {"seq": 1}


@contextmanager
def served(installed: Installed) -> Iterator[str]:
    """Yield the link of a person to a running review server, and end the server as Ctrl-C does."""
    command = [*installed.command, "review", "set", "--port", "0", "--annotator", "anna"]
    process = subprocess.Popen(
        command,
        cwd=installed.folder,
        env=installed.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
    )
    assert process.stdout is not None
    said = []
    try:
        for line in process.stdout:
            said.append(line)
            if match := re.search(r"anna: (http://\S+)", line):
                yield match[1]
                process.send_signal(signal.SIGINT)
                assert "Stopped" in process.communicate(timeout=100)[0]
                return
        raise AssertionError("".join(said))
    finally:
        process.kill()
        process.wait()


def main() -> None:
    """Walk with the interpreter that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("python", type=Path, help="interpreter of an environment that holds the wheel")
    parser.add_argument("--hostile", action="store_true", help="put packages of the same names into the folder")
    args = parser.parse_args()
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        steps = ", ".join(walk(args.python.absolute(), Path(folder), hostile=args.hostile))
    place = "a folder with packages of the same names" if args.hostile else "an empty folder"
    print(f"From {place}, in {time.monotonic() - started:.0f} s: {steps}", flush=True)


if __name__ == "__main__":
    main()
