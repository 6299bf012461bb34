"""``python -m tests.workbench.screenshots``: pictures of the workbench with the set of ``make dataset``."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from goldbench.measures.names import parse_measures
from goldbench.workbench.workbench_server import WorkbenchSettings
from tests.benchmarks.card_speed import GOLDBENCH
from tests.benchmarks.rows import process
from tests.conftest import ROOT
from tests.review.conftest import BROWSER
from tests.review.screenshots import example, smaller
from tests.workbench.conftest import serving

PICTURES = {
    "workbench-light": {"viewport": {"width": 1400, "height": 1240}},
    "workbench-dark": {"viewport": {"width": 1400, "height": 1240}, "color_scheme": "dark"},
    "workbench-360": {"viewport": {"width": 360, "height": 740}},
}
AT = "#first=ngrams&second=bm25&sort=difference&where=set&language=en"
"""Where the pictures are taken. The local model writes the English queries, the others are simulated."""


def main() -> None:
    """Search the set of ``make dataset`` twice, and take the pictures from inside the folder that holds it."""
    with tempfile.TemporaryDirectory() as place, contextlib.chdir(place), sync_playwright() as driver:
        example(Path(place))
        gold = Path("example")
        for system in ("bm25", "ngrams"):
            process([GOLDBENCH, "retrieve", str(gold), "--system", system, "-o", str(gold / "runs" / f"{system}.trec")])
        browser = driver.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        wanted = WorkbenchSettings(parse_measures(("ndcg@10", "mrr@10", "r@10"), rel=2), 10, {})
        with serving(gold, asked=wanted) as site:
            for name, options in PICTURES.items():
                page = browser.new_context(**options).new_page()
                page.goto(f"{site.links['anna']}{AT}")
                page.locator("#list a").first.click()
                page.locator("#asks").wait_for()
                page.evaluate("scrollTo(0, 0)")
                picture = ROOT / "data" / "screenshots" / f"{name}.png"
                page.screenshot(path=picture)
                smaller(picture)
        browser.close()


if __name__ == "__main__":
    main()
