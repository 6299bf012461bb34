"""Load slow modules in background threads while a build reads documents.

Errors are ignored here; the code that needs a module raises them.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable

from goldbench.pipeline.llm.server_settings import ModelSettings
from goldbench.pipeline.text.language import detect_language

_LATIN = "hello"
"""A text whose language is told by the tables of the language detector."""


def preload(settings: ModelSettings | None) -> None:
    """Begin to load what a build needs.

    Args:
        settings: The model that writes, None for no model.
    """
    _begin(load_languages)
    if settings is not None:
        _begin(lambda: _load_path(settings))


def load_languages() -> None:
    """Load the tables of the language detector, which no request should wait for."""
    detect_language(_LATIN)


def _load_path(settings: ModelSettings) -> None:
    """Load the path to the model, and while its first reply is waited for, prices and what checks of queries need."""
    from goldbench.pipeline.llm import model_path  # noqa: F401
    from goldbench.pipeline.llm.prices import PriceList
    from goldbench.pipeline.ports import Usage

    PriceList(settings).cost(Usage(1, 1))
    from scipy import sparse  # noqa: F401


def _begin(load: Callable[[], object]) -> None:
    def quietly() -> None:
        with contextlib.suppress(Exception):
            load()

    threading.Thread(target=quietly, name="goldbench preload", daemon=True).start()
