"""Retrievers of other libraries, and any function of a query, as retrievers of goldbench."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from goldbench.errors import UsageError
from goldbench.retrieval.guard import GuardedRetriever
from goldbench.retrieval.user_answers import Returns, kind_of
from goldbench.retrieval.user_retrievers import Ask, FindText, UserIndex, UserRetriever


def adapt(
    thing: Any,  # noqa: ANN401  recognised by its methods
    *,
    name: str = "retriever",
    returns: Returns = "ids",
    timeout_s: float = 30.0,
    advice: str = "",
    find_text: FindText | None = None,
) -> GuardedRetriever:
    """Return a retriever for one of the user or of another library; every answer of it is checked.

    Args:
        thing: A LangChain retriever (``invoke``), a LlamaIndex retriever (``retrieve``), an object with ``index`` and
            ``search``, or any function of a query and k; functions may be asynchronous.
        name: The name of the system in messages.
        returns: Whether a plain string that it returns is an id or a text.
        timeout_s: Seconds that one query may take.
        advice: What to do if it answers ids that are not passages.
        find_text: Finds the passage that a text is; None to compare texts with every passage.

    Raises:
        UsageError: It is none of these, or a function of something else.
    """
    if isinstance(thing, type):
        raise UsageError(f"system {name}: {thing.__name__} is a class; give an object of it, as {thing.__name__}()")
    if callable(getattr(thing, "index", None)) and callable(getattr(thing, "search", None)):
        _check_signature(thing.index, name, "index(passages)", {})
        _check_signature(thing.search, name, "search(queries, k=k)", {}, k=1)
        return GuardedRetriever(UserIndex(thing, timeout_s=timeout_s), name=name, advice=advice)
    function = _function_of(thing, name)
    retriever = UserRetriever(function, name=name, timeout_s=timeout_s, returns=returns, find_text=find_text)
    return GuardedRetriever(retriever, name=name, advice=advice)


def _function_of(thing: Any, name: str) -> Ask:  # noqa: ANN401
    method = getattr(thing, "invoke", None) or getattr(thing, "retrieve", None)
    if callable(method):

        def ask(query: str, k: int) -> Any:  # noqa: ANN401
            results = method(query)
            return results[:k] if isinstance(results, list | tuple) else results  # libraries set how many they return

        return ask
    if callable(thing):
        _check_signature(thing, name, "a function of a query and k", "query", 1)
        function: Ask = thing
        return function
    what = "neither a run nor a function of a query and k nor an object with invoke, retrieve, or index and search"
    raise UsageError(f"system {name}: {kind_of(thing) if thing is not None else thing} is {what}")


def _check_signature(function: Callable[..., Any], name: str, what: str, *values: object, **named: object) -> None:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # of some functions written in C nothing is known
        return
    try:
        signature.bind(*values, **named)
    except TypeError as error:
        raise UsageError(f"system {name}: not {what}: {error}") from None
