"""The interfaces that the stages call: models, retrievers, generators, progress."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from pydantic import BaseModel

from goldbench.records.corpus import Chunk
from goldbench.records.query import Assignment, Candidate, Constraints

if TYPE_CHECKING:
    import numpy as np

T = TypeVar("T", bound=BaseModel)
R_co = TypeVar("R_co", covariant=True)


class StoredRecords(Protocol[R_co]):
    """Records on disk in a fixed order; they can be read any number of times and are never all held in memory."""

    def __iter__(self) -> Iterator[R_co]:
        """Yield the records from the first one."""

    def __len__(self) -> int:
        """Return the number of records."""

    def at(self, position: int) -> R_co:
        """Return the record at this position, counted from 0."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What a call cost.

    ``input_tokens`` includes ``cached_tokens``, which the provider took from its cache; ``usd`` is None where the price
    is not known. ``estimated`` says that the server did not report all of it, and that this is the most it may be.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    usd: float | None = None
    estimated: bool = False

    @property
    def tokens(self) -> int:
        """The tokens that were read and written."""
        return self.input_tokens + self.output_tokens


@dataclass(frozen=True, slots=True)
class ChatRequest(Generic[T]):
    """One question to a model.

    ``stage`` names the account that the call is booked to, ``prompt`` the prompt file and version (``generate.v1``),
    ``answer`` the schema that the reply must fit. ``variant`` tells apart two deliberate repeats of the same words.
    ``examples`` are earlier turns, each a question and its reply; ``weighed`` asks for the reply's likelihood.
    ``yes_or_no`` asks for one token and how likely it is to be yes rather than no; ``answer`` is then a `YesNo`.
    ``items`` is the most items of a list in the answer; a server may be told it, and no reply is refused for it.
    ``earlier`` holds replies to this request that did not fit, each with the complaint about it.
    """

    stage: str
    prompt: str
    system: str
    user: str
    answer: type[T]
    temperature: float | None = None
    max_tokens: int = 1024
    variant: int = 0
    examples: tuple[tuple[str, str], ...] = ()
    weighed: bool = False
    yes_or_no: bool = False
    items: int | None = None
    earlier: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts that identify the call in messages, as a hash of them."""
        return self.system, self.user


@dataclass(frozen=True, slots=True)
class Likelihood:
    """How likely a model finds its reply: the natural logarithms of its tokens' likelihoods, mean and least.

    Only the text of the reply counts, not the JSON around it.
    """

    mean: float
    least: float


@dataclass(frozen=True, slots=True)
class Completion(Generic[T]):
    """An answer that fits its schema. ``replayed`` is true where it came from the store and cost nothing now.

    ``likelihood`` is None where it was not asked for, or the server does not give it.
    """

    answer: T
    model: str
    usage: Usage
    replayed: bool = False
    likelihood: Likelihood | None = None


class ChatModel(Protocol):
    """A chat model.

    Raises:
        CallFailed: This call failed for good; others may work.
        AnswerRejected: The answer cannot be used.
        ModelUnavailable: No call can work.
        LimitReached: A cap forbids the call; nothing was sent.
    """

    async def complete(self, request: ChatRequest[T]) -> Completion[T]:
        """Return the model's answer."""


class Embedder(Protocol):
    """A text embedding model; raises as ``ChatModel`` does."""

    async def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Return one float32 row per text, in order."""


class Retriever(Protocol):
    """A retrieval system.

    Raises:
        RetrieverFailed: It cannot index or search; the message names the system and the reason.
    """

    def index(self, passages: Mapping[str, str]) -> None:
        """Index the text of each passage by its id, in place of any earlier index."""

    def search(self, queries: Mapping[str, str], *, k: int) -> dict[str, dict[str, float]]:
        """Return for each query id at most ``k`` passages with their scores, best first, equal scores by id descending.

        A query without results has an empty mapping.
        """


@dataclass(frozen=True, slots=True)
class Brief:
    """The task of a generator for one chunk."""

    chunk: Chunk
    assignment: Assignment
    constraints: Constraints
    language: str | None
    """The language to write in (ISO 639-1), None where the chunk's language is not known."""
    own_words: bool = True
    """Whether the generator can say a thing in other words; one that is asked in short need not."""
    titled: bool = True
    """Whether passages are emitted with their titles."""
    attempt: int = 0
    """How many proposals about the chunk were rejected before."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """The candidates for one chunk, or the reason why there are none.

    ``goes_on`` says that the generator can propose others if each of these is rejected. ``is_foreign`` says that the
    chunk is in a language that the model does not know.
    """

    candidates: tuple[Candidate, ...] = ()
    skip_reason: str | None = None
    is_foreign: bool = False
    goes_on: bool = False


class Author(Protocol):
    """Who wrote the queries of a set."""

    @property
    def name(self) -> str:
        """The generator's name and version."""

    @property
    def evidence_level(self) -> str:
        """``smoke`` for simulated queries, ``model`` for queries of a model, ``users`` for those of a log."""


class QueryGenerator(Author, Protocol):
    """Writes queries about one chunk at a time; raises as ``ChatModel`` does."""

    async def propose(self, brief: Brief) -> Proposal:
        """Return candidates for one chunk."""

    async def rewrite(self, brief: Brief, candidate: Candidate, complaint: str) -> Candidate | None:
        """Return another wording that answers the complaint, None where the generator has none.

        Args:
            brief: As in `propose`.
            candidate: The rejected query.
            complaint: Why it was rejected.
        """


class Step(Protocol):
    """The progress of one stage."""

    def advance(self, count: int) -> None:
        """Count this many more items as done."""

    def tell(self, line: str) -> None:
        """Show what is under way; the next line replaces this one."""


class Progress(Protocol):
    """Shows a person the progress of a run; no result depends on it."""

    def stage(self, name: str, total: int | None) -> AbstractContextManager[Step]:
        """Show a stage until its end; ``total`` is its number of items, None where that is not known."""

    def note(self, line: str) -> None:
        """Show one line that stays."""
