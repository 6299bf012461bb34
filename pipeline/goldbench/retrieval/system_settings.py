"""The settings of retrieval systems: one record per kind, as in ``[systems.NAME]`` of ``bench.toml``.

Each parameter is declared here once, with its type, range, default and description; the retriever of a kind takes the
record as it is. This module imports nothing heavy, so a command line can know every name and parameter.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal, Self, get_args

from pydantic import AfterValidator, Field, model_validator

from goldbench.records.record import Record

RRF_K = 60
RRF_DEPTH = 100


class Analyzer(StrEnum):
    """How a text is cut into terms."""

    UNICODE = "unicode"
    """Words in lower case; single characters of scripts without spaces."""
    CJK_BIGRAM = "cjk-bigram"
    """Words in lower case; pairs of neighbouring characters in Chinese, Japanese and Korean, as in Lucene."""
    STANDARD = "standard"
    """Elasticsearch's standard analyzer: words in lower case, Chinese and hiragana character by character."""
    JIEBA = "jieba"
    """Chinese words by the package ``jieba``."""
    NGRAMS = "ngrams"
    """Character n-grams (3) within words."""
    FILE = "file"
    """The tokens of another analyzer, read from files."""


class IndexKind(StrEnum):
    """How the nearest vectors are found."""

    FLAT = "flat"
    """Every vector compared: exact."""
    HNSW = "hnsw"
    """A navigable graph: approximate."""


def known_language(language: str) -> str:
    """Return a language (ISO 639-1) if its words can be stemmed or left out.

    Raises:
        ValueError: The language is not known, so that naming it would change nothing.
    """
    from goldbench.text.words import languages

    known = languages()
    if language not in known:
        from goldbench.text.suggestion import did_you_mean, language_meant

        meant = language_meant(language) or did_you_mean(language, known) or f"; known are {', '.join(sorted(known))}"
        raise ValueError(f"not a known language: {language!r}{meant}")
    return language


Language = Annotated[str, AfterValidator(known_language)]
Url = Annotated[str, Field(pattern=r"^https?://[^\s/?#{}]+([/?#]\S*)?$", description="Address of the endpoint.")]
Of = Annotated[str, Field(description="Name of the system whose results are used.")]
Model = Annotated[str, Field(description="Name of the model; for a local model also its folder.")]
KeyVariable = Annotated[str | None, Field(description="Environment variable that holds the API key.")]
Saturation = Annotated[float, Field(ge=0, description="How much a repeated term adds.")]
LengthWeight = Annotated[float, Field(ge=0, le=1, description="Weight of the passage's length.")]
Prefix = Annotated[str, Field(description="Put before each text, for models that expect it.")]
Depth = Annotated[int, Field(ge=1, description="Results of each system that are used.")]
Batch = Annotated[int, Field(ge=1, description="Texts per batch.")]
Seconds = Annotated[float, Field(gt=0, description="Seconds that one request may take.")]
KeepOriginal = Annotated[bool, Field(description="Search for the query as well.")]
Returned = Annotated[
    Literal["ids", "texts"], Field(description="What a plain string is: an id, or a text that contains a passage.")
]


class Lexical(Record):
    """How texts are cut into terms."""

    analyzer: Analyzer = Field(default=Analyzer.UNICODE, description="How texts are cut into terms.")
    language: Language | None = Field(default=None, description="ISO 639-1: drop its stop words, stem its words.")
    tokens: tuple[Path, ...] = Field(
        default=(),
        description="Files for the analyzer 'file': a text per line, tokens between tabs, with or without id.",
    )

    @model_validator(mode="after")
    def _files_for_the_analyzer_file(self) -> Self:
        if (self.analyzer is Analyzer.FILE) != bool(self.tokens):
            raise ValueError("analyzer 'file' needs tokens, its files, and tokens need analyzer 'file'")
        return self


class BM25Settings(Lexical):
    """BM25 with Lucene's formula."""

    kind: Literal["bm25"] = "bm25"
    k1: Saturation = 1.2
    b: LengthWeight = 0.75


class NgramSettings(Record):
    """TF-IDF cosine over character n-grams within words."""

    kind: Literal["ngrams"] = "ngrams"
    shortest: int = Field(default=3, ge=1, description="Characters of the shortest n-gram.")
    longest: int = Field(default=5, ge=1, le=20, description="Characters of the longest n-gram.")

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.shortest > self.longest:
            raise ValueError(f"shortest ({self.shortest}) must not be above longest ({self.longest})")
        return self


class SearchServerSettings(Record):
    """BM25 of a running Elasticsearch or OpenSearch."""

    kind: Literal["elasticsearch", "opensearch"]
    url: str = Field(pattern=r"^(elasticsearch|opensearch|http)s?://[^\s/?#{}]+([/?#]\S*)?$", description="Address.")
    analyzer: str = Field(default="standard", description="An analyzer that the server knows.")
    k1: Saturation = 1.2
    b: LengthWeight = 0.75
    api_key_env: str | None = Field(default=None, description="Variable with an API key or user:password.")
    timeout_seconds: Seconds = 60


class Vectors(Record):
    """How vectors are searched: by normalised inner product, exactly or through HNSW."""

    index: IndexKind = Field(default=IndexKind.FLAT, description="Exact search (flat) or approximate search (hnsw).")
    M: int = Field(default=64, ge=2, description="HNSW: links per vector.")
    efConstruction: int = Field(default=200, ge=1, description="HNSW: candidates when building.")  # noqa: N815  faiss's
    efSearch: int = Field(default=64, ge=1, description="HNSW: candidates when searching.")  # noqa: N815  spelling


class LSISettings(Vectors, Lexical):
    """Latent semantic indexing: TF-IDF and a truncated SVD."""

    kind: Literal["lsi"] = "lsi"
    dimensions: int = Field(default=200, ge=2, description="Dimensions of the space.")
    seed: int = Field(default=0, description="Seed of the randomized SVD.")


class EmbeddingSettings(Vectors):
    """An OpenAI-compatible ``/embeddings`` endpoint; parameters that are not given come from ``[model]``."""

    kind: Literal["embedding"] = "embedding"
    model: str | None = Field(default=None, description="Name of the model; by default embedding of [model].")
    base_url: Url | None = Field(default=None, description="Address; by default base_url of [model].")
    api_key_env: KeyVariable = None
    dimensions: int | None = Field(default=None, ge=1, description="Dimensions asked of the model.")
    query_prefix: Prefix = ""
    passage_prefix: Prefix = ""


class SentenceTransformersSettings(Vectors):
    """A model of the ``sentence-transformers`` package, by name or folder."""

    kind: Literal["sentence-transformers"] = "sentence-transformers"
    model: Model
    query_prefix: Prefix = ""
    passage_prefix: Prefix = ""
    batch: Batch = 32


class FastembedSettings(Vectors):
    """A model of the ``fastembed`` package, by name."""

    kind: Literal["fastembed"] = "fastembed"
    model: Model


class VectorFileSettings(Vectors):
    """Vectors from files: Parquet with columns ``id`` and ``vector``, or ``.npy`` rows and a file of ids."""

    kind: Literal["vectors"] = "vectors"
    passages: Path = Field(description="Vectors of the passages.")
    queries: Path = Field(description="Vectors of the queries.")
    passage_ids: Path | None = Field(default=None, description="Ids of .npy rows, one per line, in order.")
    query_ids: Path | None = Field(default=None, description="Ids of .npy rows, one per line, in order.")


class Fused(Record):
    """Several systems as one."""

    of: tuple[str, ...] = Field(min_length=1, description="Names of the systems.")
    weights: tuple[float, ...] | None = Field(default=None, description="One per system, 0 or more; all 1 by default.")
    depth: Depth = RRF_DEPTH

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
    """Reciprocal rank fusion: the sum of weight / (k + rank); see ``Fusion`` in ``fusion.py``."""

    kind: Literal["rrf"] = "rrf"
    k: float = Field(default=RRF_K, ge=0, description="Added to each rank.")


class WeightedSettings(Fused):
    """The weighted sum of scores, each system's brought to 0 (its lowest) to 1 (its best)."""

    kind: Literal["weighted"] = "weighted"


class RerankEndpointSettings(Record):
    """A ``/rerank`` endpoint, as Cohere and Jina serve it, over the first results of another system."""

    kind: Literal["rerank"] = "rerank"
    of: Of
    url: Url
    model: Model
    depth: Depth = 50
    api_key_env: KeyVariable = None


class CrossEncoderSettings(Record):
    """A cross-encoder of ``sentence-transformers`` over the first results of another system."""

    kind: Literal["cross-encoder"] = "cross-encoder"
    of: Of
    model: Model
    depth: Depth = 50
    batch: Batch = 32


class ListwiseSettings(Record):
    """The chat model orders the first results of another system, window by window from the last one."""

    kind: Literal["listwise"] = "listwise"
    of: Of
    depth: int = Field(default=20, ge=2, description="Results that are ordered.")
    window: int = Field(default=10, ge=2, description="Passages per window.")
    step: int = Field(default=5, ge=1, description="Passages that the next window begins further up.")


class MMRSettings(Record):
    """Maximal marginal relevance over the first results of another system."""

    kind: Literal["mmr"] = "mmr"
    of: Of
    lambda_: float = Field(
        default=0.5, ge=0, le=1, alias="lambda", description="1 keeps the order, 0 looks for variety alone."
    )
    depth: Depth = 50
    by: str | None = Field(default=None, description="System whose vectors compare passages; by default TF-IDF does.")


class RewriteSettings(Record):
    """Each query is rewritten by the chat model or a file, and the results of all wordings are fused by RRF."""

    kind: Literal["rewrite"] = "rewrite"
    of: Of
    count: int = Field(default=3, ge=1, le=10, description="Rewrites per query by the chat model.")
    keep_original: KeepOriginal = True
    file: Path | None = Field(default=None, description="Rewrites as JSON: {query text or id: [rewrites]}.")


class HyDESettings(Record):
    """The chat model writes a passage that would answer the query, and the system ``of`` searches for that passage."""

    kind: Literal["hyde"] = "hyde"
    of: Of
    keep_original: KeepOriginal = True


class PythonSettings(Record):
    """A function of a query and k that returns ids or (id, score) pairs, best first."""

    kind: Literal["python"] = "python"
    function: str = Field(pattern=r"^[\w.]+:[\w.]+$", description="The function, as package.module:function.")
    timeout_seconds: Seconds = 30
    returns: Returned = "ids"


class HttpSettings(Record):
    """An endpoint: ``{"query": ..., "k": ...}`` in, ``{"results": [id or {"id": ..., "score": ...}]}`` out."""

    kind: Literal["http"] = "http"
    url: Url
    timeout_seconds: Seconds = 30
    returns: Returned = "ids"
    api_key_env: KeyVariable = None


class RunSettings(Record):
    """A finished run."""

    kind: Literal["run"] = "run"
    file: Path = Field(description="The run, in any format that scoring reads.")


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

KINDS: dict[str, type[Record]] = {
    kind: record
    for record in get_args(get_args(SystemSettings)[0])
    for kind in get_args(record.model_fields["kind"].annotation)
}
"""The settings of each kind of system."""

PRESETS: dict[str, SystemSettings] = {
    "bm25": BM25Settings(),
    "ngrams": NgramSettings(),
    "lsi": LSISettings(),
    "embedding": EmbeddingSettings(),
    "hybrid": RRFSettings(of=("bm25", "lsi")),
}
"""Systems that can be named without being described."""
