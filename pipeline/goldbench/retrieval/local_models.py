"""Models that run on this machine, by libraries that fetch them from a hub: local first, no long waits, no chatter."""

from __future__ import annotations

import contextlib
import io
import logging
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from goldbench.errors import RetrieverFailed

M = TypeVar("M")

_PATIENCE_S = 10.0
"""Seconds to wait for the hub before it counts as unreachable."""
_SHOWN = 200
"""Characters of a library's message that are shown; the rest is cut off."""


def load(model: str, build: Callable[..., M]) -> M:
    """Return a model from its folder or the local cache; if it is in neither, from the hub.

    Args:
        model: Its name or folder.
        build: Loads the model. Called with ``local_files_only=True``, then with ``False`` to fetch what is missing.

    Raises:
        RetrieverFailed: The model is not here and the hub cannot be reached or does not have it, or loading it fails.
    """
    with quiet():
        try:
            return build(local_files_only=True)
        except Exception as error:  # noqa: BLE001  libraries raise any kind of error
            problem = _first_line(error)
        if not Path(model).exists():
            problem = hub_problem(model) or ""
            if not problem:
                try:
                    return build(local_files_only=False)
                except Exception as error:  # noqa: BLE001  as above
                    problem = _first_line(error)
    raise _not_loaded(model, problem)


def check_folder(model: str) -> None:
    """Refuse a folder that does not exist before any library is imported.

    Raises:
        RetrieverFailed: The model is given as a folder (``/models/x``, ``./x``) that does not exist. The hub's names
            are ``x`` or ``owner/x``.
    """
    is_path = model.startswith(("/", ".", "~")) or model.count("/") > 1 or "\\" in model
    if is_path and not Path(model).exists():
        raise _not_loaded(model, "folder not found")


def _not_loaded(model: str, problem: str) -> RetrieverFailed:
    return RetrieverFailed(f"model {model!r} cannot be loaded: {problem}")


def hub_problem(model: str) -> str | None:
    """Return why the hub cannot be asked for a model, or None if it answers; asks once."""
    import huggingface_hub
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, OfflineModeIsEnabled

    try:
        huggingface_hub.HfApi().model_info(model, timeout=_PATIENCE_S)
    except OfflineModeIsEnabled:
        return "it is not in the local cache, and HF_HUB_OFFLINE forbids fetching it"
    except HFValidationError:
        return "not a valid name of a model, and folder not found"
    except HfHubHTTPError:
        return None  # the hub answers, and the library describes its answer better
    except Exception as error:  # noqa: BLE001  each client fails in its own way
        return f"neither a folder nor in the local cache, and the hub cannot be reached ({type(error).__name__})"
    return None


@contextlib.contextmanager
def working(model: str) -> Iterator[None]:
    """Keep a model quiet inside the block.

    Raises:
        RetrieverFailed: The model failed.
    """
    try:
        with quiet():
            yield
    except Exception as error:
        raise RetrieverFailed(f"model {model!r} failed ({type(error).__name__})") from error


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keep the libraries' warnings, logs and progress bars off the terminal until the end of the block."""
    level = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with contextlib.redirect_stderr(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(level)


def _first_line(error: Exception) -> str:
    line = " ".join(str(error).strip().partition("\n")[0].split())
    return f"{line[:_SHOWN]} ({type(error).__name__})" if line else type(error).__name__
