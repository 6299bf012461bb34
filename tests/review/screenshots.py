"""``python -m tests.review.screenshots``: the pages as people see them, light, dark and on a telephone, for the README.

Run as ``python -m tests.review.screenshots [FOLDER]``; FOLDER is data/screenshots where none is named. The review page
shows chunks of the sample documents and a question that a person wrote, the pages of scores and of an experiment the
set of ``make dataset``, whose queries the local model writes.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image

from goldbench.config import load_config
from goldbench.formats.documents.sources import find_files
from goldbench.generate.inputs import cut
from goldbench.records.corpus import Chunk
from tests.conftest import ROOT
from tests.review.conftest import BROWSER, Process, start_process

DOCUMENTS = ROOT / "data" / "example" / "documents"
QUESTION = "When should I prefer balance mode to probe mode?"
SUBJECT = "alance mode"
SIZES = {
    "review-light": {"color_scheme": "light", "viewport": {"width": 1200, "height": 800}},
    "review-dark": {"color_scheme": "dark", "viewport": {"width": 1200, "height": 800}},
    "review-360": {"color_scheme": "light", "viewport": {"width": 360, "height": 760}},
}
PAGES = {
    "review-history": ("anna", "history", {"color_scheme": "light", "viewport": {"width": 1000, "height": 640}}),
    "review-disagreements": (
        "carl",
        "adjudicate",
        {"color_scheme": "light", "viewport": {"width": 1000, "height": 860}},
    ),
}
"""Pictures of other pages, once two people have judged: whose page, its path, and the options of the browser."""

TEAM = ("--annotator", "anna", "--annotator", "bob", "--annotator", "carl", "--lead", "carl")


REPORTS = {
    "score": ("score.html", {"color_scheme": "light", "viewport": {"width": 1100, "height": 232}}),
    "score-dark-360": ("score.html", {"color_scheme": "dark", "viewport": {"width": 360, "height": 760}}),
    "bench": ("bench.html", {"color_scheme": "light", "viewport": {"width": 1100, "height": 900}}),
    "bench-dark": ("bench.html", {"color_scheme": "dark", "viewport": {"width": 1100, "height": 900}}),
}
"""Pictures of report pages: the page and the options of the browser."""


def example(folder: Path) -> None:
    """Copy the set of ``make dataset`` into a folder, as ``example``."""
    shutil.copytree(ROOT / "data" / "runs" / "example", folder / "example")
    if '"choose.v1"' not in (folder / "example" / "3-queries.jsonl").read_text(encoding="utf-8"):
        sys.exit(
            "data/runs/example: its queries are simulated; run make dataset where the local model can be installed"
        )


def write_reports(folder: Path) -> None:
    """Search the set of ``make dataset``, and write the pages of both commands."""

    def run(*command: str) -> None:
        subprocess.run([sys.executable, "-m", "goldbench", *command], cwd=folder, check=True, capture_output=True)

    example(folder)
    runs = []
    for system in ("bm25", "ngrams", "lsi"):
        run("retrieve", "example", "--system", system, "-o", f"{system}.trec")
        runs += ["--run", f"{system}={system}.trec"]
    run("score", "example", *runs, "--html", "score.html")
    run("bench", "example", "-c", str(ROOT / "data" / "example" / "bench.toml"), "--html", "bench.html")


def take_reports(out: Path) -> None:
    """Write the pictures of the report pages."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as place, sync_playwright() as driver:
        write_reports(Path(place))
        browser = driver.chromium.launch(
            executable_path=BROWSER, args=["--no-sandbox"] if os.geteuid() == 0 else [], chromium_sandbox=False
        )
        for name, (file, options) in REPORTS.items():
            page = browser.new_context(**options).new_page()
            page.goto((Path(place) / file).as_uri())
            page.wait_for_selector("#forest .main-svg")
            page.wait_for_timeout(500)
            page.screenshot(path=out / f"{name}.png")
            smaller(out / f"{name}.png")
        browser.close()


def write_example(folder: Path) -> None:
    """Write a set of one question and the passages that speak of its subject."""
    chunks = list(cut(load_config(None, {}), find_files([str(DOCUMENTS)]), on_failure=lambda _: None))
    pool = [chunk for chunk in chunks if SUBJECT in chunk.text]
    dataset = {
        "queries": {"q1": QUESTION},
        "corpus": {chunk.chunk_id: chunk.text for chunk in pool},
        "relevant_docs": {"q1": [chunk.chunk_id for chunk in pool]},
        "mode": "text",
    }
    folder.mkdir()
    (folder / "dataset.json").write_text(json.dumps(dataset), encoding="utf-8")
    (folder / "1-chunks.jsonl").write_text("".join(_line(chunk) for chunk in chunks), encoding="utf-8")


def take(out: Path) -> None:
    """Serve the example and write the pictures."""
    from playwright.sync_api import sync_playwright

    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "example"
        write_example(folder)
        served = start_process(folder, *TEAM, "--overlap", "1", "--lanes", "A")
        try:
            with sync_playwright() as driver:
                browser = driver.chromium.launch(
                    executable_path=BROWSER, args=["--no-sandbox"] if os.geteuid() == 0 else [], chromium_sandbox=False
                )
                entered = _entered(browser, served.links["anna"])
                for name, options in SIZES.items():
                    page = browser.new_context(storage_state=entered, **options).new_page()
                    page.goto(served.links["anna"].partition("?")[0])
                    page.wait_for_selector("#text[data-pair]")
                    page.keyboard.press("Escape")  # the first minute is read
                    page.wait_for_timeout(300)
                    page.screenshot(path=out / f"{name}.png")
                    smaller(out / f"{name}.png")
                _judge(browser, served, entered)
                for name, (who, path, options) in PAGES.items():
                    state = entered if who == "anna" else _entered(browser, served.links[who])
                    page = browser.new_context(storage_state=state, **options).new_page()
                    page.goto(served.links[who].partition("?")[0] + path)
                    page.wait_for_timeout(500)
                    page.screenshot(path=out / f"{name}.png")
                    smaller(out / f"{name}.png")
                browser.close()
        finally:
            served.process.kill()
            served.process.wait()


def _entered(browser: Any, link: str) -> Any:
    """Return the cookies of somebody who opened a link."""
    context = browser.new_context()
    context.new_page().goto(link)
    return context.storage_state()


def _judge(browser: Any, served: Process, anna: Any) -> None:
    """Let two people judge two passages, and disagree on one of them."""
    for state, note, grades in (
        (anna, "Names balance mode as a reason for another model.", "23"),
        (_entered(browser, served.links["bob"]), "About models, not about modes.", "03"),
    ):
        page = browser.new_context(storage_state=state).new_page()
        page.goto(served.links["anna"].partition("?")[0])
        page.wait_for_selector("#text[data-pair]")
        page.wait_for_timeout(300)
        for key in ("Escape", "n"):
            page.keyboard.press(key)
        page.keyboard.type(note)
        for key in ("Enter", *grades):
            page.keyboard.press(key)
            page.wait_for_timeout(300)


def _line(chunk: Chunk) -> str:
    return chunk.model_dump_json() + "\n"


def smaller(path: Path) -> None:
    """Keep a picture in 256 colours: the page needs no more, and the repository stays small."""
    with Image.open(path) as picture:
        picture.convert("RGB").quantize(256, method=Image.Quantize.FASTOCTREE).save(path, optimize=True)


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "data" / "screenshots"
    take(folder)
    take_reports(folder)
