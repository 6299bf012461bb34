"""The chat model as a listwise reranker: it orders the first results of another system, window by window."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from goldbench.errors import RetrieverFailed
from goldbench.ports import ChatRequest, Retriever
from goldbench.prompts.loader import load
from goldbench.records.replies import PassageOrder, passage_order
from goldbench.retrieval.model_calls import CompleteAll, answers, readable
from goldbench.retrieval.rerank import by_rank
from goldbench.retrieval.stopwatch import Stopwatch
from goldbench.retrieval.system_settings import ListwiseSettings
from goldbench.text.injection import delimiter

PROMPT = "listwise.v1"

_MOST_CHARACTERS = 4000
"""Limits the characters of a passage that the model reads; the rest is cut off."""


class Listwise:
    """The first ``depth`` results of the system ``of`` in the order of the model; the others below, in their order.

    The window begins at the last of the ``depth`` results and moves up by ``step``, so that a relevant passage can rise
    from the bottom to the top. Passages that the model leaves out stay behind those it names, in the order they had; a
    number that it names twice counts once, where it comes first. Scores are ranks.

    Source: the sliding window of RankGPT, Sun et al., EMNLP 2023.
    """

    def __init__(
        self, settings: ListwiseSettings, *, of: Retriever, complete_all: CompleteAll, stopwatch: Stopwatch
    ) -> None:
        """Store the system to rerank and the model that orders its results.

        Args:
            settings: Depth, window and step.
            of: The system whose results are ordered.
            complete_all: The chat model.
            stopwatch: As in `Reranker`.

        Raises:
            RetrieverFailed: The step is larger than the window, so that passages between two windows would be skipped.
        """
        if settings.step > settings.window:
            problem = f"step {settings.step} is larger than window {settings.window} and would skip passages; lower it"
            raise RetrieverFailed(problem)
        self._settings = settings
        self._of = of
        self._complete_all = complete_all
        self._stopwatch = stopwatch
        self._passages: Mapping[str, str] = {}

    def index(self, passages: Mapping[str, str]) -> None:
        """Index the passages in the system below, and keep their texts."""
        self._passages = passages
        self._of.index(passages)

    def search(self, queries: Mapping[str, str], *, k: int) -> dict[str, dict[str, float]]:
        """Return for each query at most ``k`` passages, best first, scored by rank.

        Raises:
            RetrieverFailed: A call of the model failed, or its answer is not an order of the passages.
        """
        depth = self._settings.depth
        results = self._of.search(queries, k=max(k, depth))
        heads = {query_id: list(results[query_id])[:depth] for query_id in queries}
        with self._stopwatch.timing("rerank"):
            self._order(queries, heads)
        return {query_id: by_rank([*heads[query_id], *list(results[query_id])[depth:]], k=k) for query_id in queries}

    def _order(self, queries: Mapping[str, str], heads: dict[str, list[str]]) -> None:
        """Order each head in place, window after window, each for all queries at once."""
        plans = {query_id: windows(len(head), self._settings) for query_id, head in heads.items()}
        for turn in range(max(map(len, plans.values()), default=0)):
            now = [(query_id, plan[turn]) for query_id, plan in plans.items() if turn < len(plan)]
            requests = [self._request(queries[query_id], heads[query_id][slice(*window)]) for query_id, window in now]
            orders = answers(self._complete_all, requests)
            for (query_id, window), order in zip(now, orders, strict=True):
                heads[query_id][slice(*window)] = reordered(heads[query_id][slice(*window)], order.numbers)

    def _request(self, query: str, doc_ids: Sequence[str]) -> ChatRequest[PassageOrder]:
        question = readable(query)
        texts = [readable(self._passages[doc_id][:_MOST_CHARACTERS]) for doc_id in doc_ids]
        mark = delimiter(question, *texts)
        shown = "\n\n".join(
            f"<<<PASSAGE {number} {mark}>>>\n{text}\n<<<END {mark}>>>" for number, text in enumerate(texts, start=1)
        )
        prompt = load(PROMPT)
        system, user = prompt.render(count=str(len(texts)), delimiter=mark, query=question, passages=shown)
        return ChatRequest(
            stage="rerank",
            prompt=prompt.id,
            system=system,
            user=user,
            answer=passage_order(len(texts)),
            temperature=0.0,
            max_tokens=100 + 16 * len(texts),
        )


def windows(count: int, settings: ListwiseSettings) -> list[tuple[int, int]]:
    """Return the start and end of every window over ``count`` results, the last results first."""
    places: list[tuple[int, int]] = []
    end = count
    while end > 1:
        start = max(0, end - settings.window)
        places.append((start, end))
        if start == 0:
            break
        end -= settings.step
    return places


def reordered(doc_ids: Sequence[str], numbers: Sequence[int]) -> list[str]:
    """Return the documents in the order of their numbers (from 1), the others behind them, in the order they had."""
    named = [doc_ids[number - 1] for number in dict.fromkeys(numbers)]
    return [*named, *(doc_id for doc_id in doc_ids if doc_id not in set(named))]
