"""Retrievers of other libraries, and any function of a query, as retrievers of goldbench."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from goldbench.pipeline.errors import UsageError
from goldbench.pipeline.retrieval.deadline import Ask, InThread
from goldbench.pipeline.retrieval.foreign_results import ID_KEYS, Returns
from goldbench.pipeline.retrieval.guard import Guarded
from goldbench.pipeline.retrieval.own import Own


def adapt(
    thing: Any,  # noqa: ANN401  recognised by its methods
    *,
    name: str = "retriever",
    returns: Returns = "ids",
    id_keys: Sequence[str] = ID_KEYS,
    timeout_s: float = 30.0,
    prints: bool = False,
) -> Guarded:
    """Return a retriever for one of another library; every answer of it is checked.

    Args:
        thing: A LangChain retriever (``invoke``), a LlamaIndex retriever (``retrieve``), an object with ``index`` and
            ``search``, or any function of a query and k; functions may be asynchronous.
        name: The name of the system in messages.
        returns: Whether a plain string that it returns is an id or a text.
        id_keys: Keys of a document's metadata that may hold the id of its passage; a document without them is
            recognised by its own id or its text.
        timeout_s: Seconds that one query may take.
        prints: Whether what it prints goes to standard output, which belongs to the command otherwise.

    Raises:
        UsageError: It is none of these, or a function of something else.
    """
    if callable(getattr(thing, "index", None)) and callable(getattr(thing, "search", None)):
        return Guarded(thing, name=name)
    ask = _ask(thing, name)
    answering = InThread(ask, timeout_s=timeout_s, returns=returns, id_keys=id_keys, prints=prints)
    return Guarded(Own(answering, name=name), name=name)


def _ask(thing: Any, name: str) -> Ask:  # noqa: ANN401
    method = next((one for key in ("invoke", "retrieve") if callable(one := getattr(thing, key, None))), None)
    if method is not None:  # libraries set how many results they return, and may return more than k
        return lambda query, k: list(method(query))[:k]
    if callable(thing):
        _check_signature(thing, name)
        ask: Ask = thing
        return ask
    what = "neither a function of a query and k nor an object with invoke, retrieve, or index and search"
    raise UsageError(f"system {name}: a {type(thing).__name__} is {what}")


def _check_signature(function: Callable[..., Any], name: str) -> None:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # of some functions written in C nothing is known
        return
    try:
        signature.bind("query", 1)
    except TypeError as error:
        raise UsageError(f"system {name}: not a function of a query and k: {error}") from None
