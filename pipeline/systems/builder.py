"""One retriever out of its settings: who is built how, and out of which other systems."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.errors import RetrieverFailed
from pipeline.ports import Retriever
from pipeline.retrieval import system_settings as s
from pipeline.retrieval.analyzer_names import Analyzer
from pipeline.retrieval.stopwatch import Stopwatch
from pipeline.systems.models import Models
from pipeline.systems.parts import SharedEncoder

if TYPE_CHECKING:
    from pipeline.retrieval.dense import Encoder

GetPart = Callable[[str], Retriever]
"""Gives the retriever of another system by its name."""

VECTORS = ("lsi", "embedding", "sentence-transformers", "fastembed", "vectors")
"""The kinds that have a vector for every passage."""


@dataclass(slots=True)
class Workshop:
    """What systems are built with: models, one stopwatch for all, the folder of modules of one's own.

    ``kinds`` is the kind of each system by name, ``encoders`` those that were opened, by what they are set to.
    """

    models: Models
    stopwatch: Stopwatch
    folder: Path | None = None
    kinds: Mapping[str, str] = field(default_factory=dict)
    encoders: dict[str, Encoder] = field(default_factory=dict)


def build(settings: s.SystemSettings, *, name: str, part: GetPart, workshop: Workshop) -> Retriever:
    """Return the retriever of these settings.

    Args:
        settings: The settings.
        name: What the system is called.
        part: Gives the other systems that it is made of.
        workshop: What it is built with.

    Raises:
        RetrieverFailed: It cannot be built.
        MissingExtra: A package that it needs is not installed.
        GoldsetError: A file or a model that it needs is wrong.
    """
    built: Retriever = _BUILDERS[type(settings)](settings, name, part, workshop)
    return built


def _tokens(settings: s.Lexical, name: str) -> Any:  # noqa: ANN401
    from pipeline.retrieval.token_files import TokenFiles
    from pipeline.retrieval.tokens import tokenizer

    if settings.analyzer is Analyzer.FILE:
        return TokenFiles(settings.tokens, name=name)
    return tokenizer(settings.analyzer, language=settings.language)


def _bm25(settings: s.BM25Settings, name: str, _: GetPart, __: Workshop) -> Retriever:
    from pipeline.retrieval.bm25 import BM25

    return BM25(tokens=_tokens(settings, name), k1=settings.k1, b=settings.b)


def _ngrams(settings: s.NgramSettings, _: str, __: GetPart, ___: Workshop) -> Retriever:
    from pipeline.retrieval.ngrams import Ngrams

    return Ngrams(settings)


def _search_server(settings: s.SearchServerSettings, name: str, _: GetPart, __: Workshop) -> Retriever:
    from pipeline.retrieval.search_server import SearchServer

    key = os.environ.get(settings.api_key_env or f"{settings.kind.upper()}_API_KEY")
    if settings.api_key_env and not key:
        raise RetrieverFailed(name, _unset(settings.api_key_env))
    return SearchServer(settings, name=name, key=key)


def _lsi(settings: s.LSISettings, name: str, _: GetPart, workshop: Workshop) -> Retriever:
    from pipeline.retrieval.lsi import LSI

    return LSI(settings, name=name, tokens=_tokens(settings, name), stopwatch=workshop.stopwatch)


def _dense(settings: s.Vectors, name: str, _: GetPart, workshop: Workshop) -> Retriever:
    from pipeline.retrieval.dense import Dense

    key = settings.model_dump_json(exclude=set(s.Vectors.model_fields))
    if key not in workshop.encoders:
        inner = _encoder(settings, name, workshop)
        workshop.encoders[key] = SharedEncoder(inner, stopwatch=workshop.stopwatch)
    return Dense(settings, name=name, encoder=workshop.encoders[key], stopwatch=workshop.stopwatch)


def _encoder(settings: s.Vectors, name: str, workshop: Workshop) -> Encoder:
    if isinstance(settings, s.EmbeddingSettings):
        from pipeline.retrieval.dense import ServerEncoder

        return ServerEncoder(settings, name=name, embed=workshop.models.embedding(settings, name=name))
    if isinstance(settings, s.SentenceTransformersSettings):
        from pipeline.retrieval.sentence_models import SentenceTransformersEncoder

        return SentenceTransformersEncoder(settings, name=name)
    if isinstance(settings, s.FastembedSettings):
        from pipeline.retrieval.fastembed_models import FastembedEncoder

        return FastembedEncoder(settings, name=name)
    assert isinstance(settings, s.VectorFileSettings)
    from pipeline.formats.vectors import read_vectors
    from pipeline.retrieval.vector_files import FileEncoder

    passages = read_vectors(settings.passages, ids=settings.passage_ids)
    queries = read_vectors(settings.queries, ids=settings.query_ids)
    return FileEncoder(name=name, passages=passages, queries=queries)


def _fusion(settings: s.RRFSettings | s.WeightedSettings, _: str, part: GetPart, __: Workshop) -> Retriever:
    from pipeline.retrieval.fusion import Fusion

    return Fusion(settings, of=[part(other) for other in settings.of])


def _rerank(settings: s.RerankEndpointSettings, name: str, part: GetPart, workshop: Workshop) -> Retriever:
    from pipeline.retrieval.rerank import EndpointReranker

    rate_all = workshop.models.reranker(settings, name=name)
    return EndpointReranker(settings, name=name, of=part(settings.of), rate_all=rate_all, stopwatch=workshop.stopwatch)


def _cross_encoder(settings: s.CrossEncoderSettings, name: str, part: GetPart, workshop: Workshop) -> Retriever:
    from pipeline.retrieval.sentence_models import CrossEncoder

    return CrossEncoder(settings, name=name, of=part(settings.of), stopwatch=workshop.stopwatch)


def _listwise(settings: s.ListwiseSettings, name: str, part: GetPart, workshop: Workshop) -> Retriever:
    from pipeline.retrieval.listwise import Listwise

    ask = workshop.models.chat(name=name)
    return Listwise(settings, name=name, of=part(settings.of), complete_all=ask, stopwatch=workshop.stopwatch)


def _mmr(settings: s.MMRSettings, name: str, part: GetPart, workshop: Workshop) -> Retriever:
    from pipeline.retrieval.mmr import MMR

    of = part(settings.of)
    by: Any = part(settings.by) if settings.by else None
    if settings.by and workshop.kinds.get(settings.by) not in VECTORS:
        raise RetrieverFailed(name, f"by: system {settings.by} has no vectors (kinds that have: {', '.join(VECTORS)})")
    return MMR(settings, name=name, of=of, by=by, cosine=workshop.kinds.get(settings.of) in VECTORS)


def _rewriting(settings: s.RewriteSettings, name: str, part: GetPart, workshop: Workshop) -> Retriever:
    from pipeline.retrieval.expand import FileRewrites, ModelRewrites, Rewriting

    rewrites: Any
    if settings.file is not None:
        from pipeline.formats.rewrites import read_rewrites

        rewrites = FileRewrites(name=name, source=str(settings.file), table=read_rewrites(settings.file))
    else:
        rewrites = ModelRewrites(name=name, complete_all=workshop.models.chat(name=name), count=settings.count)
    return Rewriting(settings, name=name, of=part(settings.of), rewrites=rewrites, stopwatch=workshop.stopwatch)


def _hyde(settings: s.HyDESettings, name: str, part: GetPart, workshop: Workshop) -> Retriever:
    from pipeline.retrieval.expand import HyDE

    ask = workshop.models.chat(name=name)
    return HyDE(settings, name=name, of=part(settings.of), complete_all=ask, stopwatch=workshop.stopwatch)


def _python(settings: s.PythonSettings, name: str, _: GetPart, workshop: Workshop) -> Retriever:
    from pipeline.retrieval.child import InProcess
    from pipeline.retrieval.own import Own

    folders = [*([workshop.folder] if workshop.folder else []), Path.cwd()]
    answering = InProcess(
        settings.function, name=name, folders=folders, timeout_s=settings.timeout_seconds, returns=settings.returns
    )
    return Own(answering, name=name)


def _http(settings: s.HttpSettings, name: str, _: GetPart, __: Workshop) -> Retriever:
    from pipeline.retrieval.deadline import InThread
    from pipeline.retrieval.endpoint import Endpoint, asking
    from pipeline.retrieval.own import Own

    key = os.environ.get(settings.api_key_env) if settings.api_key_env else None
    if settings.api_key_env and not key:
        raise RetrieverFailed(name, _unset(settings.api_key_env))
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    endpoint = Endpoint(name, settings.url, headers=headers, timeout_s=settings.timeout_seconds)
    patience = settings.timeout_seconds + 1  # the endpoint's own message first; this one for who sends drop by drop
    return Own(
        InThread(asking(endpoint), name=name, timeout_s=patience, returns=settings.returns, close=endpoint.close),
        name=name,
    )


def _run(settings: s.RunSettings, _: str, __: GetPart, ___: Workshop) -> Retriever:
    from pipeline.retrieval.finished import Finished
    from pipeline.systems.finished_runs import read_finished

    return Finished(read_finished(settings.file))


def _unset(variable: str) -> str:
    return f"the variable {variable}, which should hold the key, is not set"


_BUILDERS: dict[type, Callable[[Any, str, GetPart, Workshop], Retriever]] = {
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
    s.CrossEncoderSettings: _cross_encoder,
    s.ListwiseSettings: _listwise,
    s.MMRSettings: _mmr,
    s.RewriteSettings: _rewriting,
    s.HyDESettings: _hyde,
    s.PythonSettings: _python,
    s.HttpSettings: _http,
    s.RunSettings: _run,
}
