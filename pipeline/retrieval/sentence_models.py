"""Models of the ``sentence-transformers`` package: one that embeds texts, and a cross-encoder that rates pairs."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy.typing as npt

from pipeline.errors import MissingExtra, RetrieverFailed
from pipeline.ports import Retriever
from pipeline.retrieval.dense import embedded
from pipeline.retrieval.hub import check_folder, load, quiet
from pipeline.retrieval.rerank import Reranker
from pipeline.retrieval.stopwatch import Stopwatch
from pipeline.retrieval.system_settings import CrossEncoderSettings, SentenceTransformersSettings
from pipeline.retrieval.vectors import Rows

_DEVICE = "cpu"
"""The same vectors on every machine, as nearly as can be; a graphics card computes others."""
_BATCHES_AT_ONCE = 64
"""Within so many batches texts are sorted by length, which saves most of the padding."""
_WORTH_THREADS = 16


class SentenceTransformersEncoder:
    """Vectors of a sentence-transformers model, by name or folder, computed here.

    A model that has prompts of its own for queries and passages uses them, unless the settings give prefixes. What is
    longer than the model reads is cut off by it.
    """

    def __init__(self, settings: SentenceTransformersSettings, *, name: str) -> None:
        """Load the model.

        Raises:
            MissingExtra: the package is not installed.
            RetrieverFailed: the model cannot be found or loaded.
        """
        check_folder(settings.model, name=name)
        self._settings, self._name = settings, name
        library = _library()

        def loading(*, local: bool) -> Any:  # noqa: ANN401  a class of a package that may be absent
            return library.SentenceTransformer(settings.model, device=_DEVICE, local_files_only=local)

        self._model = load(
            settings.model, name=name, local=lambda: loading(local=True), remote=lambda: loading(local=False)
        )

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
            with _working(self._name, self._settings.model), _threads(len(batch)):
                rows: npt.NDArray[Any] = encode(
                    [readable(text) for text in batch], batch_size=self._settings.batch, show_progress_bar=False
                )
            return rows

        at_once = self._settings.batch * _BATCHES_AT_ONCE
        return embedded(texts, embed, name=self._name, prefix=prefix, at_once=at_once)


class CrossEncoder(Reranker):
    """A cross-encoder of sentence-transformers over the first results of another system."""

    def __init__(self, settings: CrossEncoderSettings, *, name: str, of: Retriever, stopwatch: Stopwatch) -> None:
        """Load the model.

        Raises:
            MissingExtra: the package is not installed.
            RetrieverFailed: the model cannot be found or loaded, or gives more than one number for a pair.
        """
        check_folder(settings.model, name=name)
        library = _library()

        def loading(*, local: bool) -> Any:  # noqa: ANN401  as above
            return library.CrossEncoder(settings.model, device=_DEVICE, local_files_only=local)

        model = load(settings.model, name=name, local=lambda: loading(local=True), remote=lambda: loading(local=False))
        if model.num_labels != 1:
            problem = f"model {settings.model!r} gives {model.num_labels} numbers for a pair; a reranker gives one"
            raise RetrieverFailed(name, problem)

        def rate_all(asked: Sequence[tuple[str, Sequence[str]]]) -> list[list[float]]:
            pairs = [(readable(query), readable(text)) for query, texts in asked for text in texts]
            with _working(name, settings.model):
                scores = iter(model.predict(pairs, batch_size=settings.batch, show_progress_bar=False).tolist())
            return [[next(scores) for _ in texts] for _, texts in asked]

        super().__init__(settings, name=name, of=of, rate_all=rate_all, stopwatch=stopwatch)


def readable(text: str) -> str:
    """Return the text without lone surrogates, which no tokenizer takes."""
    return text.encode("utf-8", "replace").decode()


@contextlib.contextmanager
def _working(name: str, model: str) -> Iterator[None]:
    try:
        with quiet():
            yield
    except Exception as error:
        raise RetrieverFailed(name, f"model {model!r} failed ({type(error).__name__})") from error


@contextlib.contextmanager
def _threads(texts: int) -> Iterator[None]:
    """Let one thread work on a handful of texts: where others want the processor too, several wait for one another."""
    import torch

    before = torch.get_num_threads()
    if texts >= _WORTH_THREADS:
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _library() -> Any:  # noqa: ANN401  a module
    try:
        with quiet():
            import sentence_transformers
    except ImportError:
        raise MissingExtra("sentence-transformers", "sentence-transformers") from None
    return sentence_transformers
