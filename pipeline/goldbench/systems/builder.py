"""Builds the retriever of a system from its settings, the systems it is made of, and the models it asks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goldbench.config import Engine
from goldbench.errors import RetrieverFailed
from goldbench.ports import Retriever
from goldbench.retrieval import system_settings as s
from goldbench.retrieval.analyzer_names import Analyzer
from goldbench.retrieval.own import Answering, Own
from goldbench.retrieval.stopwatch import Stopwatch
from goldbench.systems.models import Models, key_in
from goldbench.systems.parts import SharedEncoder

if TYPE_CHECKING:
    from goldbench.retrieval.dense import Encoder
    from goldbench.retrieval.lsi import Space
    from goldbench.retrieval.saved_indexes import SavedIndexes


@dataclass(frozen=True, slots=True, kw_only=True)
class Workshop:
    """What systems are built with.

    ``part`` gives another system by its name, ``settings`` are those of all systems by name, ``folder`` is searched for
    Python modules, ``encoders`` and ``spaces`` are those built so far, by their settings as JSON, ``saved`` the indexes
    of earlier commands, ``engine`` says where BM25 searches.
    """

    part: Callable[[str], Retriever]
    settings: Mapping[str, s.SystemSettings]
    models: Models
    folder: Path | None
    stopwatch: Stopwatch = field(default_factory=Stopwatch)
    encoders: dict[str, Encoder] = field(default_factory=dict)
    spaces: dict[str, Space] = field(default_factory=dict)
    saved: SavedIndexes | None = None
    engine: Engine = Engine.LOCAL


def build(settings: s.SystemSettings, *, name: str, workshop: Workshop) -> Retriever:
    """Return the retriever of these settings.

    Args:
        settings: The settings.
        name: The name of the system.
        workshop: What it is built with.

    Raises:
        RetrieverFailed: The system cannot be built.
        MissingExtra: A package that it needs is not installed.
        GoldbenchError: A file or a model that it needs is wrong.
    """
    if isinstance(settings, s.PythonSettings):
        return Own(_function(settings, workshop), name=name)
    if isinstance(settings, s.HttpSettings):
        return Own(_endpoint(settings), name=name)
    built: Retriever = _BUILDERS[type(settings)](settings, workshop)
    return built


def _lexical(settings: s.Lexical) -> str:
    return settings.model_dump_json(include=set(s.Lexical.model_fields))


def _tokens(settings: s.Lexical) -> Any:  # noqa: ANN401
    from goldbench.retrieval.token_files import TokenFiles
    from goldbench.retrieval.tokens import tokenizer

    if settings.analyzer is Analyzer.FILE:
        return TokenFiles(settings.tokens)
    return tokenizer(settings.analyzer, language=settings.language)


def _saved(settings: s.Lexical, workshop: Workshop) -> SavedIndexes | None:
    return None if settings.analyzer is Analyzer.FILE else workshop.saved  # files of tokens may change


def searches_on_nodes(settings: s.SystemSettings) -> bool:
    """Return whether a system can be searched in parts, with the same scores and order."""
    return isinstance(settings, s.BM25Settings) and settings.analyzer is not Analyzer.FILE


def _bm25(settings: s.BM25Settings, workshop: Workshop) -> Retriever:
    if workshop.engine is Engine.RAY and searches_on_nodes(settings):
        from goldbench.cluster.ray_cluster import cluster
        from goldbench.retrieval.sharded_bm25 import ShardedBM25

        return ShardedBM25(settings, nodes=cluster())
    from goldbench.retrieval.bm25 import BM25

    return BM25(settings, tokens=_tokens(settings), saved=_saved(settings, workshop))


def _ngrams(settings: s.NgramSettings, _: Workshop) -> Retriever:
    from goldbench.retrieval.ngrams import Ngrams

    return Ngrams(settings)


def _search_server(settings: s.SearchServerSettings, _: Workshop) -> Retriever:
    from goldbench.retrieval.search_server import SearchServer

    key = key_in(settings.api_key_env or f"{settings.kind.upper()}_API_KEY", needed=bool(settings.api_key_env))
    return SearchServer(settings, key=key)


def _lsi(settings: s.LSISettings, workshop: Workshop) -> Retriever:
    from goldbench.retrieval.lsi import LSI, Space, common

    key = f"{_lexical(settings)} {settings.seed} {common(settings)}"
    if key not in workshop.spaces:
        workshop.spaces[key] = Space(
            settings, tokens=_tokens(settings), stopwatch=workshop.stopwatch, saved=_saved(settings, workshop)
        )
    return LSI(settings, workshop.spaces[key])


def _dense(settings: s.Vectors, workshop: Workshop) -> Retriever:
    from goldbench.retrieval.dense import Dense

    key = settings.model_dump_json(exclude=set(s.Vectors.model_fields))
    if key not in workshop.encoders:
        workshop.encoders[key] = SharedEncoder(_encoder(settings, workshop), stopwatch=workshop.stopwatch)
    return Dense(settings, encoder=workshop.encoders[key], stopwatch=workshop.stopwatch)


def _encoder(settings: s.Vectors, workshop: Workshop) -> Encoder:
    if isinstance(settings, s.EmbeddingSettings):
        from goldbench.retrieval.dense import ServerEncoder

        return ServerEncoder(settings, embed=workshop.models.embedding(settings))
    if isinstance(settings, s.SentenceTransformersSettings):
        from goldbench.retrieval.sentence_models import SentenceTransformersEncoder

        return SentenceTransformersEncoder(settings)
    if isinstance(settings, s.FastembedSettings):
        from goldbench.retrieval.fastembed_models import FastembedEncoder

        return FastembedEncoder(settings)
    assert isinstance(settings, s.VectorFileSettings)
    from goldbench.formats.vector_tables import read_vectors
    from goldbench.retrieval.vector_files import FileEncoder

    passages = read_vectors(settings.passages, ids=settings.passage_ids)
    return FileEncoder(passages=passages, queries=read_vectors(settings.queries, ids=settings.query_ids))


def _fusion(settings: s.RRFSettings | s.WeightedSettings, workshop: Workshop) -> Retriever:
    from goldbench.retrieval.fusion import Fusion

    return Fusion(settings, of=[workshop.part(other) for other in settings.of])


def _rerank(settings: s.RerankEndpointSettings | s.CrossEncoderSettings, workshop: Workshop) -> Retriever:
    from goldbench.retrieval.rerank import Reranker

    if isinstance(settings, s.RerankEndpointSettings):
        rate_all = workshop.models.reranker(settings)
    else:
        from goldbench.retrieval.sentence_models import cross_encoder

        rate_all = cross_encoder(settings)
    return Reranker(settings, of=workshop.part(settings.of), rate_all=rate_all, stopwatch=workshop.stopwatch)


def _listwise(settings: s.ListwiseSettings, workshop: Workshop) -> Retriever:
    from goldbench.retrieval.listwise import Listwise

    ask = workshop.models.chat()
    return Listwise(settings, of=workshop.part(settings.of), complete_all=ask, stopwatch=workshop.stopwatch)


def _mmr(settings: s.MMRSettings, workshop: Workshop) -> Retriever:
    from goldbench.retrieval.mmr import MMR

    def has_vectors(system: str) -> bool:
        return isinstance(workshop.settings.get(system), s.Vectors)

    of = workshop.part(settings.of)
    by: Any = workshop.part(settings.by) if settings.by else None
    if settings.by and not has_vectors(settings.by):
        kinds = ", ".join(kind for kind, record in s.KINDS.items() if issubclass(record, s.Vectors))
        raise RetrieverFailed(f"by: system {settings.by} has no vectors (kinds that have: {kinds})")
    return MMR(settings, of=of, by=by, cosine=has_vectors(settings.of))


def _expanded(settings: s.RewriteSettings | s.HyDESettings, workshop: Workshop) -> Retriever:
    from goldbench.retrieval.expand import Expanded, file_rewrites, model_passages, model_rewrites

    if isinstance(settings, s.HyDESettings):
        expand = model_passages(workshop.models.chat())
    elif settings.file is None:
        expand = model_rewrites(workshop.models.chat(), count=settings.count)
    else:
        from goldbench.formats.json_maps import read_rewrites

        expand = file_rewrites(read_rewrites(settings.file), source=str(settings.file))
    return Expanded(settings, of=workshop.part(settings.of), expand=expand, stopwatch=workshop.stopwatch)


def _run(settings: s.RunSettings, _: Workshop) -> Retriever:
    from goldbench.systems.finished_run import FinishedRun, read_finished

    return FinishedRun(read_finished(settings.file))


def _function(settings: s.PythonSettings, workshop: Workshop) -> Answering:
    from goldbench.retrieval.child import InProcess

    folders = [*([workshop.folder] if workshop.folder else []), Path.cwd()]
    return InProcess(settings.function, folders=folders, timeout_s=settings.timeout_seconds, returns=settings.returns)


def _endpoint(settings: s.HttpSettings) -> Answering:
    from goldbench.retrieval.deadline import InThread
    from goldbench.retrieval.endpoint import Endpoint

    key = key_in(settings.api_key_env)
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    endpoint = Endpoint(settings.url, headers=headers, timeout_s=settings.timeout_seconds)
    patience = settings.timeout_seconds + 1  # the endpoint's own message comes first; this ends an answer that trickles
    return InThread(endpoint.ask, timeout_s=patience, returns=settings.returns, close=endpoint.close)


_BUILDERS: dict[type, Callable[[Any, Workshop], Retriever]] = {
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
