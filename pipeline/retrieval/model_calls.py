"""Questions to the chat model from a retrieval system: many at once, all of which must be answered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pipeline.errors import ModelError, RetrieverFailed
from pipeline.ports import ChatRequest, Completion

CompleteAll = Callable[[Sequence[ChatRequest[Any]]], Sequence[Completion[Any] | ModelError]]
"""An answer or a failure for each request, in order; what was answered is kept before it is handed over."""


def answers(complete_all: CompleteAll, requests: Sequence[ChatRequest[Any]], *, name: str) -> list[Any]:
    """Return the answer to each request.

    Raises:
        RetrieverFailed: a call failed. Nothing stands in for an answer: a system that is scored on a part of its
            queries would look worse, or better, than it is. The other answers are kept.
    """
    found: list[Any] = []
    failures: list[ModelError] = []
    for outcome in complete_all(requests) if requests else ():
        if isinstance(outcome, ModelError):
            failures.append(outcome)
        else:
            found.append(outcome.answer)
    if failures:
        problem = f"{len(failures)} of {len(requests)} calls of the model failed, the first: {failures[0]}"
        raise RetrieverFailed(name, problem)
    return found


def readable(text: str) -> str:
    """Return the text without lone surrogates, which no request may hold."""
    return text.encode("utf-8", "replace").decode()
