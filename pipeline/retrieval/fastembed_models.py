"""Models of the ``fastembed`` package, by name: small ONNX models, without torch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from pipeline.errors import MissingExtra, RetrieverFailed
from pipeline.retrieval.dense import embedded
from pipeline.retrieval.hub import load, quiet
from pipeline.retrieval.system_settings import FastembedSettings
from pipeline.retrieval.vectors import Rows

_AT_ONCE = 2048


class FastembedEncoder:
    """Vectors of a fastembed model, computed here; queries and passages each as the model wants them."""

    def __init__(self, settings: FastembedSettings, *, name: str) -> None:
        """Load the model.

        Raises:
            MissingExtra: the package is not installed.
            RetrieverFailed: the package does not know the model, or the model cannot be found or loaded.
        """
        self._settings, self._name = settings, name
        library = _library()
        known = [str(entry["model"]) for entry in library.TextEmbedding.list_supported_models()]
        if settings.model.lower() not in {model.lower() for model in known}:
            problem = f"fastembed knows no model {settings.model!r}; it knows {len(known)}, as {known[0]!r}"
            raise RetrieverFailed(name, problem)

        def loading(*, local: bool) -> Any:  # noqa: ANN401  a class of a package that may be absent
            return library.TextEmbedding(settings.model, local_files_only=local)

        self._model = load(
            settings.model, name=name, local=lambda: loading(local=True), remote=lambda: loading(local=False)
        )

    def passages(self, texts: Mapping[str, str]) -> Rows:
        """Return one row per passage, in order."""
        return self._encoded(texts, self._model.passage_embed)

    def queries(self, texts: Mapping[str, str]) -> Rows:
        """Return one row per query, in order."""
        return self._encoded(texts, self._model.query_embed)

    def _encoded(self, texts: Mapping[str, str], encode: Callable[[list[str]], Iterable[npt.NDArray[Any]]]) -> Rows:
        def embed(batch: Sequence[str]) -> npt.NDArray[Any]:
            try:
                with quiet():
                    return np.stack(list(encode([text.encode("utf-8", "replace").decode() for text in batch])))
            except Exception as error:
                problem = f"model {self._settings.model!r} failed ({type(error).__name__})"
                raise RetrieverFailed(self._name, problem) from error

        return embedded(texts, embed, name=self._name, at_once=_AT_ONCE)


def _library() -> Any:  # noqa: ANN401  a module
    try:
        with quiet():
            import fastembed
            from loguru import logger
    except ImportError:
        raise MissingExtra("fastembed", "fastembed") from None
    logger.disable("fastembed")
    return fastembed
