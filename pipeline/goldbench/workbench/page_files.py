"""The files of the workbench page, served or written into one file."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from typing import Any

from goldbench.review.local_page import static_files, template
from goldbench.review.payload import NAMES

PACKAGE = "goldbench.workbench"
REPORT = "goldbench.report"

PASSAGE_SCRIPT, PASSAGE_STYLE = "passage.js", "passage.css"
"""What shows a passage on every page."""

SCRIPTS = (PASSAGE_SCRIPT, "texts.js", "source.js", "query.js", "workbench.js")
ENTRANCE_SCRIPT = "enter.js"
"""What leads somebody who followed a link of another page on to this one."""

STYLES = ("workbench.css", PASSAGE_STYLE)
"""In the order in which they take effect."""


def page_files() -> dict[str, Traversable]:
    """Return the scripts and styles of the page by name."""
    shared = static_files(REPORT, PASSAGE_SCRIPT, PASSAGE_STYLE, folder="templates")
    own = [name for name in (*SCRIPTS, *STYLES, ENTRANCE_SCRIPT) if name not in shared]
    return {**shared, **static_files(PACKAGE, *own)}


@dataclass(frozen=True, slots=True)
class Held:
    """What a page in one file holds: scripts, styles, and its data as base64 of a zlib stream."""

    scripts: tuple[str, ...]
    styles: tuple[str, ...]
    data: str

    @property
    def script_sources(self) -> str:
        """The only scripts that may run."""
        return _digests(self.scripts)

    @property
    def style_sources(self) -> str:
        """The only styles that count."""
        return _digests(self.styles)


def page_values(title: str, held: Held | None = None) -> dict[str, Any]:
    """Return what the template shows.

    Args:
        title: The name of the set; empty if the page asks for it.
        held: What the page holds, None if it is served.
    """
    return {"title": title, "held": held, "scripts": SCRIPTS, "styles": STYLES, "grades": json.dumps(NAMES)}


def one_file(title: str, data: str) -> str:
    """Return the page as one file that loads nothing.

    Args:
        title: The name of the set.
        data: Base64 of what it shows.
    """
    found = {name: file.read_text(encoding="utf-8") for name, file in page_files().items()}
    held = Held(tuple(found[name] for name in SCRIPTS), tuple(found[name] for name in STYLES), data)
    return template(PACKAGE, "workbench.html", **page_values(title, held))


def _digests(texts: Iterable[str]) -> str:
    hashes = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in texts)
    return " ".join(f"'sha256-{one}'" for one in hashes)
