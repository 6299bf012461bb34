"""Retrievers of the user: a function or an endpoint that answers one query at a time, or an object with an index."""

from __future__ import annotations

import contextlib
import importlib
import math
import sys
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from goldbench.errors import RetrieverFailed
from goldbench.retrieval.user_answers import Returns, UserResult, read_answer
from goldbench.retrieval.user_calls import CallThread, of_query
from goldbench.text.similarity import normal

_START = 24
"""Characters of a passage's start that find it within a longer text; shorter passages are tried one by one."""
_BREAK = "\n"
"""Separates passages; no text in normal form holds it."""
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
        is_named: bool = False,
        on_close: Callable[[], None] = lambda: None,
    ) -> None:
        """Take the function.

        Args:
            function: Answers one query.
            name: The name of the system.
            timeout_s: Seconds that one query may take.
            returns: Whether a plain string in an answer is an id or a text.
            find_text: Finds the passage that a text is; None to compare texts with every passage.
            is_named: Whether a command line names the function. Then what it prints goes to standard error, and the
                messages of its errors, which may quote a text or a key, are not shown.
            on_close: Ends what the function uses.
        """
        self._function = function
        self._timeout_s = timeout_s
        self._returns = returns
        self._find_text = find_text
        self._is_named = is_named
        self._on_close = on_close
        self._passages: Mapping[str, str] = {}
        self._by_text: PassagesByText | None = None
        self._thread = CallThread(quotes_errors=not is_named)
        self.placeholder = f"no-passage-of-{'-'.join(name.split())}-"

    def index(self, passages: Mapping[str, str]) -> None:
        """Keep the passages that the answers will name."""
        self._passages = passages
        self._by_text = None

    def search(self, queries: Mapping[str, str], *, k: int) -> dict[str, dict[str, float]]:
        """Return for each query the results of its answer, in their order; without scores, each is 1 lower."""
        run = {}
        for query_id, text in queries.items():
            with of_query(query_id):
                run[query_id] = self._scores(query_id, self._ask(text, k))
        return run

    def close(self) -> None:
        """Let the thread of the function end, and what it uses."""
        self._thread.close()
        self._on_close()

    def _ask(self, query: str, k: int) -> list[UserResult]:
        with _printing_aside() if self._is_named else contextlib.nullcontext():
            answer = self._thread.call(lambda: self._function(query, k), within_s=self._timeout_s)
            results: list[UserResult] = self._thread.call(  # a generator works while it is read
                lambda: read_answer(answer, returns=self._returns), within_s=self._timeout_s
            )
        return results

    def _scores(self, query_id: str, results: Sequence[UserResult]) -> dict[str, float]:
        scores: dict[str, float] = {}
        for position, result in enumerate(results):
            doc_id = self._id_of(result, query_id, scores)
            if doc_id is None:
                doc_id = f"{self.placeholder}{position + 1}"
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
        if self._find_text is not None:
            return self._find_text(query_id, result.text, earlier)
        if self._by_text is None:
            self._by_text = PassagesByText(self._passages)
        return self._by_text.find(result.text, earlier=earlier)


class PassagesByText:
    """The passages of a corpus by their text: a text is a passage if either contains the other, in normal form.

    An equal text goes before one that is only contained.
    """

    def __init__(self, passages: Mapping[str, str]) -> None:
        """Index the passages by id."""
        self._texts = {doc_id: text for doc_id in sorted(passages) if (text := normal(passages[doc_id]))}
        self._ids = list(self._texts)
        self._equal: dict[str, list[str]] = {}
        self._starting: dict[str, list[str]] = {}
        self._short: list[str] = []
        self._starts: list[int] = []
        position = 0
        for doc_id, text in self._texts.items():
            self._equal.setdefault(text, []).append(doc_id)
            if len(text) < _START:
                self._short.append(doc_id)
            else:
                self._starting.setdefault(text[:_START], []).append(doc_id)
            self._starts.append(position)
            position += len(text) + len(_BREAK)
        self._whole = _BREAK.join(self._texts.values())

    def find(self, text: str, *, earlier: Collection[str] = ()) -> str | None:
        """Return the id of the passage that the text is; None if it is none, or only ``earlier`` ones."""
        text = normal(text)
        return next((doc_id for doc_id in self._candidates(text) if doc_id not in earlier), None) if text else None

    def _candidates(self, text: str) -> Iterator[str]:
        yield from self._equal.get(text, [])
        at = self._whole.find(text)
        while at >= 0:
            yield self._ids[bisect_right(self._starts, at) - 1]
            at = self._whole.find(text, at + 1)
        for start in range(len(text) - _START + 1):
            for doc_id in self._starting.get(text[start : start + _START], ()):
                if text.startswith(self._texts[doc_id], start):
                    yield doc_id
        yield from (doc_id for doc_id in self._short if self._texts[doc_id] in text)


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


def imported_function(path: str, *, folders: Sequence[Path], within_s: float) -> Ask:
    """Return the function that ``package.module:function`` names; what its import prints goes to standard error.

    Args:
        path: The module and the name of the function in it.
        folders: Folders that are searched for modules before all others.
        within_s: Seconds that the import may take.

    Raises:
        RetrieverFailed: The module or function does not exist, or the import failed or did not end in time.
    """
    sys.path[:0] = [str(folder.resolve()) for folder in folders]
    thread = CallThread(quotes_errors=False)
    with _printing_aside(), contextlib.closing(thread):
        function: Ask = thread.call(partial(_import, path), within_s=within_s, what=" while importing")
    return function


def _import(path: str) -> Any:  # noqa: ANN401  whatever the module holds by this name
    module_name, _, name = path.partition(":")
    try:
        function: Any = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        missing = error.name or module_name
        raise RetrieverFailed(f"there is no module {missing}: is it in this folder, or installed?") from None
    for part in name.split("."):
        function = getattr(function, part, None)
    if not callable(function):
        raise RetrieverFailed(f"module {module_name} has no function {name}")
    return function


def _printing_aside() -> contextlib.redirect_stdout[Any]:
    """Return a block in which what is printed goes to standard error: standard output belongs to the command."""
    return contextlib.redirect_stdout(sys.stderr)
