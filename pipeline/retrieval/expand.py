"""Query expansion: a query searched in several wordings, or by a passage that would answer it; the results fused."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pipeline.errors import RetrieverFailed
from pipeline.measures.ranks.order import best
from pipeline.ports import ChatRequest, Retriever
from pipeline.retrieval.fusion import reciprocal_ranks
from pipeline.retrieval.model_calls import CompleteAll, answers, readable
from pipeline.retrieval.stopwatch import Stopwatch
from pipeline.retrieval.system_settings import HyDESettings, RewriteSettings
from pipeline.text.injection import delimiter
from prompts.loader import load
from schemas.replies import HypotheticalPassage, RewrittenQueries, rewritten_queries

REWRITE_PROMPT, HYDE_PROMPT = "rewrite-query.v1", "hyde.v1"

_STAGE = "expand"
_HYDE_K, _HYDE_DEPTH = 60.0, 100

Expand = Callable[[Mapping[str, str]], Mapping[str, Sequence[str]]]
"""For each query id the texts that are searched beside the query, or in its place."""


class Expanded:
    """The system ``of``, searched for every text a query is expanded to, in one call; the rankings fused by RRF.

    Where there is one text alone, its results are given as they are.
    """

    def __init__(
        self,
        *,
        name: str,
        of: Retriever,
        expand: Expand,
        keep_original: bool,
        k: float,
        depth: int,
        stopwatch: Stopwatch,
    ) -> None:
        """Take what is searched and what expands queries.

        Args:
            name: the system's name.
            of: the system that is searched.
            expand: gives the texts of each query.
            keep_original: whether the query itself is searched too.
            k: of reciprocal rank fusion.
            depth: how many results of each text are fused.
            stopwatch: where the time of the expansion is added up.
        """
        self._name, self._of, self._expand, self._keep_original = name, of, expand, keep_original
        self._k, self._depth, self._stopwatch = k, depth, stopwatch

    def index(self, passages: Mapping[str, str]) -> None:
        """Index the passages in the system below."""
        self._of.index(passages)

    def search(self, queries: Mapping[str, str], *, k: int) -> dict[str, dict[str, float]]:
        """Return for each query at most ``k`` passages, best first.

        Raises:
            RetrieverFailed: a query could not be expanded.
        """
        with self._stopwatch.timing("expand"):
            expanded = self._expand(queries)
        texts: dict[str, str] = {}
        parts: dict[str, list[str]] = {query_id: [] for query_id in queries}
        for query_id, text in queries.items():
            # Up to the last # stands the query's own id, so those of two queries never meet. The query itself is 0.
            every = {f"{query_id}#{number}": other for number, other in enumerate((text, *expanded[query_id]))}
            if not self._keep_original:
                del every[f"{query_id}#0"]
            parts[query_id] = list(every)
            texts |= every
        found = self._of.search(texts, k=max(k, self._depth))
        return {query_id: self._fused([found[name] for name in names], k) for query_id, names in parts.items()}

    def _fused(self, rankings: Sequence[Mapping[str, float]], k: int) -> dict[str, float]:
        if len(rankings) == 1:
            return dict(list(rankings[0].items())[:k])
        return best(reciprocal_ranks(rankings, k=self._k), k)


class Rewriting(Expanded):
    """A system searched with several wordings of each query."""

    def __init__(
        self, settings: RewriteSettings, *, name: str, of: Retriever, rewrites: Expand, stopwatch: Stopwatch
    ) -> None:
        """Take the settings, the system that is searched, and where the other wordings come from."""
        super().__init__(
            name=name,
            of=of,
            expand=rewrites,
            keep_original=settings.keep_original,
            k=settings.k,
            depth=settings.depth,
            stopwatch=stopwatch,
        )


class HyDE(Expanded):
    """A system searched for a passage that the chat model imagines as the answer.

    Where the query is kept, both rankings are fused by RRF, with k 60 and depth 100.

    Source: Gao et al., ACL 2023, who take the mean of vectors; fused rankings serve systems without vectors as well.
    """

    def __init__(
        self,
        settings: HyDESettings,
        *,
        name: str,
        of: Retriever,
        complete_all: CompleteAll,
        stopwatch: Stopwatch,
    ) -> None:
        """Take the settings, the system that is searched, and the chat model."""
        super().__init__(
            name=name,
            of=of,
            expand=_ModelPassages(name=name, complete_all=complete_all),
            keep_original=settings.keep_original,
            k=_HYDE_K,
            depth=_HYDE_DEPTH,
            stopwatch=stopwatch,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRewrites:
    """Other wordings of each query by the chat model."""

    name: str
    complete_all: CompleteAll
    count: int

    def __call__(self, queries: Mapping[str, str]) -> dict[str, list[str]]:
        """Return ``count`` other wordings of each query."""
        found = answers(self.complete_all, [self._request(text) for text in queries.values()], name=self.name)
        return {query_id: list(answer.queries) for query_id, answer in zip(queries, found, strict=True)}

    def _request(self, text: str) -> ChatRequest[RewrittenQueries]:
        prompt, asked = load(REWRITE_PROMPT), readable(text)
        system, user = prompt.render(query=asked, count=str(self.count), delimiter=delimiter(asked))
        return ChatRequest(
            stage=_STAGE,
            prompt=prompt.id,
            system=system,
            user=user,
            answer=rewritten_queries(self.count),
            temperature=0.0,
            max_tokens=200 + 150 * self.count,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRewrites:
    """Other wordings made elsewhere, by the id of a query or its text."""

    name: str
    source: str
    table: Mapping[str, Sequence[str]]

    def __call__(self, queries: Mapping[str, str]) -> dict[str, Sequence[str]]:
        """Return the other wordings of each query.

        Raises:
            RetrieverFailed: the file has none for a query.
        """
        found = {query_id: self._of(query_id, text) for query_id, text in queries.items()}
        missing = [query_id for query_id, rewrites in found.items() if not rewrites]
        if missing:
            problem = f"{self.source} has no rewrites of {len(missing)} of {len(queries)} queries, as of {missing[0]!r}"
            raise RetrieverFailed(self.name, f"{problem}; name each by its id or its text")
        return found

    def _of(self, query_id: str, text: str) -> Sequence[str]:
        keys = (query_id, text, text.strip())
        return next((self.table[key] for key in keys if key in self.table), ())


@dataclass(frozen=True, slots=True, kw_only=True)
class _ModelPassages:
    name: str
    complete_all: CompleteAll

    def __call__(self, queries: Mapping[str, str]) -> dict[str, list[str]]:
        found = answers(self.complete_all, [_passage_request(text) for text in queries.values()], name=self.name)
        return {query_id: [answer.passage] for query_id, answer in zip(queries, found, strict=True)}


def _passage_request(query: str) -> ChatRequest[HypotheticalPassage]:
    prompt, asked = load(HYDE_PROMPT), readable(query)
    system, user = prompt.render(query=asked, delimiter=delimiter(asked))
    return ChatRequest(
        stage=_STAGE,
        prompt=prompt.id,
        system=system,
        user=user,
        answer=HypotheticalPassage,
        temperature=0.0,
        max_tokens=600,
    )
