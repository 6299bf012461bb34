"""Query expansion: a query is searched in several wordings, or by a passage that would answer it; results are fused."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from goldbench.errors import RetrieverFailed
from goldbench.measures.ranks.order import best
from goldbench.ports import ChatRequest, Retriever
from goldbench.prompts.loader import load
from goldbench.records.replies import HypotheticalPassage, rewritten_queries
from goldbench.retrieval.fusion import reciprocal_ranks
from goldbench.retrieval.model_calls import CompleteAll, answers, readable
from goldbench.retrieval.stopwatch import Stopwatch
from goldbench.retrieval.system_settings import RRF_DEPTH, RRF_K, HyDESettings, RewriteSettings
from goldbench.text.injection import delimiter

REWRITE_PROMPT = "rewrite-query.v1"
HYDE_PROMPT = "hyde.v1"

Expand = Callable[[Mapping[str, str]], Mapping[str, Sequence[str]]]
"""Returns for each query id the texts that are searched beside the query, or in its place."""


class ExpandedRetriever:
    """The system ``of``, searched for every text of a query in one call; the rankings are fused by RRF.

    If a query has only one text, its results stay as they are.
    """

    def __init__(
        self, settings: RewriteSettings | HyDESettings, *, of: Retriever, expand: Expand, stopwatch: Stopwatch
    ) -> None:
        """Store the system to search and the function that gives the texts.

        Args:
            settings: Whether the query is searched as well.
            of: The system that is searched.
            expand: Gives the texts of each query.
            stopwatch: Counts the time of ``expand``.
        """
        self._settings = settings
        self._of = of
        self._expand = expand
        self._stopwatch = stopwatch

    def index(self, passages: Mapping[str, str]) -> None:
        """Index the passages in the system below."""
        self._of.index(passages)

    def search(self, queries: Mapping[str, str], *, k: int) -> dict[str, dict[str, float]]:
        """Return for each query at most ``k`` passages, best first.

        Raises:
            RetrieverFailed: A query could not be expanded.
        """
        with self._stopwatch.timing("expand"):
            expanded = self._expand(queries)
        texts: dict[str, str] = {}
        parts: dict[str, list[str]] = {}
        for query_id, text in queries.items():
            # The query's own id comes before the last #, so ids of two queries never collide. The query itself is 0.
            every = {f"{query_id}#{number}": wording for number, wording in enumerate((text, *expanded[query_id]))}
            if not self._settings.keep_original:
                del every[f"{query_id}#0"]
            parts[query_id] = list(every)
            texts |= every
        rankings = self._of.search(texts, k=max(k, RRF_DEPTH))
        return {query_id: self._fused([rankings[name] for name in names], k) for query_id, names in parts.items()}

    def _fused(self, rankings: Sequence[Mapping[str, float]], k: int) -> dict[str, float]:
        if len(rankings) == 1:
            return dict(list(rankings[0].items())[:k])
        return best(reciprocal_ranks(rankings, k=RRF_K), k)


def model_rewrites(complete_all: CompleteAll, *, count: int) -> Expand:
    """Return what rewrites each query ``count`` times by the chat model."""

    def expand(queries: Mapping[str, str]) -> dict[str, list[str]]:
        kind = rewritten_queries(count)
        most = 200 + 150 * count
        requests = [_request(REWRITE_PROMPT, text, kind, most, count=str(count)) for text in queries.values()]
        completed = answers(complete_all, requests)
        return {query_id: list(answer.queries) for query_id, answer in zip(queries, completed, strict=True)}

    return expand


def model_passages(complete_all: CompleteAll) -> Expand:
    """Return what writes one passage per query by the chat model, as the passage that would answer it (HyDE).

    Source: Gao et al., ACL 2023, who take the mean of vectors; fused rankings serve systems without vectors as well.
    """

    def expand(queries: Mapping[str, str]) -> dict[str, list[str]]:
        requests = [_request(HYDE_PROMPT, text, HypotheticalPassage, 600) for text in queries.values()]
        completed = answers(complete_all, requests)
        return {query_id: [answer.passage] for query_id, answer in zip(queries, completed, strict=True)}

    return expand


def file_rewrites(table: Mapping[str, Sequence[str]], *, source: str) -> Expand:
    """Return what looks up the rewrites of each query by its id or its text; ``source`` names the file in messages."""

    def expand(queries: Mapping[str, str]) -> dict[str, Sequence[str]]:
        rewrites_of = {
            query_id: next((table[key] for key in (query_id, text, text.strip()) if key in table), ())
            for query_id, text in queries.items()
        }
        missing = [query_id for query_id, rewrites in rewrites_of.items() if not rewrites]
        if missing:
            problem = f"{source} has no rewrites of {len(missing)} of {len(queries)} queries, as of {missing[0]!r}"
            raise RetrieverFailed(f"{problem}; name each by its id or its text")
        return rewrites_of

    return expand


def _request(prompt_id: str, query: str, answer: type[Any], max_tokens: int, **fields: str) -> ChatRequest[Any]:
    prompt = load(prompt_id)
    question = readable(query)
    system, user = prompt.render(query=question, delimiter=delimiter(question), **fields)
    return ChatRequest(
        stage="expand",
        prompt=prompt.id,
        system=system,
        user=user,
        answer=answer,
        temperature=0.0,
        max_tokens=max_tokens,
    )
