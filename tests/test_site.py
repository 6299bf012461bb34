"""The documentation site: built strictly and in time, whole on its own, fit for a telephone."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from docs.write_site import BrokenLink, linked, place_of
from tests.conftest import ROOT
from tests.report.test_page_in_a_browser import BROWSER

MADE = pytest.mark.skipif(not (ROOT / ".venv" / ".runtime").exists(), reason="made by make install")


def test_links_follow_their_files_into_the_site() -> None:
    text = (
        "[a](../glossary.md#x) [b](../../CHANGELOG.md) ![c](../../data/screenshots/score.png) [d](#e) [f](https://x.y)"
    )
    moved, found = linked("docs/how_to/query_logs.md", text)
    assert moved == (
        "[a](../glossary.md#x) [b](../project/CHANGELOG.md) ![c](../files/data/screenshots/score.png) "
        "[d](#e) [f](https://x.y)"
    )
    assert found == {"docs/glossary.md", "CHANGELOG.md", "data/screenshots/score.png"}
    assert place_of("data/example/README.md").endswith(".txt")  # shown as it is


@pytest.mark.parametrize("link", ["gone.md", "../../../outside.md"])
def test_a_link_to_no_file_of_the_project_is_refused(link: str) -> None:
    with pytest.raises(BrokenLink, match=r"docs/how_to/query_logs\.md"):
        linked("docs/how_to/query_logs.md", f"[a]({link})")
    assert linked("docs/how_to/query_logs.md", f"`[a]({link})`")[1] == set()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, as ``make docs`` builds it strictly, in under a minute of work once its builder is installed."""
    out = tmp_path_factory.mktemp("site") / "site"
    with FileLock(tmp_path_factory.getbasetemp().parent / "site.lock"):  # other workers install and build it, too
        subprocess.run(["make", "--silent", ".venv-docs/.site"], cwd=ROOT, check=True, timeout=300, capture_output=True)
        begun = os.times()
        subprocess.run(
            ["make", "--silent", "docs", f"SITE={out}"], cwd=ROOT, check=True, timeout=200, capture_output=True
        )
    ended = os.times()
    assert ended.children_user + ended.children_system - begun.children_user - begun.children_system < 60
    return out


def html_pages(site: Path) -> list[Path]:
    """The pages, without the one that a server shows for wrong addresses."""
    found = (path for path in sorted(site.rglob("*.html")) if "files" not in path.relative_to(site).parts)
    return [path for path in found if path.name != "404.html"]


@pytest.fixture
def opened(site: Path) -> Iterator[Any]:
    """Give a function that opens a browser's window of a width; addresses outside the site are refused and listed."""
    if BROWSER is None and not os.environ.get("REQUIRE_BROWSER"):
        pytest.skip("no Chromium here; CHROMIUM_PATH says where one is")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=BROWSER, args=["--no-sandbox"] if os.geteuid() == 0 else [], chromium_sandbox=False
        )

        def window(width: int) -> tuple[Any, list[str]]:
            context, asked = browser.new_context(viewport={"width": width, "height": 800}), list[str]()

            def answer(route: Any) -> None:
                if route.request.url.startswith(site.as_uri()):
                    route.continue_()
                else:
                    asked.append(route.request.url)
                    route.abort()

            context.route("**/*", answer)
            return context.new_page(), asked

        yield window
        browser.close()


@pytest.mark.slow
@MADE
@pytest.mark.timeout(400)
def test_every_page_fits_a_telephone_and_asks_no_other_host(site: Path, opened: Any) -> None:
    page, asked = opened(360)
    wide = {}
    for path in html_pages(site):
        page.goto(path.as_uri())
        found = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        if found[0] > found[1]:
            wide[path.relative_to(site).as_posix()] = found
    assert wide == {}
    assert asked == []
