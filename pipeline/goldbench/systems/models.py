"""Models of retrieval systems: asynchronous paths that run in a thread of their own and are called synchronously."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from goldbench.config import Config, load_config
from goldbench.errors import ModelError, RetrieverFailed
from goldbench.ports import ChatRequest, Completion
from goldbench.records.manifest import StageUsage

if TYPE_CHECKING:
    import numpy as np

    from goldbench.llm.budget import Budget
    from goldbench.llm.server_settings import ModelSettings
    from goldbench.llm.store import AnswerStore
    from goldbench.retrieval.system_settings import EmbeddingSettings, RerankEndpointSettings


class Models:
    """The paths to models that systems need, each opened when it is first needed, all closed at the end.

    Every answer is stored before it is used, and comes from the store the next time.
    """

    def __init__(self, config: Config | None, *, answers: Path | None, replay: bool) -> None:
        """Take the configuration and the store; nothing is opened yet.

        Args:
            config: Names the models; None takes them from the environment.
            answers: The file of the store; None keeps no answers.
            replay: Whether models are answered from the store alone.
        """
        self._config = config
        self._answers = answers
        self.replay = replay
        self._stack = contextlib.ExitStack()
        self._portal: Any = None
        self._store: AnswerStore | None = None
        self._paths: dict[object, Any] = {}
        self._budget: Budget | None = None

    def __enter__(self) -> Self:
        """Return the models."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Close every path, then the store."""
        self._stack.__exit__(kind, error, at)

    def embedding(self, settings: EmbeddingSettings) -> Callable[[Sequence[str]], np.ndarray]:
        """Return what turns texts into vectors.

        Raises:
            RetrieverFailed: No embedding model is named, or no server is known.
        """
        model = settings.model or self.config.model.embedding
        if not model:
            raise RetrieverFailed(
                "no embedding model is named: name one as model of the system, or as embedding in [model]"
            )
        dimensions = settings.dimensions or (None if settings.model else self.config.model.dimensions)
        names: dict[str, Any] = {"name": model, "embedding": model, "dimensions": dimensions}
        path = self._path(self._server(settings.base_url, settings.api_key_env, **names))

        def embed(texts: Sequence[str]) -> np.ndarray:
            rows: np.ndarray = self._portal.call(path.embedder.embed, texts)
            return rows

        return embed

    def chat(self) -> Callable[[Sequence[ChatRequest[Any]]], list[Completion[Any] | ModelError]]:
        """Return what asks the chat model several questions at once, and gives an answer or an error for each.

        Raises:
            RetrieverFailed: No chat model is named, or no server is known.
            ModelUnavailable: The package with the bundled model is not installed.
            InputError: The model's file cannot be read or is not a model.
        """
        from goldbench.generate.writers import with_local_models

        if not self.config.model.name:
            raise RetrieverFailed("no chat model is named: set name in [model]")
        self._config = with_local_models(self.config, runs=not self.replay)
        path = self._path(self._server())

        async def ask(requests: Sequence[ChatRequest[Any]]) -> list[Completion[Any] | ModelError]:
            outcomes = await asyncio.gather(*map(path.complete, requests), return_exceptions=True)
            unexpected = next(
                (outcome for outcome in outcomes if not isinstance(outcome, Completion | ModelError)), None
            )
            if isinstance(unexpected, BaseException):
                raise unexpected
            return [outcome for outcome in outcomes if isinstance(outcome, Completion | ModelError)]

        return lambda requests: list(self._portal.call(ask, requests))

    def reranker(
        self, settings: RerankEndpointSettings
    ) -> Callable[[Sequence[tuple[str, Sequence[str]]]], Sequence[Sequence[float]]]:
        """Return what rates passages for queries at a ``/rerank`` endpoint.

        Raises:
            RetrieverFailed: The variable that should hold the key is not set.
        """
        from goldbench.llm.model_path import open_reranker
        from goldbench.llm.vectors import RerankSettings

        wanted = RerankSettings(url=settings.url, model=settings.model, api_key=key_in(settings.api_key_env))
        budget = self._shared_budget()
        path = self._opened(
            wanted, lambda: open_reranker(wanted, answers=self._store, replay=self.replay, budget=budget)
        )
        return lambda pairs: self._portal.call(path.rate_all, pairs)

    def usage(self) -> dict[str, StageUsage]:
        """Return the usage so far by stage, all paths together."""
        from goldbench.llm.prices import added

        total: dict[str, StageUsage] = {}
        for path in self._paths.values():
            for stage, spent in path.usage().items():
                total[stage] = added(total[stage], spent) if stage in total else spent
        return total

    @property
    def config(self) -> Config:
        """The configuration that names the models."""
        if self._config is None:
            self._config = load_config(None, {})
        return self._config

    def _server(
        self,
        base_url: str | None = None,
        api_key_env: str | None = None,
        **changes: Any,  # noqa: ANN401  fields of the settings
    ) -> ModelSettings:
        from goldbench.llm.server_settings import ModelSettings

        table = self.config.model
        is_file = table.file_of(changes.get("name", table.name)) is not None
        if not (is_file or base_url or table.server or self.replay):
            raise RetrieverFailed("needs a server: give a base URL, or set OPENAI_API_KEY or OPENAI_BASE_URL")
        key = key_in(api_key_env) if api_key_env else table.key_from_environment()
        if base_url:
            changes["base_url"] = base_url
        return ModelSettings.of(table, **{"name": table.name or "none", "api_key": key, **changes})

    def _path(self, settings: ModelSettings) -> Any:  # noqa: ANN401  a ModelPath, whose module is heavy
        from goldbench.llm.model_path import open_model

        budget = self._shared_budget()
        return self._opened(
            settings, lambda: open_model(settings, answers=self._store, replay=self.replay, budget=budget)
        )

    def _shared_budget(self) -> Budget:
        """Return the one budget of all paths: a cap holds for what they spend together."""
        from goldbench.llm.budget import Budget

        if self._budget is None:
            self._budget = Budget(self.config.model)
        return self._budget

    def _opened(self, key: object, opening: Callable[[], contextlib.AbstractAsyncContextManager[Any]]) -> Any:  # noqa: ANN401
        self._start()
        if key not in self._paths:
            self._paths[key] = self._stack.enter_context(self._portal.wrap_async_context_manager(opening()))
        return self._paths[key]

    def _start(self) -> None:
        """Open the store and the thread of the event loop, once."""
        if self._portal is not None:
            return
        from anyio.from_thread import start_blocking_portal

        from goldbench.errors import explained
        from goldbench.llm.store import AnswerStore

        if self._answers is not None:
            with explained(self._answers.parent):
                self._answers.parent.mkdir(parents=True, exist_ok=True)
            self._store = self._stack.enter_context(AnswerStore(self._answers))
        self._portal = self._stack.enter_context(start_blocking_portal())


def key_in(variable: str | None, *, needed: bool = True) -> str | None:
    """Return the key that an environment variable holds; None if no variable is named.

    Raises:
        RetrieverFailed: The key is needed, and the variable is not set.
    """
    key = os.environ.get(variable) if variable else None
    if variable and needed and not key:
        raise RetrieverFailed(f"the variable {variable}, which should hold the key, is not set")
    return key
