"""The judges: the model that grades every pair first, and the judges that check it."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from goldbench.config import Config, JudgeMethod, Panel
from goldbench.errors import Message, UsageError
from goldbench.generate.writers import model_not_named, only_model, open_answers, prompt_of, with_local_models
from goldbench.llm.budget import Budget
from goldbench.llm.limits import Snapshot
from goldbench.llm.model_path import ModelPath, open_model
from goldbench.llm.preflight import tell_limits
from goldbench.llm.prices import added, check_price
from goldbench.llm.rehearsal import PlannedStage, Planning
from goldbench.llm.server_settings import PATIENCE_S, ModelSettings
from goldbench.llm.store import read_unchanged
from goldbench.ports import ChatModel
from goldbench.prompts.rubric import DEFAULT, Rubric
from goldbench.records.manifest import StageUsage
from goldbench.retrieval.system_settings import EmbeddingSettings
from goldbench.stages.judge import YES_NO, Judge, Thresholds, YesNoJudge
from goldbench.systems.destinations import destinations

GRADE = "grade.v1"
PARAPHRASES = ("grade-b.v1", "grade-c.v1")

GRADING = "grade"
CANARY = "canary"
CHECK = "source check"
ESCALATION = "escalate"
ACCOUNTS = (GRADING, CANARY, CHECK, ESCALATION)
"""The accounts that calls are counted under."""


@dataclass(frozen=True, slots=True)
class Assessors:
    """Every assessor, ready to be asked.

    ``alternative`` is the first judge asked for yes or no, if these judge in writing.
    """

    first: Judge | YesNoJudge
    others: tuple[Judge, ...]
    everybody: bool
    alternative: YesNoJudge | None = None
    traffic: Callable[[], Snapshot] | None = None
    patience_s: float = PATIENCE_S

    @property
    def assessors(self) -> tuple[str, ...]:
        """The names of the assessors, the first judge first."""
        return (self.first.assessor, *(judge.assessor for judge in self.others))

    @property
    def digests(self) -> dict[str, str]:
        """The SHA-256 of every prompt in use, by its id."""
        return {judge.prompt.id: judge.prompt.sha256 for judge in (self.first, *self.others)}

    @property
    def rubric(self) -> str | None:
        """The digest of the rubric that the judges in writing read, None if there are none."""
        return next((judge.rubric.sha for judge in (self.first, *self.others) if isinstance(judge, Judge)), None)

    @property
    def thresholds(self) -> Thresholds | None:
        """The thresholds of a judge by yes or no, None for one that grades in writing."""
        return self.first.thresholds if isinstance(self.first, YesNoJudge) else None

    def by_yes_no(self, thresholds: Thresholds) -> Assessors:
        """Return the panel with a first judge that is asked for yes or no; other models still grade in writing."""
        judge = self.alternative or self.first
        assert isinstance(judge, YesNoJudge)
        others = tuple(further for further in self.others if further.name != judge.name)
        return replace(self, first=replace(judge, thresholds=thresholds), others=others, alternative=None)


class ModelPanel:
    """Opens the models of a panel over one store; the caps hold for all of them together."""

    def __init__(
        self,
        config: Config,
        answers: Path,
        *,
        replay: bool = False,
        batches: Callable[[str], None] | None = None,
        say: Callable[[str], None] = lambda _: None,
        rubric: Rubric = DEFAULT,
    ) -> None:
        self.config = config
        self.answers = answers
        self.replay = replay
        self.batches = batches
        self._say = say
        self._rubric = rubric
        self._name = config.model.name or ""
        judges = config.grade.judges
        if self._name in judges:
            raise UsageError(f"grade.judges: {self._name} is the first judge already; name other models")
        folder = config.generate.prompts
        self._first = prompt_of(GRADE, folder)
        self._yes_no = prompt_of(YES_NO, folder)
        self._others = [(judge, self._first) for judge in judges]
        if not judges:
            self._others = [(self._name, prompt_of(name, folder)) for name in PARAPHRASES]
        self._settings = {name: ModelSettings.of(config.model, name=name) for name in (self._name, *judges)}
        if not replay:
            for settings in self._settings.values():
                check_price(settings)
        self._usage: list[Mapping[str, StageUsage]] = []

    @property
    def settings(self) -> ModelSettings:
        """The settings of the first judge."""
        return self._settings[self._name]

    def _assemble(self, models: Mapping[str, ChatModel], *, traffic: Callable[[], Snapshot] | None = None) -> Assessors:
        """Return the assessors over open models, by name."""
        panel = Assessors(
            first=Judge(model=models[self._name], name=self._name, prompt=self._first, rubric=self._rubric),
            others=tuple(
                Judge(model=models[name], name=name, prompt=prompt, stage=ESCALATION, rubric=self._rubric)
                for name, prompt in self._others
            ),
            everybody=self.config.grade.panel is Panel.ALL,
            alternative=YesNoJudge(model=models[self._name], name=self._name, prompt=self._yes_no),
            traffic=traffic,
            patience_s=self.config.model.patience_s,
        )
        return panel.by_yes_no(Thresholds()) if self.config.grade.method is JudgeMethod.YES_NO else panel

    @contextlib.asynccontextmanager
    async def open(self, spent: Mapping[str, StageUsage]) -> AsyncIterator[Assessors]:
        """Open the path to every model.

        Args:
            spent: What was spent before, on the same caps.

        Raises:
            UsageError: A replay has no store.
        """
        budget = Budget(self.settings, functools.reduce(added, spent.values(), StageUsage()))
        with open_answers(self.answers, replay=self.replay) as answers:
            async with contextlib.AsyncExitStack() as stack:
                paths: dict[str, ModelPath] = {}
                for name, settings in self._settings.items():
                    opened = open_model(
                        settings, answers=answers, replay=self.replay, batch=self.batches, budget=budget
                    )
                    paths[name] = await stack.enter_async_context(opened)
                    tell_limits(paths[name], settings, self._say)
                quiet = self.replay or self.batches is not None
                traffic = None if quiet else paths[self._name].snapshot
                try:
                    yield self._assemble(paths, traffic=traffic)
                finally:
                    self._usage = [path.usage() for path in paths.values()]

    @contextlib.contextmanager
    def rehearse(self) -> Iterator[tuple[Assessors, Callable[[], Sequence[PlannedStage]]]]:
        """Open a stand-in that answers from the store, and a report of the requests a grading would send."""
        with read_unchanged(self.answers) as known:
            planned = {name: Planning(settings=settings, store=known) for name, settings in self._settings.items()}

            def report() -> list[PlannedStage]:
                batch = self.batches is not None
                return [row for books in planned.values() for row in books.report(batch=batch)]

            yield self._assemble(planned), report

    def usage(self) -> dict[str, StageUsage]:
        """Return what the calls of all models cost, by account."""
        total: dict[str, StageUsage] = {}
        for usage in self._usage:
            for stage, spent in usage.items():
                total[stage] = added(total[stage], spent) if stage in total else spent
        return total


NEEDS_A_MODEL = Message(
    "grading needs a model: give {model=} and {base_url=} (or set OPENAI_API_KEY or OPENAI_BASE_URL), "
    "or {model='local'}"
)


async def judging(config: Config, *, asks: bool = True, replay: bool = False) -> Config:
    """Return the configuration with the model that judges: the one named, or the only one its server offers.

    Args:
        config: The configuration.
        asks: Whether a server may be asked which models it offers.
        replay: Whether no server is needed.

    Raises:
        UsageError: There is no model, or it is not clear which.
        ModelUnavailable: The package with the bundled model is not installed.
        InputError: The file of a model cannot be read or is not a model.
    """
    model = config.model
    if model.name is None and model.server is None:
        raise UsageError(NEEDS_A_MODEL)
    if model.name is None and not asks:
        raise model_not_named(replay=replay)
    if not replay:
        model.check_server()
    if model.name is None:
        config = config.model_copy(update={"model": model.model_copy(update={"name": await only_model(config)})})
    config = with_local_models(config, runs=not replay)
    for judge in config.grade.judges:
        if config.model.file_of(judge) is None and not replay:
            config.model.model_copy(update={"name": judge, "digest": None}).check_server()
    return config


def destinations_of_judging(config: Config, *, replay: bool) -> list[str]:
    """Return the addresses of everything that a judging asks: each judge, and the embedding model of the pool."""
    systems = [EmbeddingSettings()] if config.model.embedding else []
    addresses = destinations(config, systems, chat=True, replay=replay)
    at_server = [judge for judge in config.grade.judges if config.model.file_of(judge) is None]
    if at_server and config.model.server and not replay:
        addresses.append(config.model.server)
    return addresses
