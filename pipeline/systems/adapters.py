"""Retrievers of other libraries, and any function of a query, as one of ours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pipeline.errors import UsageError
from pipeline.ports import Retriever
from pipeline.retrieval.deadline import Ask, InThread
from pipeline.retrieval.foreign_results import ID_KEYS, Returns
from pipeline.retrieval.guard import Guarded
from pipeline.retrieval.own import Own


def adapt(
    thing: Any,  # noqa: ANN401  known by what it can do
    *,
    name: str = "retriever",
    returns: Returns = "ids",
    id_keys: Sequence[str] = ID_KEYS,
    timeout_s: float = 30.0,
) -> Guarded:
    """Return a retriever of ours for one of another library, every answer of it checked.

    Args:
        thing: A LangChain retriever (``invoke``), a LlamaIndex retriever (``retrieve``), a retriever of ours, or
            any function of a query and k; functions may be asynchronous.
        name: What it is called in messages.
        returns: Whether a plain string that it returns is an id or a text.
        id_keys: Where a document's metadata may say which passage it is; without, it is known by its own id or text.
        timeout_s: The seconds that one query may take.

    Raises:
        UsageError: It is none of these.
    """
    return Guarded(unguarded(thing, name=name, returns=returns, id_keys=id_keys, timeout_s=timeout_s), name=name)


def unguarded(
    thing: Any,  # noqa: ANN401
    *,
    name: str,
    returns: Returns = "ids",
    id_keys: Sequence[str] = ID_KEYS,
    timeout_s: float = 30.0,
) -> Retriever:
    """Return the same as ``adapt`` for a caller that checks its answers."""
    if isinstance(thing, Guarded) or (callable(getattr(thing, "index", None)) and _has(thing, "search")):
        ours: Retriever = thing
        return ours
    answering = InThread(_ask(thing, name), name=name, timeout_s=timeout_s, returns=returns, id_keys=id_keys)
    return Own(answering, name=name)


def _ask(thing: Any, name: str) -> Ask:  # noqa: ANN401
    """Return the function of a query and k; libraries set how many they return themselves, and may return more."""
    for method in ("invoke", "retrieve"):
        if _has(thing, method):
            return _first(getattr(thing, method))
    if callable(thing):
        ask: Ask = thing
        return ask
    what = "neither a function of a query and k nor an object with invoke, retrieve, or index and search"
    raise UsageError(f"system {name}: a {type(thing).__name__} is {what}")


def _first(method: Callable[[str], Any]) -> Ask:
    return lambda query, k: list(method(query))[:k]


def _has(thing: object, method: str) -> bool:
    return callable(getattr(thing, method, None))
