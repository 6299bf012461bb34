"""What the stages ask of the world, without knowing who answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from pydantic import BaseModel

from schemas.corpus import Chunk
from schemas.query import Assignment, Candidate, Constraints

if TYPE_CHECKING:
    import numpy as np

T = TypeVar("T", bound=BaseModel)
R_co = TypeVar("R_co", covariant=True)


class Stored(Protocol[R_co]):
    """Records on disk, in a fixed order: may be read any number of times, never all held in memory."""

    def __iter__(self) -> Iterator[R_co]:
        """Read from the first record."""

    def __len__(self) -> int:
        """How many records there are."""

    def at(self, position: int) -> R_co:
        """Return the record at this position, counted from 0."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What a call cost: tokens read (of them ``cached`` by the provider) and written, and US dollars where known."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    usd: float | None = None


@dataclass(frozen=True, slots=True)
class ChatRequest(Generic[T]):
    """One question to a model.

    ``stage`` names the account it is booked to, ``prompt`` the prompt file and version (``generate.v1``),
    ``answer`` the schema the reply must fit. ``variant`` tells apart two deliberate repeats of the same words.
    """

    stage: str
    prompt: str
    system: str
    user: str
    answer: type[T]
    temperature: float | None = None
    max_tokens: int = 1024
    variant: int = 0


@dataclass(frozen=True, slots=True)
class Completion(Generic[T]):
    """An answer that fits its schema. ``replayed`` says it came from the store and cost nothing now."""

    answer: T
    model: str
    usage: Usage
    replayed: bool = False


class ChatModel(Protocol):
    """A chat model.

    Raises:
        CallFailed: this call failed for good; others may work.
        AnswerRejected: the answer cannot be used.
        ModelUnavailable: no call can work now.
        LimitReached: a cap forbids the call; nothing was sent.
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
        RetrieverFailed: it cannot index or search; the message says which system and why.
    """

    def index(self, passages: Mapping[str, str]) -> None:
        """Index the text of each passage by its id; what was indexed before is forgotten."""

    def search(self, queries: Mapping[str, str], *, k: int) -> dict[str, dict[str, float]]:
        """Return for each query id at most ``k`` passages with their scores, best first, equal scores by id descending.

        A query for which nothing was found has an empty mapping.
        """


@dataclass(frozen=True, slots=True)
class Brief:
    """What a generator is told about one chunk."""

    chunk: Chunk
    assignment: Assignment
    constraints: Constraints
    language: str | None
    """The language to write in (ISO 639-1), None where the chunk's is not known."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """Candidates for one chunk, or the reason why there are none."""

    candidates: tuple[Candidate, ...] = ()
    skip_reason: str | None = None


class QueryGenerator(Protocol):
    """Writes queries about one chunk at a time. Raises as ``ChatModel`` does."""

    @property
    def name(self) -> str:
        """What wrote the queries, with its version."""

    @property
    def evidence_level(self) -> str:
        """``smoke`` for simulated queries, ``model`` for a model's."""

    async def propose(self, brief: Brief) -> Proposal:
        """Return candidates for one chunk."""

    async def rewrite(self, brief: Brief, candidate: Candidate, complaint: str) -> Candidate | None:
        """Return another wording that answers the complaint, or None where the generator has no other."""


class Critics(Protocol):
    """Judge a candidate that passed the mechanical checks. Raises as ``ChatModel`` does."""

    async def judge(self, brief: Brief, candidate: Candidate) -> Mapping[str, int]:
        """Return a score from 1 to 5 by criterion; empty where this candidate is not judged."""


class Traffic(Protocol):
    """Where the calls to a model are at one moment."""

    def line(self) -> str:
        """Return it as one line."""

    def stall(self, after_s: float) -> str | None:
        """Return a line that names the oldest calls, when one has been under way for ``after_s`` or more."""


@dataclass(frozen=True, slots=True)
class Writing:
    """Whoever writes queries and whoever criticises them, open for one run.

    ``at_once`` is how many chunks should be under way at once; None leaves it to the caller. ``traffic`` says where
    the calls are, None where there are none to wait for; a call is worth naming after ``patience_s`` seconds.
    """

    generator: QueryGenerator
    critics: Critics | None = None
    at_once: int | None = None
    traffic: Callable[[], Traffic] | None = None
    patience_s: float = 30.0


class Step(Protocol):
    """One stage being shown."""

    def advance(self, count: int) -> None:
        """Say that so many more items are done."""

    def tell(self, line: str) -> None:
        """Say what is under way; the next line replaces it."""


class Progress(Protocol):
    """Shows a person how far the run is. Nothing depends on it."""

    def stage(self, name: str, total: int | None) -> AbstractContextManager[Step]:
        """Show a stage from now until its end; ``total`` is None where it is not known before."""

    def note(self, line: str) -> None:
        """Show one line that stays."""
