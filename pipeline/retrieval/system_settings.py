"""What a retrieval system can be set to: one record per kind, as it stands in ``[systems.NAME]`` of ``bench.toml``.

Nothing heavy is imported, so that a command line may know every name and every parameter.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from pipeline.retrieval.analyzer_names import Analyzer, IndexKind, Normalisation, known_language
from schemas.record import Record

Language = Annotated[str, AfterValidator(known_language)]
Url = Annotated[str, Field(pattern=r"^https?://\S+$")]


class Lexical(Record):
    """How texts are cut into terms: an analyzer, with a language (ISO 639-1) its stop words left out and words stemmed.

    ``tokens`` are files for the analyzer ``file``: one text per line, its tokens between tabs, with its id before them
    or without.
    """

    analyzer: Analyzer = Analyzer.UNICODE
    language: Language | None = None
    tokens: tuple[Path, ...] = ()

    @model_validator(mode="after")
    def _files_for_the_analyzer_file(self) -> Self:
        if (self.analyzer is Analyzer.FILE) != bool(self.tokens):
            raise ValueError("analyzer 'file' and tokens, its files, go together")
        return self


class BM25Settings(Lexical):
    """BM25 with Lucene's formula; ``k1`` saturation, ``b`` weight of length."""

    kind: Literal["bm25"] = "bm25"
    k1: float = Field(default=1.2, ge=0)
    b: float = Field(default=0.75, ge=0, le=1)


class NgramSettings(Record):
    """TF-IDF cosine over character n-grams of ``shortest`` to ``longest`` characters, within words."""

    kind: Literal["ngrams"] = "ngrams"
    shortest: int = Field(default=3, ge=1)
    longest: int = Field(default=5, ge=1, le=20)

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.shortest > self.longest:
            raise ValueError(f"shortest ({self.shortest}) must not be above longest ({self.longest})")
        return self


class SearchServerSettings(Record):
    """A running Elasticsearch or OpenSearch: ``url`` is its address, ``analyzer`` one that the server knows.

    The variable ``api_key_env`` holds an API key, or ``user:password``.
    """

    kind: Literal["elasticsearch", "opensearch"]
    url: str = Field(pattern=r"^(elasticsearch|opensearch|http)s?://\S+$")
    analyzer: str = "standard"
    k1: float = Field(default=1.2, ge=0)
    b: float = Field(default=0.75, ge=0, le=1)
    api_key_env: str | None = None
    timeout_seconds: float = Field(default=60, gt=0)


class Vectors(Record):
    """How vectors are searched: normalised inner product, exact or through HNSW."""

    index: IndexKind = IndexKind.FLAT
    M: int = Field(default=64, ge=2)
    efConstruction: int = Field(default=200, ge=1)  # noqa: N815  the field's own spelling
    efSearch: int = Field(default=64, ge=1)  # noqa: N815  the field's own spelling


class LSISettings(Vectors, Lexical):
    """Latent semantic indexing: TF-IDF and a truncated SVD of so many ``dimensions``."""

    kind: Literal["lsi"] = "lsi"
    dimensions: int = Field(default=200, ge=2)
    seed: int = 0


class EmbeddingSettings(Vectors):
    """An OpenAI-compatible ``/embeddings`` endpoint; what is not given here is taken from ``[model]``.

    ``query_prefix`` and ``passage_prefix`` go before the texts, for models that want them.
    """

    kind: Literal["embedding"] = "embedding"
    model: str | None = None
    base_url: Url | None = None
    api_key_env: str | None = None
    dimensions: int | None = Field(default=None, ge=1)
    query_prefix: str = ""
    passage_prefix: str = ""


class SentenceTransformersSettings(Vectors):
    """A model of the ``sentence-transformers`` package, by name or folder."""

    kind: Literal["sentence-transformers"] = "sentence-transformers"
    model: str
    query_prefix: str = ""
    passage_prefix: str = ""
    batch: int = Field(default=32, ge=1)


class FastembedSettings(Vectors):
    """A model of the ``fastembed`` package, by name."""

    kind: Literal["fastembed"] = "fastembed"
    model: str


class VectorFileSettings(Vectors):
    """Vectors made elsewhere: Parquet with columns ``id`` and ``vector``, or ``.npy`` rows and a file of ids.

    ``passage_ids`` and ``query_ids`` are text files, one id per line, in the order of the rows.
    """

    kind: Literal["vectors"] = "vectors"
    passages: Path
    queries: Path
    passage_ids: Path | None = None
    query_ids: Path | None = None


class Fused(Record):
    """Several systems as one: ``of`` are their names, ``weights`` one number for each (all 1 where none is given)."""

    of: tuple[str, ...] = Field(min_length=1)
    weights: tuple[float, ...] | None = None
    depth: int = Field(default=100, ge=1)

    @model_validator(mode="after")
    def _one_weight_each(self) -> Self:
        if len(set(self.of)) != len(self.of):
            raise ValueError("of names a system twice")
        if self.weights is not None:
            if len(self.weights) != len(self.of):
                raise ValueError(f"{len(self.weights)} weights for {len(self.of)} systems")
            if min(self.weights) < 0 or not any(self.weights):
                raise ValueError("weights must be 0 or more, and not all 0")
        return self


class RRFSettings(Fused):
    """Reciprocal rank fusion of the first ``depth`` results of each system: the sum of weight / (k + rank)."""

    kind: Literal["rrf"] = "rrf"
    k: float = Field(default=60, ge=0)


class WeightedSettings(Fused):
    """The weighted sum of normalised scores of the first ``depth`` results of each system."""

    kind: Literal["weighted"] = "weighted"
    normalisation: Normalisation = Normalisation.MIN_MAX


class RerankEndpointSettings(Record):
    """A ``/rerank`` endpoint as Cohere and Jina serve it, over the first ``depth`` results of the system ``of``."""

    kind: Literal["rerank"] = "rerank"
    of: str
    url: Url
    model: str
    depth: int = Field(default=50, ge=1)
    api_key_env: str | None = None


class CrossEncoderSettings(Record):
    """A cross-encoder of ``sentence-transformers`` over the first ``depth`` results of the system ``of``."""

    kind: Literal["cross-encoder"] = "cross-encoder"
    of: str
    model: str
    depth: int = Field(default=50, ge=1)
    batch: int = Field(default=32, ge=1)


class ListwiseSettings(Record):
    """The chat model orders the first ``depth`` results of the system ``of``, window by window from the last one.

    A window holds ``window`` passages, the next begins ``step`` passages further up.
    """

    kind: Literal["listwise"] = "listwise"
    of: str
    depth: int = Field(default=20, ge=2)
    window: int = Field(default=10, ge=2)
    step: int = Field(default=5, ge=1)


class MMRSettings(Record):
    """Maximal marginal relevance over the first ``depth`` results of the system ``of``.

    ``lambda`` 1 keeps the order, 0 looks for variety alone. Likeness of passages is the cosine of the vectors of
    ``by``, a system that has vectors, or of TF-IDF where none is named.
    """

    kind: Literal["mmr"] = "mmr"
    of: str
    lambda_: float = Field(default=0.5, ge=0, le=1, alias="lambda")
    depth: int = Field(default=50, ge=1)
    by: str | None = None


class RewriteSettings(Record):
    """Each query is rewritten ``count`` times by the chat model, or as ``file`` says, and the results are fused by RRF.

    ``file`` is JSON: {query text or id: [rewrites]}.
    """

    kind: Literal["rewrite"] = "rewrite"
    of: str
    count: int = Field(default=3, ge=1, le=10)
    keep_original: bool = True
    file: Path | None = None
    k: float = Field(default=60, gt=0)
    depth: int = Field(default=100, ge=1)


class HyDESettings(Record):
    """The chat model writes a passage that would answer the query, and the system ``of`` searches for that passage."""

    kind: Literal["hyde"] = "hyde"
    of: str
    keep_original: bool = True


class PythonSettings(Record):
    """A function ``package.module:function`` of a query and k that returns ids or (id, score) pairs, best first.

    ``returns`` says what it gives back: ids, or the texts of passages, which are then matched by text containment.
    """

    kind: Literal["python"] = "python"
    function: str = Field(pattern=r"^[\w.]+:[\w.]+$")
    timeout_seconds: float = Field(default=30, gt=0)
    returns: Literal["ids", "texts"] = "ids"


class HttpSettings(Record):
    """An endpoint: ``{"query": ..., "k": ...}`` in, ``{"results": [id or {"id": ..., "score": ...}]}`` out."""

    kind: Literal["http"] = "http"
    url: Url
    timeout_seconds: float = Field(default=30, gt=0)
    returns: Literal["ids", "texts"] = "ids"
    api_key_env: str | None = None


class RunSettings(Record):
    """A finished run in a file."""

    kind: Literal["run"] = "run"
    file: Path


SystemSettings = Annotated[
    BM25Settings
    | NgramSettings
    | SearchServerSettings
    | LSISettings
    | EmbeddingSettings
    | SentenceTransformersSettings
    | FastembedSettings
    | VectorFileSettings
    | RRFSettings
    | WeightedSettings
    | RerankEndpointSettings
    | CrossEncoderSettings
    | ListwiseSettings
    | MMRSettings
    | RewriteSettings
    | HyDESettings
    | PythonSettings
    | HttpSettings
    | RunSettings,
    Field(discriminator="kind"),
]

PRESETS: dict[str, SystemSettings] = {
    "bm25": BM25Settings(),
    "ngrams": NgramSettings(),
    "lsi": LSISettings(),
    "embedding": EmbeddingSettings(),
    "hybrid": RRFSettings(of=("bm25", "lsi")),
}
"""Systems that can be named without being described."""
