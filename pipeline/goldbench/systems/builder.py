"""Builds the retriever of a system from its settings, the systems it is made of, and the models it asks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from goldbench.config import Engine
from goldbench.errors import RetrieverFailed
from goldbench.formats.json_maps import read_rewrites
from goldbench.formats.vector_tables import read_vectors
from goldbench.measures.ranks.order import best
from goldbench.ports import Retriever
from goldbench.retrieval import expand
from goldbench.retrieval import system_settings as s
from goldbench.retrieval.bm25 import BM25
from goldbench.retrieval.dense import Dense, Encoder, ServerEncoder
from goldbench.retrieval.fusion import Fusion
from goldbench.retrieval.listwise import Listwise
from goldbench.retrieval.lsi import LSI, Space, shared_dimensions
from goldbench.retrieval.mmr import MMR
from goldbench.retrieval.ngrams import Ngrams
from goldbench.retrieval.rerank import Reranker
from goldbench.retrieval.sentence_models import SentenceTransformersEncoder, cross_encoder
from goldbench.retrieval.stopwatch import Stopwatch
from goldbench.retrieval.token_files import TokenFiles
from goldbench.retrieval.tokens import Tokenizer, tokenizer
from goldbench.retrieval.user_retrievers import UserRetriever, imported_function
from goldbench.retrieval.vector_files import FileEncoder
from goldbench.systems.models import Models, key_in
from goldbench.systems.parts import SharedEncoder

_TO_FAIL_S = 1.0
"""Seconds that the client of an endpoint has to say why there is no answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildContext:
    """What systems are built with.

    ``part`` gives another system by its name, ``settings`` are those of all systems by name, ``folder`` is searched for
    Python modules, ``encoders`` and ``spaces`` are those built so far, by their settings as JSON, ``engine`` says where
    BM25 searches.
    """

    part: Callable[[str], Retriever]
    settings: Mapping[str, s.SystemSettings]
    models: Models
    folder: Path | None
    engine: Engine
    stopwatch: Stopwatch = field(default_factory=Stopwatch)
    encoders: dict[str, Encoder] = field(default_factory=dict)
    spaces: dict[str, Space] = field(default_factory=dict)


class FinishedRun:
    """The results of a run; a query that the run lacks has no results."""

    def __init__(self, run: Mapping[str, Mapping[str, float]]) -> None:
        self._run = run

    def index(self, passages: Mapping[str, str]) -> None:
        """Do nothing: the passages were searched before."""

    def search(self, queries: Mapping[str, str], *, k: int) -> dict[str, dict[str, float]]:
        """Return for each query the first ``k`` results of the run."""
        return {query_id: best(self._run.get(query_id, {}), k) for query_id in queries}


def build(settings: s.SystemSettings, *, name: str, context: BuildContext) -> Retriever:
    """Return the retriever of these settings.

    Args:
        settings: The settings.
        name: The name of the system.
        context: What it is built with.

    Raises:
        RetrieverFailed: The system cannot be built.
        MissingExtra: A package that it needs is not installed.
        GoldbenchError: A file or a model that it needs is wrong.
    """
    if isinstance(settings, s.PythonSettings):
        return _function(settings, name, context)
    if isinstance(settings, s.HttpSettings):
        return _endpoint(settings, name)
    retriever: Retriever = _BUILDERS[type(settings)](settings, context)
    return retriever


def _tokens(settings: s.Lexical) -> Tokenizer | TokenFiles:
    if settings.analyzer is s.Analyzer.FILE:
        return TokenFiles(settings.tokens)
    return tokenizer(settings.analyzer, language=settings.language)


def _bm25(settings: s.BM25Settings, context: BuildContext) -> Retriever:
    if context.engine is Engine.RAY and settings.analyzer is not s.Analyzer.FILE:
        from goldbench.cluster.ray_cluster import cluster
        from goldbench.retrieval.sharded_bm25 import ShardedBM25

        return ShardedBM25(settings, nodes=cluster())
    return BM25(settings, tokens=_tokens(settings))


def _ngrams(settings: s.NgramSettings, _: BuildContext) -> Retriever:
    return Ngrams(settings)


def _search_server(settings: s.SearchServerSettings, _: BuildContext) -> Retriever:
    from goldbench.retrieval.search_server import SearchServer

    key = key_in(settings.api_key_env or f"{settings.kind.upper()}_API_KEY", needed=bool(settings.api_key_env))
    return SearchServer(settings, key=key)


def _lsi(settings: s.LSISettings, context: BuildContext) -> Retriever:
    lexical = settings.model_dump_json(include=set(s.Lexical.model_fields))
    key = f"{lexical} {settings.seed} {shared_dimensions(settings)}"
    if key not in context.spaces:
        context.spaces[key] = Space(settings, tokens=_tokens(settings), stopwatch=context.stopwatch)
    return LSI(settings, context.spaces[key])


def _dense(settings: s.Vectors, context: BuildContext) -> Retriever:
    key = settings.model_dump_json(exclude=set(s.Vectors.model_fields))
    if key not in context.encoders:
        context.encoders[key] = SharedEncoder(_encoder(settings, context), stopwatch=context.stopwatch)
    return Dense(settings, encoder=context.encoders[key], stopwatch=context.stopwatch)


def _encoder(settings: s.Vectors, context: BuildContext) -> Encoder:
    if isinstance(settings, s.EmbeddingSettings):
        return ServerEncoder(settings, embed=context.models.embedding(settings))
    if isinstance(settings, s.SentenceTransformersSettings):
        return SentenceTransformersEncoder(settings)
    if isinstance(settings, s.FastembedSettings):
        from goldbench.retrieval.fastembed_models import FastembedEncoder

        return FastembedEncoder(settings)
    assert isinstance(settings, s.VectorFileSettings)
    passages = read_vectors(settings.passages, ids=settings.passage_ids)
    return FileEncoder(passages=passages, queries=read_vectors(settings.queries, ids=settings.query_ids))


def _fusion(settings: s.RRFSettings | s.WeightedSettings, context: BuildContext) -> Retriever:
    return Fusion(settings, of=[context.part(name) for name in settings.of])


def _rerank(settings: s.RerankEndpointSettings | s.CrossEncoderSettings, context: BuildContext) -> Retriever:
    if isinstance(settings, s.RerankEndpointSettings):
        rate_all = context.models.reranker(settings)
    else:
        rate_all = cross_encoder(settings)
    return Reranker(settings, of=context.part(settings.of), rate_all=rate_all, stopwatch=context.stopwatch)


def _listwise(settings: s.ListwiseSettings, context: BuildContext) -> Retriever:
    chat = context.models.chat()
    return Listwise(settings, of=context.part(settings.of), complete_all=chat, stopwatch=context.stopwatch)


def _mmr(settings: s.MMRSettings, context: BuildContext) -> Retriever:
    of = context.part(settings.of)
    by: Any = context.part(settings.by) if settings.by else None
    if settings.by and not isinstance(context.settings.get(settings.by), s.Vectors):
        kinds = ", ".join(kind for kind, record in s.KINDS.items() if issubclass(record, s.Vectors))
        raise RetrieverFailed(f"by: system {settings.by} has no vectors (kinds that have: {kinds})")
    return MMR(settings, of=of, by=by, cosine=isinstance(context.settings.get(settings.of), s.Vectors))


def _expanded(settings: s.RewriteSettings | s.HyDESettings, context: BuildContext) -> Retriever:
    if isinstance(settings, s.HyDESettings):
        expansion = expand.model_passages(context.models.chat())
    elif settings.file is None:
        expansion = expand.model_rewrites(context.models.chat(), count=settings.count)
    else:
        expansion = expand.file_rewrites(read_rewrites(settings.file), source=str(settings.file))
    return expand.ExpandedRetriever(
        settings, of=context.part(settings.of), expand=expansion, stopwatch=context.stopwatch
    )


def _run(settings: s.RunSettings, _: BuildContext) -> Retriever:
    from goldbench.score.runs import load_run, read_results

    return FinishedRun(read_results(load_run(settings.file)))


def _function(settings: s.PythonSettings, name: str, context: BuildContext) -> Retriever:
    folders = [*([context.folder] if context.folder else []), Path.cwd()]
    timeout_s = settings.timeout_seconds
    function = imported_function(settings.function, folders=folders, within_s=10 * timeout_s)
    returns = settings.returns
    return UserRetriever(function, name=name, timeout_s=timeout_s, returns=returns, is_named=True)


def _endpoint(settings: s.HttpSettings, name: str) -> Retriever:
    from goldbench.retrieval.endpoint import Endpoint

    key = key_in(settings.api_key_env)
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    endpoint = Endpoint(settings.url, headers=headers, timeout_s=settings.timeout_seconds)
    # The client limits each piece of an answer, the thread the whole of it.
    timeout_s = settings.timeout_seconds + _TO_FAIL_S
    return UserRetriever(
        endpoint.search, name=name, timeout_s=timeout_s, returns=settings.returns, on_close=endpoint.close
    )


_BUILDERS: dict[type, Callable[[Any, BuildContext], Retriever]] = {
    s.BM25Settings: _bm25,
    s.NgramSettings: _ngrams,
    s.SearchServerSettings: _search_server,
    s.LSISettings: _lsi,
    s.EmbeddingSettings: _dense,
    s.SentenceTransformersSettings: _dense,
    s.FastembedSettings: _dense,
    s.VectorFileSettings: _dense,
    s.RRFSettings: _fusion,
    s.WeightedSettings: _fusion,
    s.RerankEndpointSettings: _rerank,
    s.CrossEncoderSettings: _rerank,
    s.ListwiseSettings: _listwise,
    s.MMRSettings: _mmr,
    s.RewriteSettings: _expanded,
    s.HyDESettings: _expanded,
    s.RunSettings: _run,
}
