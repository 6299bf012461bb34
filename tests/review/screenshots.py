"""``make screenshots``: the page as people see it, light, dark and on a telephone, for the README.

Run as ``python -m tests.review.screenshots [FOLDER]``; FOLDER is data/screenshots where none is named. What is shown
are chunks of the sample documents, and a question that a person wrote.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path

from PIL import Image

from goldbench.pipeline.build.inputs import cut
from goldbench.pipeline.config import load_config
from goldbench.pipeline.formats.documents.sources import find_files
from goldbench.schemas.corpus import Chunk
from tests.conftest import ROOT
from tests.review.conftest import BROWSER, start_process

DOCUMENTS = ROOT / "data" / "example" / "documents"
QUESTION = "When should I prefer balance mode to probe mode?"
SUBJECT = "alance mode"
SIZES = {
    "review-light": {"color_scheme": "light", "viewport": {"width": 1200, "height": 800}},
    "review-dark": {"color_scheme": "dark", "viewport": {"width": 1200, "height": 800}},
    "review-360": {"color_scheme": "light", "viewport": {"width": 360, "height": 760}},
}


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
        served = start_process(folder, "--annotator", "anna")
        try:
            with sync_playwright() as driver:
                browser = driver.chromium.launch(
                    executable_path=BROWSER, args=["--no-sandbox"] if os.geteuid() == 0 else [], chromium_sandbox=False
                )
                context = browser.new_context()
                context.new_page().goto(served.links["anna"])
                kept = context.storage_state()
                for name, options in SIZES.items():
                    page = browser.new_context(storage_state=kept, **options).new_page()
                    page.goto(served.links["anna"].partition("?")[0])
                    page.wait_for_selector("#text[data-pair]")
                    page.keyboard.press("Escape")  # the first minute is read
                    page.wait_for_timeout(300)
                    page.screenshot(path=out / f"{name}.png")
                    _smaller(out / f"{name}.png")
                browser.close()
        finally:
            served.process.kill()
            served.process.wait()


def _line(chunk: Chunk) -> str:
    return chunk.model_dump_json() + "\n"


def _smaller(path: Path) -> None:
    """Keep a picture in 256 colours: the page needs no more, and the repository stays small."""
    with Image.open(path) as picture:
        picture.convert("RGB").quantize(256, method=Image.Quantize.FASTOCTREE).save(path, optimize=True)


if __name__ == "__main__":
    take(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "data" / "screenshots")
