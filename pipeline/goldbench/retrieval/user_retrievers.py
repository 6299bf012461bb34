"""Retrievers of the user: a function or an endpoint that answers one query at a time, or an object with an index."""

from __future__ import annotations

import contextlib
import importlib
import math
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from goldbench.errors import RetrieverFailed
from goldbench.measures.ranks.text_match import TextMatch
from goldbench.retrieval.user_answers import Returns, UserResult, read_answer
from goldbench.retrieval.user_calls import CallThread, of_query

Ask = Callable[[str, int], Any]
"""Takes a query and the number of results wanted; returns results, or something to await that gives them."""
FindText = Callable[[str, str, Collection[str]], "str | None"]
"""Takes the id of a query, a text and the passages found before; returns the passage that the text is, or None."""


class UserRetriever:
    """A function that searches an index of its own: passages are only needed to recognise its answers.

    A text that is not a passage keeps its rank, under an id that begins with ``placeholder``.
    """

    def __init__(
        self,
        function: Ask,
        *,
        name: str,
        timeout_s: float,
        returns: Returns = "ids",
        find_text: FindText | None = None,
        quotes_errors: bool = True,
    ) -> None:
        """Take the function.

        Args:
            function: Answers one query.
            name: The name of the system.
            timeout_s: Seconds that one query may take.
            returns: Whether a plain string in an answer is an id or a text.
            find_text: Finds the passage that a text is; None to compare texts with every passage.
            quotes_errors: Whether the messages of its errors are shown, which may quote a text or a key.
        """
        self._function = function
        self._timeout_s = timeout_s
        self._returns = returns
        self._find_text = find_text
        self._passages: Mapping[str, str] = {}
        self._thread = CallThread(quotes_errors=quotes_errors)
        self.placeholder = f"no-passage-of-{'-'.join(name.split())}-"

    def index(self, passages: Mapping[str, str]) -> None:
        """Keep the passages that the answers will name."""
        self._passages = passages

    def search(self, queries: Mapping[str, str], *, k: int) -> dict[str, dict[str, float]]:
        """Return for each query the results of its answer, in their order; without scores, each is 1 lower."""
        run = {}
        for query_id, text in queries.items():
            with of_query(query_id):
                run[query_id] = self._scores(query_id, self._ask(text, k))
        return run

    def close(self) -> None:
        """Let the thread of the function end."""
        self._thread.close()

    def _ask(self, query: str, k: int) -> list[UserResult]:
        answer = self._thread.call(lambda: self._function(query, k), within_s=self._timeout_s)
        results: list[UserResult] = self._thread.call(  # a generator works while it is read
            lambda: read_answer(answer, returns=self._returns), within_s=self._timeout_s
        )
        return results

    def _scores(self, query_id: str, results: Sequence[UserResult]) -> dict[str, float]:
        scores: dict[str, float] = {}
        for position, result in enumerate(results):
            doc_id = self._id_of(result, query_id, scores) or f"{self.placeholder}{position + 1}"
            if doc_id in scores:
                raise RetrieverFailed(f"answered passage {doc_id[:60]!r} twice for one query")
            scores[doc_id] = float(-position) if result.score is None else result.score
        return scores

    def _id_of(self, result: UserResult, query_id: str, earlier: Collection[str]) -> str | None:
        known = next((doc_id for doc_id in result.ids if doc_id in self._passages), None)
        if known is not None:
            return known
        if result.text is None:
            return result.ids[0]
        if self._find_text is None:
            every = {"": dict.fromkeys(self._passages, 0)}
            find = TextMatch(every, self._passages).find
            self._find_text = lambda _, text, earlier: find("", text, earlier)
        return self._find_text(query_id, result.text, earlier)


class UserIndex:
    """An object with ``index`` and ``search``; its search may take ``timeout_s`` seconds for each query."""

    def __init__(self, retriever: Any, *, timeout_s: float) -> None:  # noqa: ANN401  of the user
        self._retriever = retriever
        self._timeout_s = timeout_s
        self._thread = CallThread()

    def index(self, passages: Mapping[str, str]) -> None:
        """Index the passages; the object has a copy, which it may change."""
        self._thread.call(partial(self._retriever.index, dict(passages)), within_s=math.inf, what=" while indexing")

    def search(self, queries: Mapping[str, str], *, k: int) -> Any:  # noqa: ANN401  whatever the object answers
        """Return what the object answers."""
        search = partial(self._retriever.search, dict(queries), k=k)
        return self._thread.call(search, within_s=self._timeout_s * max(1, len(queries)), what=" while searching")

    def close(self) -> None:
        """Let the thread end; the object stays as it is."""
        self._thread.close()


def imported_function(path: str, *, folders: Sequence[Path]) -> Ask:
    """Return the function that ``package.module:function`` names; what it prints goes to standard error.

    Args:
        path: The module and the name of the function in it.
        folders: Folders that are searched for modules before all others.

    Raises:
        RetrieverFailed: The module or function does not exist.
    """
    module_name, _, name = path.partition(":")
    sys.path[:0] = [str(folder.resolve()) for folder in folders if str(folder.resolve()) not in sys.path]
    try:
        function: Any = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        missing = error.name or module_name
        raise RetrieverFailed(f"there is no module {missing}: is it in this folder, or installed?") from None
    for part in name.split("."):
        function = getattr(function, part, None)
    if not callable(function):
        raise RetrieverFailed(f"module {module_name} has no function {name}")

    def ask(query: str, k: int) -> Any:  # noqa: ANN401  whatever the function answers
        with contextlib.redirect_stdout(sys.stderr):  # standard output belongs to the command
            return function(query, k)

    return ask
