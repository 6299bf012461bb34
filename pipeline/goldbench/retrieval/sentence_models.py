"""Models of the ``sentence-transformers`` package: encoders of texts, and cross-encoders that rate pairs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy.typing as npt

from goldbench.errors import MissingExtra, RetrieverFailed
from goldbench.retrieval.dense import embedded
from goldbench.retrieval.local_models import check_folder, load, quiet, working
from goldbench.retrieval.model_calls import readable
from goldbench.retrieval.rerank import RateAll
from goldbench.retrieval.system_settings import CrossEncoderSettings, SentenceTransformersSettings
from goldbench.retrieval.vectors import Rows

_DEVICE = "cpu"
"""A graphics card computes other vectors; a processor gives nearly the same ones on every machine."""
_BATCHES_AT_ONCE = 64
"""Batches handed to the model at a time; it sorts their texts by length, which saves most of the padding."""


class SentenceTransformersEncoder:
    """Vectors of a sentence-transformers model, by name or folder, computed here.

    A model that has prompts of its own for queries and passages uses them, unless the settings give prefixes. The model
    cuts off texts that are too long for it.
    """

    def __init__(self, settings: SentenceTransformersSettings) -> None:
        """Load the model.

        Raises:
            MissingExtra: The package is not installed.
            RetrieverFailed: The model cannot be found or loaded.
        """
        self._settings = settings
        self._model = _loaded("SentenceTransformer", settings.model)

    def passages(self, texts: Mapping[str, str]) -> Rows:
        """Return one row per passage, in order."""
        return self._encoded(texts, self._settings.passage_prefix, self._model.encode_document)

    def queries(self, texts: Mapping[str, str]) -> Rows:
        """Return one row per query, in order."""
        return self._encoded(texts, self._settings.query_prefix, self._model.encode_query)

    def _encoded(self, texts: Mapping[str, str], prefix: str, with_prompt: Callable[..., Any]) -> Rows:
        prefixes = self._settings.query_prefix or self._settings.passage_prefix
        encode = self._model.encode if prefixes else with_prompt

        def embed(batch: Sequence[str]) -> npt.NDArray[Any]:
            with working(self._settings.model):
                rows: npt.NDArray[Any] = encode(
                    [readable(text) for text in batch], batch_size=self._settings.batch, show_progress_bar=False
                )
            return rows

        return embedded(texts, embed, prefix=prefix, at_once=self._settings.batch * _BATCHES_AT_ONCE)


def cross_encoder(settings: CrossEncoderSettings) -> RateAll:
    """Load a cross-encoder, by name or folder, and return what rates passages with it.

    Raises:
        MissingExtra: The package is not installed.
        RetrieverFailed: The model cannot be found or loaded, or gives more than one number for a pair.
    """
    model = _loaded("CrossEncoder", settings.model)
    if model.num_labels != 1:
        problem = f"model {settings.model!r} gives {model.num_labels} numbers for a pair; a reranker gives one"
        raise RetrieverFailed(problem)

    def rate_all(requests: Sequence[tuple[str, Sequence[str]]]) -> list[list[float]]:
        pairs = [(readable(query), readable(text)) for query, texts in requests for text in texts]
        with working(settings.model):
            scores = iter(model.predict(pairs, batch_size=settings.batch, show_progress_bar=False).tolist())
        return [[next(scores) for _ in texts] for _, texts in requests]

    return rate_all


def _loaded(kind: str, model: str) -> Any:  # noqa: ANN401  a class of a package that may be absent
    check_folder(model)
    try:
        with quiet():
            import sentence_transformers
    except ImportError:
        raise MissingExtra("sentence-transformers", "sentence-transformers") from None
    return load(model, partial(getattr(sentence_transformers, kind), model, device=_DEVICE))
