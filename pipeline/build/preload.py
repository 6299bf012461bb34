"""Load slow modules in background threads, what a request needs first and the rest while the first reply is waited for.

Errors are ignored here; the code that needs a module raises them.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable

from goldbench.pipeline.llm.server_settings import ModelSettings
from goldbench.pipeline.text.language import detect_language, load_ahead

_LATIN = "hello"
"""A text whose language is told by the tables of the language detector."""
_PATIENCE_S = 10.0
"""Seconds after which the rest is loaded although no request was sent."""


def preload(settings: ModelSettings | None) -> None:
    """Begin to load what a build needs.

    Args:
        settings: The model that writes, None for no model.
    """
    load_ahead()
    if settings is not None:
        _begin(lambda: _load_path(settings))


def load_languages() -> None:
    """Load the tables of the language detector, which no request should wait for."""
    detect_language(_LATIN)


def _load_path(settings: ModelSettings) -> None:
    """Load the path to the model, and what its replies need once the first request is under way."""
    from goldbench.pipeline.llm import model_path  # noqa: F401
    from goldbench.pipeline.llm.transport import UNDER_WAY

    UNDER_WAY.wait(_PATIENCE_S)
    _load_checks(settings)
    _load_measurements()


def _load_checks(settings: ModelSettings) -> None:
    from goldbench.pipeline.llm.prices import PriceList
    from goldbench.pipeline.ports import Usage
    from goldbench.pipeline.text.deixis import deixis

    PriceList(settings).cost(Usage(1, 1))
    deixis(_LATIN, None)


def _load_measurements() -> None:
    from scipy import sparse  # noqa: F401

    from goldbench.pipeline.retrieval import term_ranks  # noqa: F401


def _begin(load: Callable[[], object]) -> None:
    def quietly() -> None:
        with contextlib.suppress(Exception):
            load()

    threading.Thread(target=quietly, name="goldbench preload", daemon=True).start()
