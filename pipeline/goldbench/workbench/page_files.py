"""The files of the workbench page, served or written into one file."""

from __future__ import annotations

import json
from importlib.resources.abc import Traversable
from typing import Any

from goldbench.review.page_server import FRAME, static_files
from goldbench.review.payload import GRADE_NAMES

PACKAGE = "goldbench.workbench"

SCRIPTS = ("passage.js", "page.js", "texts.js", "source.js", "query.js", "workbench.js")
STYLES = ("workbench.css", "passage.css")
"""In the order in which they take effect."""


def page_files() -> dict[str, Traversable]:
    """Return the scripts and styles of the page by name."""
    return {
        **static_files(PACKAGE, "texts.js", "source.js", "query.js", "workbench.js", "workbench.css", "enter.js"),
        **static_files(FRAME, "page.js"),
        **static_files("goldbench.report", "passage.js", "passage.css", folder="templates"),
    }


def page_values() -> dict[str, Any]:
    """Return what the template shows."""
    return {"title": "", "held": None, "scripts": SCRIPTS, "styles": STYLES, "grades": json.dumps(GRADE_NAMES)}
