"""Loading models of libraries that fetch them from a hub: what is here first, no long waits, no chatter."""

from __future__ import annotations

import contextlib
import logging
import sys
import warnings
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from pipeline.errors import RetrieverFailed

M = TypeVar("M")

_PATIENCE_S = 10.0
_CHATTY = ("sentence_transformers", "transformers", "huggingface_hub", "httpx", "httpcore", "torch", "fastembed")
_SHOWN = 200


def load(model: str, *, name: str, local: Callable[[], M], remote: Callable[[], M]) -> M:
    """Return a model from its folder or from the local cache, and only else from the hub.

    Args:
        model: Its name or folder.
        name: The system, for messages.
        local: Loads it without asking anybody.
        remote: Loads it, fetching what is missing.

    Raises:
        RetrieverFailed: it is not here and the hub cannot be reached or does not have it, or it cannot be loaded.
    """
    with quiet():
        try:
            return local()
        except Exception as error:  # noqa: BLE001  libraries raise whatever they like; what it was decides below
            problem = _first_line(error)
        if not Path(model).exists():
            problem = hub_problem(model) or ""
            if not problem:
                try:
                    return remote()
                except Exception as error:  # noqa: BLE001  as above
                    problem = _first_line(error)
    raise RetrieverFailed(name, f"model {model!r} cannot be loaded: {problem}")


def check_folder(model: str, *, name: str) -> None:
    """Refuse a folder that is not there, which needs no library and so no time.

    Raises:
        RetrieverFailed: the model is named by a folder, and there is none.
    """
    if is_path(model) and not Path(model).exists():
        raise RetrieverFailed(name, f"model {model!r} cannot be loaded: there is no such folder")


def is_path(model: str) -> bool:
    """Whether a model is named by its folder, as ``/models/x`` or ``./x``; the hub's names are ``x`` or ``owner/x``."""
    return model.startswith(("/", ".", "~")) or model.count("/") > 1 or "\\" in model


def hub_problem(model: str) -> str | None:
    """Return why the hub cannot be asked for a model, None where it answers; asks once, for ten seconds at most."""
    import huggingface_hub
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, OfflineModeIsEnabled

    try:
        huggingface_hub.HfApi().model_info(model, timeout=_PATIENCE_S)
    except OfflineModeIsEnabled:
        return "it is not in the local cache, and HF_HUB_OFFLINE forbids to fetch it"
    except HFValidationError:
        return "this is no name of a model, and there is no such folder"
    except HfHubHTTPError:
        return None  # the hub answers; what it says of the model the library puts better
    except Exception as error:  # noqa: BLE001  connections fail in as many ways as there are clients
        return f"it is no folder and not in the local cache, and the hub cannot be reached ({type(error).__name__})"
    return None


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keep the libraries' warnings, logs and progress bars off the terminal until the end of the block."""
    loggers = [logging.getLogger(name) for name in _CHATTY]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        with warnings.catch_warnings(), _without_bars():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


@contextlib.contextmanager
def _without_bars() -> Iterator[None]:
    bars: Any = import_module("huggingface_hub.utils")
    own: Any = sys.modules.get("transformers.utils.logging")  # it took over the hub's setting when it was imported
    hub_shows, own_shows = not bars.are_progress_bars_disabled(), own is not None and own.is_progress_bar_enabled()
    if hub_shows:
        bars.disable_progress_bars()
    if own_shows:
        own.disable_progress_bar()
    try:
        yield
    finally:
        if own_shows:
            own.enable_progress_bar()
        if hub_shows:
            bars.enable_progress_bars()


def _first_line(error: Exception) -> str:
    said = str(error).strip()
    line = " ".join(said.splitlines()[0].split()) if said else ""
    return f"{line[:_SHOWN]} ({type(error).__name__})" if line else type(error).__name__
