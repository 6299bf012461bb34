"""Writers of queries, opened for one run: a model or the offline generator."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goldbench.config import Config, Generation, Generator, JudgeMethod, PromptStyle
from goldbench.errors import Message, NotAsked, UsageError, explained
from goldbench.llm.budget import Budget
from goldbench.llm.catalogue import ModelFile
from goldbench.llm.limits import Snapshot
from goldbench.llm.local.machine import check_graphics
from goldbench.llm.local.model_file import find_model
from goldbench.llm.prices import check_price
from goldbench.llm.server_settings import OPENAI_KEY, ModelSettings
from goldbench.ports import Brief, ChatModel, Proposal, QueryGenerator, StoredRecords
from goldbench.prompts.loader import Prompt, PromptError, load
from goldbench.prompts.rubric import DEFAULT, Rubric
from goldbench.records.corpus import Chunk
from goldbench.records.manifest import StageUsage
from goldbench.records.query import Candidate
from goldbench.stages.generate import (
    CROSS_COMPARISON,
    GRADE_MANY,
    MULTI_HOP,
    ModelGenerator,
    ModelKindWriter,
    ShortGenerator,
    TinyGenerator,
    notes_of,
    prompts_of_kinds,
)
from goldbench.stages.judge import YES_NO, ManyJudge, YesNoJudge

if TYPE_CHECKING:
    from goldbench.llm.rehearsal import Planning
    from goldbench.llm.store import AnswerStore

GENERATE = "generate.v1"
REWRITE = "rewrite.v1"
ASK = "ask.v1"
CHOOSE = "choose.v1"

LARGE_MODEL = 9e9
"""Parameters from which a model is asked at length at first."""
TINY_MODEL = 3e8
"""Parameters below which queries count as ``smoke``, and are written in English alone: such models know no more."""

WAVE = 100_000
"""How many chunks (or pairs to judge) are worked on at once with batches: enough to put a whole wave into one batch."""


@dataclass(frozen=True, slots=True)
class OpenWriter:
    """The generator of one run, open.

    ``at_once`` is the number of chunks to work on at once, None for the caller's own number. ``traffic`` gives the
    state of the calls, None where no call is waited for; calls older than ``patience_s`` seconds are shown. ``kinds``
    writes the kinds of queries beyond a single passage, None where nobody can; ``pool_judge`` looks for answers to
    those that nothing should answer. ``other_style`` asks the same model in the other prompt style, None where the
    style is settled.
    """

    generator: QueryGenerator
    other_style: QueryGenerator | None = None
    at_once: int | None = None
    traffic: Callable[[], Snapshot] | None = None
    patience_s: float = 30.0
    kinds: ModelKindWriter | None = None
    pool_judge: ManyJudge | YesNoJudge | None = None


class OfflineWriter:
    """Simulated queries: no model, no network."""

    def __init__(self, config: Config, reason: str) -> None:
        self.config = config
        self.prompts = dict[str, str]()
        model = f"model {config.model.name} not asked for them" if config.model.name else "no model"
        self.announcement = f"Queries are simulated offline, {model}{reason}."

    @contextlib.asynccontextmanager
    async def open(self, chunks: StoredRecords[Chunk]) -> AsyncIterator[OpenWriter]:
        """Fit the generator to the corpus."""
        yield OpenWriter(simulation(self.config.generate, chunks))

    def usage(self) -> Mapping[str, StageUsage]:
        """Return nothing: nothing was called."""
        return {}

    def take_style(self, style: PromptStyle) -> None:
        """Do nothing: no prompt is sent.

        Args:
            style: The prompt style.
        """


class ModelWriter:
    """A model behind an OpenAI-compatible server; every answer is stored before it is used.

    If ``batches`` is set, requests are sent in batches, and it takes a line about each. A replay sends no request.
    """

    def __init__(self, config: Config, answers: Path, reason: str, *, replay: bool = False) -> None:
        """Take what is needed to open the path to the model.

        Args:
            config: The configuration.
            answers: The store of answers.
            reason: Why a model writes, for the announcement.
            replay: Whether every answer comes from the store.
        """
        self._answers = answers
        self._replay = replay
        self.batches: Callable[[str], None] | None = None
        self.say: Callable[[str], None] = lambda _: None
        """Takes a line about what was found of the server."""
        self.rubric: Rubric = DEFAULT
        """What grades mean where passages are judged for queries that nothing is to answer."""
        self.budget: Budget | None = None
        self._usage: Mapping[str, StageUsage] = {}
        self.is_style_open = False
        """Whether the first passages decide about the prompt style, because the user named none."""
        self._take(config)
        settings = ModelSettings.of(config.model)
        server = "on this machine" if settings.file else f"at {settings.shown_url()}"
        author = f"written by {config.model.name} {server}"
        if replay:
            author = f"replayed from stored answers of {config.model.name}"
        self.announcement = f"Queries are {author}{reason}; answers: {answers}."

    def _take(self, config: Config) -> None:
        self.config = config
        self._prompts = {name: prompt_of(name, config.generate.prompts) for name in prompts_of(config)}
        if GRADE_MANY in self._prompts and config.grade.method is JudgeMethod.YES_NO:
            self._prompts[GRADE_MANY] = prompt_of(YES_NO, config.generate.prompts)
        self.prompts = {prompt.id: prompt.sha256 for prompt in self._prompts.values()}

    def take_style(self, style: PromptStyle) -> None:
        """Ask in this style from now on."""
        self._take(self.config.in_style(style))

    @contextlib.asynccontextmanager
    async def open(self, chunks: StoredRecords[Chunk]) -> AsyncIterator[OpenWriter]:  # noqa: ARG002  for who simulates
        """Open the path to the model."""
        from goldbench.generate.larger_model import larger_model
        from goldbench.llm.model_path import open_model
        from goldbench.llm.preflight import tell_limits

        settings = ModelSettings.of(self.config.model)
        self.budget = self.budget or Budget(settings)
        with open_answers(self._answers, replay=self._replay) as answers:
            opened = open_model(settings, answers=answers, replay=self._replay, batch=self.batches, budget=self.budget)
            async with opened as chat:
                tell_limits(chat, settings, self.say)
                if settings.file and is_tiny(self.config) and (advice := larger_model()) is not None:
                    self.say(advice)
                try:
                    yield OpenWriter(
                        self._generator(chat),
                        self._other_style(chat),
                        at_once=WAVE if self.batches else None,
                        traffic=None if self.batches or self._replay else chat.snapshot,
                        patience_s=settings.patience_s,
                        kinds=self._kind_writer(chat),
                        pool_judge=self._pool_judge(chat),
                    )
                finally:
                    self._usage = chat.usage()

    @contextlib.asynccontextmanager
    async def rehearse(self) -> AsyncIterator[tuple[OpenWriter, Planning]]:
        """Open a stand-in that answers from the store, and the counts of the requests a run would send."""
        from goldbench.llm.rehearsal import Planning
        from goldbench.llm.store import read_unchanged

        with read_unchanged(self._answers) as known:
            generate = self.config.generate
            items = {
                GENERATE: generate.constraints.per_chunk,
                MULTI_HOP: generate.multi_hop.passages,
                CROSS_COMPARISON: 2,
                GRADE_MANY: min(generate.unanswerable.depth, generate.unanswerable.passages_per_call),
            }
            chat = Planning(settings=ModelSettings.of(self.config.model), store=known, items=items)
            kinds = self._kind_writer(chat)
            judge = self._pool_judge(chat)
            yield OpenWriter(self._generator(chat), kinds=kinds, pool_judge=judge), chat

    def _generator(self, chat: ChatModel) -> QueryGenerator:
        """Return the generator of the chosen way of asking."""
        generate = self.config.generate
        model = self.config.model
        if generate.asks_in_short:
            if is_tiny(self.config):
                return TinyGenerator(model=chat, prompt=self._prompts[CHOOSE])
            return ShortGenerator(
                model=chat,
                prompt=self._prompts[ASK],
                notes=notes_of(generate.context, generate.seed_queries, generate.constraints),
                temperature=model.writing_temperature,
                max_answer_tokens=model.answer_tokens(in_short=True),
            )
        return ModelGenerator(
            model=chat,
            prompt=self._prompts[GENERATE],
            rewrite_prompt=self._prompts[REWRITE],
            context=generate.context,
            examples=generate.seed_queries,
            temperature=model.writing_temperature,
            max_answer_tokens=model.answer_tokens(generate.constraints.per_chunk),
        )

    def _other_style(self, chat: ChatModel) -> QueryGenerator | None:
        if not self.is_style_open or self.batches:
            return None
        config = self.config.in_style(self.config.generate.prompt_style.opposite)
        return ModelWriter(config, self._answers, "")._generator(chat)  # noqa: SLF001

    def _kind_writer(self, chat: ChatModel) -> ModelKindWriter | None:
        generate = self.config.generate
        model = self.config.model
        if is_tiny(self.config):
            return None
        return ModelKindWriter(
            model=chat,
            prompts=self._prompts,
            context=generate.context,
            examples=generate.seed_queries,
            temperature=model.writing_temperature,
            max_answer_tokens=model.answer_tokens(),
        )

    def _pool_judge(self, chat: ChatModel) -> ManyJudge | YesNoJudge | None:
        prompt = self._prompts.get(GRADE_MANY)
        if prompt is None:
            return None
        name = self.config.model.name or ""
        stage = "answer check"
        if self.config.grade.method is JudgeMethod.YES_NO:
            return YesNoJudge(model=chat, name=name, prompt=prompt, stage=stage)
        return ManyJudge(model=chat, name=name, prompt=prompt, stage=stage, rubric=self.rubric)

    def usage(self) -> Mapping[str, StageUsage]:
        """Return what the calls so far cost, by stage."""
        return self._usage


def simulation(settings: Generation, chunks: Iterable[Chunk]) -> QueryGenerator:
    """Return the generator that simulates queries from the words of these chunks."""
    from goldbench.offline.generator import OfflineGenerator

    return OfflineGenerator(chunks, seed=settings.seed)


class SimulationStandIn:
    """The simulation of a dry run: it reads no corpus, and every query of its own is a stand-in."""

    name = "not simulated"
    evidence_level = "smoke"

    async def propose(self, brief: Brief) -> Proposal:  # noqa: ARG002  nothing is looked at
        """Leave the query open.

        Raises:
            NotAsked: Always.
        """
        raise NotAsked("not simulated, this is a dry run")

    async def rewrite(self, brief: Brief, candidate: Candidate, complaint: str) -> None:
        """Return nothing: there is no query.

        Args:
            candidate: The rejected query.
            complaint: Why it was rejected.
        """


def check_replay(*, replay: bool, batch: bool, dry_run: bool) -> None:
    """Refuse options that contradict one another.

    Args:
        replay: Whether every answer comes from the store.
        batch: Whether questions are sent in batches.
        dry_run: Whether only the expected cost is shown.

    Raises:
        UsageError: A replay is to send batches, or to show a cost.
    """
    if replay and (batch or dry_run):
        raise UsageError(Message("{replay=True} sends nothing: leave out {batch=True} and {dry_run=True}"))


@contextlib.contextmanager
def open_answers(path: Path, *, replay: bool) -> Iterator[AnswerStore]:
    """Open the store of answers; it is made if missing, unless it is to be replayed.

    Raises:
        UsageError: There is no store to replay.
        OutputError: The folder of the store cannot be made.
    """
    from goldbench.llm.store import AnswerStore

    if replay and not path.exists():
        raise UsageError(
            Message("{}: no store of answers to replay; check {answers=}, or run without {replay=True}", path)
        )
    with explained(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
    with AnswerStore(path) as answers:
        yield answers


def prompt_of(name: str, folder: Path | None) -> Prompt:
    """Return a prompt by its id, the user's own if the folder has one.

    Raises:
        UsageError: The folder does not exist, or the prompt is malformed.
    """
    if folder is not None and not folder.is_dir():
        raise UsageError(f"generate.prompts: not a folder: {folder}")
    try:
        return load(name, folder)
    except (PromptError, OSError, UnicodeDecodeError) as error:
        raise UsageError(str(error)) from None


def prompts_of(config: Config) -> tuple[str, ...]:
    """Return the ids of the prompts a run with a model uses."""
    short = (CHOOSE if is_tiny(config) else ASK,)
    asking = short if config.generate.asks_in_short else (GENERATE, REWRITE)
    shared = () if is_tiny(config) else prompts_of_kinds(config.generate.kinds)
    return (*asking, *shared)


async def writer_for(
    config: Config, answers: Path, *, asks: bool = True, replay: bool = False, earlier: Mapping[str, Any] | None = None
) -> OfflineWriter | ModelWriter:
    """Return the writer that the configuration names, or the model if a key or a base URL is set.

    Args:
        config: The configuration.
        answers: The store of answers.
        asks: Whether a server may be asked which models it offers.
        replay: Whether every answer comes from the store.
        earlier: The settings of the set that the new one would replace, None if there is none.

    Raises:
        UsageError: No model is named, and the server does not offer exactly one or may not be asked; or money is capped
            and the price is not known.
    """
    generator = config.generate.generator
    chosen = Generator.MODEL if replay or config.uses_model() else Generator.SIMULATED
    reason = "" if replay or chosen is generator else _reason(config, chosen)
    config = config.model_copy(update={"generate": config.generate.model_copy(update={"generator": chosen})})
    if chosen is Generator.SIMULATED:
        if config.model.name is not None and generator is not chosen:
            config.model.check_server()
        return OfflineWriter(config, reason)
    if asks and not replay:
        config.model.check_server()
    if config.model.name is None:
        if not asks or replay:
            raise model_not_named(replay=replay)
        config = config.model_copy(update={"model": config.model.model_copy(update={"name": await only_model(config)})})
    named = with_local_models(config, runs=not replay)
    check_price(ModelSettings.of(named.model))
    is_known = (earlier or {}).get("model", {}).get("name") == named.model.asked_name
    if is_known and named.generate.prompt_style is PromptStyle.AUTO:
        named = named.in_style(PromptStyle((earlier or {}).get("generate", {}).get("prompt_style", PromptStyle.LONG)))
    writer = ModelWriter(with_prompt_style(named), answers, reason, replay=replay)
    writer.is_style_open = named.generate.prompt_style is PromptStyle.AUTO and not is_tiny(named)
    return writer


def with_local_models(config: Config, *, runs: bool = True) -> Config:
    """Replace local model aliases by their recorded names.

    Args:
        config: The configuration.

    Raises:
        MissingExtra: ``xllamacpp`` is not installed.
        ModelUnavailable: The package with the bundled model is not installed.
        InputError: A file cannot be read or is not a model.
        UsageError: Two judges are the same file, or there is no graphics card for a model's layers.
    """
    names = [name for name in (config.model.asked_name, *config.grade.judges) if name is not None]
    files: dict[str, ModelFile] = {}
    for name in names:
        digest = config.model.digest if name == config.model.asked_name else None
        file = find_model(name, config.model.base_url, digest=digest, runs=runs)
        if file is not None:
            files[name] = file
    if not files:
        return config
    if runs:
        check_graphics(config.model.gpu_layers)
    judges = tuple(files[name].name if name in files else name for name in config.grade.judges)
    if len(set(judges)) < len(judges):
        raise UsageError("grade.judges: the same file is named twice; name other models")
    return config.model_copy(
        update={"model": config.model.with_files(files), "grade": config.grade.model_copy(update={"judges": judges})}
    )


def with_prompt_style(config: Config) -> Config:
    """Return the configuration with the prompt style to begin with: in short for models that are known to be small."""
    if config.generate.prompt_style is not PromptStyle.AUTO:
        return config
    size = config.model.parameters
    is_small = config.model.needs_no_server if size is None else size < LARGE_MODEL
    return config.in_style(PromptStyle.SHORT if is_small else PromptStyle.LONG)


def is_tiny(config: Config) -> bool:
    """Return whether the model is too small for anything but a try, as the bundled one is, by its file or its name."""
    return (config.model.parameters or TINY_MODEL) < TINY_MODEL


def _reason(config: Config, chosen: Generator) -> str:
    if config.model.needs_no_server:
        return ""
    if chosen is Generator.SIMULATED:
        return f" (neither {OPENAI_KEY} nor a base URL is set)"
    return f" ({'a base URL' if config.model.base_url else OPENAI_KEY} is set)"


def model_not_named(*, replay: bool) -> UsageError:
    """Return the error of a replay or a dry run that names no model."""
    run = "replay" if replay else "dry run"
    return UsageError(Message("no model is named, and a {} asks no server which it offers: give {model=}", run))


async def only_model(config: Config) -> str:
    """Return the one model that the configured server offers.

    Raises:
        UsageError: No server is named but OpenAI's, which offers many; or it offers none or several, or is not reached.
    """
    from goldbench.llm.probe import probe  # its HTTP client takes a while to import

    if config.model.base_url is None:
        raise UsageError(Message("no model is named: give {model=}"))
    answer = await probe(config.model.base_url, config.api_key(), key_header=config.model.key_header)
    if len(answer.models) == 1:
        return answer.models[0]
    offers = f"it offers {', '.join(answer.models[:8])}" if answer.models else f"it {answer.problem or 'offers none'}"
    raise UsageError(Message("no model is named: give {model=} ({}: {})", answer.base_url, offers))
