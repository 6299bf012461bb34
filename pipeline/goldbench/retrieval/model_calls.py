"""Calls of the chat model by a retrieval system: many at a time, and all of them must be answered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from goldbench.errors import ModelError, RetrieverFailed
from goldbench.ports import ChatRequest, Completion

CompleteAll = Callable[[Sequence[ChatRequest[Any]]], Sequence[Completion[Any] | ModelError]]
"""Returns an answer or a failure for each request, in order; every answer is stored before it is returned."""


def answers(complete_all: CompleteAll, requests: Sequence[ChatRequest[Any]]) -> list[Any]:
    """Return the answer to each request.

    Raises:
        RetrieverFailed: A call failed. Nothing replaces an answer: a system that is scored on a part of its queries
            would look worse, or better, than it is. The other answers stay in the store.
    """
    outcomes = complete_all(requests) if requests else ()
    failures = [outcome for outcome in outcomes if isinstance(outcome, ModelError)]
    if failures:
        count = f"{len(failures)} of {len(requests)}"
        raise RetrieverFailed(f"{count} calls of the model failed, the first: {failures[0]}")
    return [outcome.answer for outcome in outcomes if not isinstance(outcome, ModelError)]


def readable(text: str) -> str:
    """Return the text with ``?`` for lone surrogates, which neither a request nor a tokenizer takes."""
    return text.encode("utf-8", "replace").decode()
