"""Encoder models of the ``fastembed`` package, by name: small ONNX models, without torch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from goldbench.errors import MissingExtra, RetrieverFailed
from goldbench.retrieval.dense import embedded
from goldbench.retrieval.local_models import load, quiet, working
from goldbench.retrieval.model_calls import readable
from goldbench.retrieval.system_settings import FastembedSettings
from goldbench.retrieval.vectors import Rows

_AT_ONCE = 2048
"""Texts handed to the model at a time."""


class FastembedEncoder:
    """Vectors of a fastembed model, computed here; it adds its own prefixes to queries and passages."""

    def __init__(self, settings: FastembedSettings) -> None:
        """Load the model.

        Raises:
            MissingExtra: The package is not installed.
            RetrieverFailed: The package does not know the model, or the model cannot be found or loaded.
        """
        self._settings = settings
        library = _library()
        known = [str(entry["model"]) for entry in library.TextEmbedding.list_supported_models()]
        if settings.model.lower() not in {model.lower() for model in known}:
            problem = f"fastembed knows no model {settings.model!r}; it knows {len(known)}, as {known[0]!r}"
            raise RetrieverFailed(problem)
        self._model: Any = load(settings.model, partial(library.TextEmbedding, settings.model))

    def passages(self, texts: Mapping[str, str]) -> Rows:
        """Return one row per passage, in order."""
        return self._encoded(texts, self._model.passage_embed)

    def queries(self, texts: Mapping[str, str]) -> Rows:
        """Return one row per query, in order."""
        return self._encoded(texts, self._model.query_embed)

    def _encoded(self, texts: Mapping[str, str], encode: Callable[[list[str]], Iterable[npt.NDArray[Any]]]) -> Rows:
        def embed(batch: Sequence[str]) -> npt.NDArray[Any]:
            with working(self._settings.model):
                return np.stack(list(encode([readable(text) for text in batch])))

        return embedded(texts, embed, at_once=_AT_ONCE)


def _library() -> Any:  # noqa: ANN401  a module
    try:
        with quiet():
            import fastembed
            from loguru import logger
    except ImportError:
        raise MissingExtra("fastembed", "fastembed") from None
    logger.disable("fastembed")
    return fastembed
