"""A model reads what rules leave undecided: the passages most likely to answer a query are graded as by ``grade``.

The grading prompt, its rubric, the further judges of pairs in doubt and the judge checks are those of ``grade``. A
judge that fails the checks decides nothing, and neither does a judgment that is missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from goldbench.config import Config, JudgeMethod
from goldbench.errors import ModelUnavailable
from goldbench.explore.log_coverage import LogComparison
from goldbench.explore.passage_pool import pooled
from goldbench.explore.readings import LogReading, Unread, decided, sure_grade
from goldbench.explore.verdicts import QueryOrigin, writers
from goldbench.explore.word_rules import is_foreign
from goldbench.generate.progress import calls_shown
from goldbench.goldset.folder import GoldFolder
from goldbench.goldset.gold_path import folder_of
from goldbench.grade.calls import PanelAnswers, PanelCalls, Slot, SlotAnswer, choose_judge
from goldbench.grade.panel import Assessors, ModelPanel
from goldbench.grade.pool import open_pools
from goldbench.grade.session import expected_escalation, more_calls
from goldbench.grade.tryout import ChunkList, sample
from goldbench.llm.rehearsal import PlannedStage
from goldbench.ports import Progress, Retriever
from goldbench.prompts.rubric import DEFAULT, Rubric
from goldbench.records.judgment import Canary
from goldbench.records.manifest import CanaryVerdict
from goldbench.records.query import Query
from goldbench.records.relevance import RELEVANT
from goldbench.score.runs import Gold
from goldbench.stages.canaries import TRAPS, PlantedPair, how_many, plant
from goldbench.text.injection import tells_how_to_judge

DEPTH = 10
"""Passages read for an undecided query by default, before their neighbours."""
FIRST = 3
"""Passages read first: where one of them answers a query, the others are not asked about."""
CHECKS = 0.05
"""Share of the calls that are judge checks (0.05 = 5 %); at least three of each kind are made."""
_FEWEST = 3
"""Fewest queries with evidence that judge checks are made of; else the built-in sample serves."""


@dataclass(frozen=True, slots=True)
class How:
    """How undecided queries are read.

    Args:
        config: The configuration, with the model that judges.
        answers: The store of answers.
        passages: Passages read per query, before their neighbours.
        replay: Whether every answer comes from the store.
    """

    config: Config
    answers: Path
    passages: int = DEPTH
    replay: bool = False


@dataclass(frozen=True, slots=True)
class Read:
    """A comparison with what a model decided, the passages that were to be read, and what reading took."""

    compared: LogComparison
    reading: LogReading
    look_at: Mapping[str, Sequence[str]]


async def read_undecided(
    compared: LogComparison, how: How, systems: Sequence[Retriever], *, progress: Progress
) -> Read:
    """Return a comparison with what a model decides about the queries that are undecided in it.

    Args:
        compared: The comparison.
        how: How they are read.
        systems: Retrievers that find passages to read beside those of a grading's pool.
        progress: Shows how far the work is.

    Raises:
        ModelUnavailable: The server cannot be used at all, or a replay lacks an answer.
        RetrieverFailed: A retriever cannot index or search.
    """
    with open_pools(how.config, how.answers, replay=how.replay) as chosen:
        undecided = unread(compared, [*chosen.build(compared.language).values(), *systems], count=how.passages)
    panel = ModelPanel(how.config, how.answers, replay=how.replay, rubric=_rubric(compared.gold))
    reading = await Reader(panel, compared.gold, compared.corpus, progress).read(undecided)
    return Read(compared.read(reading), reading, {key: item.passages for key, item in undecided.items()})


async def plan_undecided(
    compared: LogComparison, how: How, systems: Sequence[Retriever], *, progress: Progress
) -> tuple[list[PlannedStage], int]:
    """Return what reading would take at most, and for how many queries; send and write nothing.

    Args:
        compared: The comparison.
        progress: Shows how far the search is.
    """
    with open_pools(how.config, how.answers, dry_run=True) as chosen:
        undecided = unread(compared, [*chosen.build(compared.language).values(), *systems], count=how.passages)
    panel = ModelPanel(how.config, how.answers, rubric=_rubric(compared.gold))
    return await Reader(panel, compared.gold, compared.corpus, progress).plan(undecided), len(undecided)


def _rubric(gold: Gold) -> Rubric:
    folder = folder_of(gold.path)
    return DEFAULT if folder is None else GoldFolder(folder).rubric()


@dataclass(slots=True)
class Reader:
    """Reads passages for undecided queries.

    Args:
        panel: The judges.
        gold: The gold set.
        corpus: Its passages as they are emitted, by id.
        progress: Shows how far the work is.
    """

    panel: ModelPanel
    gold: Gold
    corpus: Mapping[str, str]
    progress: Progress

    async def read(self, unread: Mapping[str, Unread]) -> LogReading:
        """Return what the model decides.

        Args:
            unread: The undecided queries, by id.

        Raises:
            ModelUnavailable: The server cannot be used at all, or a replay lacks an answer.
        """
        problem = None
        try:
            async with self.panel.open({}) as panel:
                answers, judges = await self._ask(panel, unread, tries=True)
        except ModelUnavailable as error:
            with self.panel.rehearse() as (recalled, _):
                answers, judges = await self._ask(recalled, unread, tries=False)
            if self.panel.replay or not any(item.judgments for item in answers.slots):
                raise
            problem = str(error)
        return self._reading(unread, answers, len(judges.assessors), problem)

    async def plan(self, unread: Mapping[str, Unread]) -> list[PlannedStage]:
        """Return what reading every passage would take; send and write nothing.

        Args:
            unread: The undecided queries, by id.
        """
        with self.panel.rehearse() as (panel, report):
            answers, _ = await self._ask(panel, unread, tries=False)
            stages = list(report())
        open_ = sum(not (item.slot.planted or item.judgments) for item in answers.slots)
        more = more_calls(len(panel.others), self.panel.config.grade.panel)
        return [*stages, *expected_escalation(stages, open_, more)]

    async def _ask(
        self, panel: Assessors, unread: Mapping[str, Unread], *, tries: bool
    ) -> tuple[PanelAnswers, Assessors]:
        """Ask about the first passages of each query, then about the others where none of the first answers it.

        Returns:
            The answers, and the judges that were chosen for them.
        """
        to_judge = {
            key: query for key, query in unread.items() if query.passages and not tells_how_to_judge(query.text)
        }
        total = sum(len(query.passages) for query in to_judge.values())
        checks = (
            [Slot(check.query, check.chunk_id, planted=check) for check in _checks(self.gold, total)] if total else []
        )
        answers = PanelAnswers()
        with self.progress.stage("read", total + len(checks)) as step:
            asking = PanelCalls(
                text_of=self.corpus.__getitem__,
                panel=panel,
                concurrency=2 * self.panel.config.model.calls_at_once,
                advance=step.advance,
                tries=tries,
                stops=True,
            )
            async with calls_shown(panel, step, self.progress):
                method = self.panel.config.grade.method
                if checks and tries and method is not JudgeMethod.WRITTEN:
                    choice = await choose_judge(asking, checks, must=method is JudgeMethod.YES_NO)
                    asking = choice.asking
                    panel = choice.asking.panel
                answers.add(*(await asking.ask([*checks, *_slots(to_judge, slice(FIRST))])).slots)
                rest = {key: query for key, query in to_judge.items() if key not in _answered(answers, panel)}
                step.advance(sum(len(query.passages[FIRST:]) for key, query in to_judge.items() if key not in rest))
                if answers.findings().verdict is not CanaryVerdict.FAILED:
                    later = replace(asking, tries=False)
                    answers.add(*(await later.ask(_slots(rest, slice(FIRST, None)))).slots)
        return answers, panel

    def _reading(
        self, unread: Mapping[str, Unread], answers: PanelAnswers, judges: int, problem: str | None
    ) -> LogReading:
        name = self.panel.config.model.name or ""
        checked = answers.findings()
        pairs = _by_query(answers)
        why = "the model's server failed" if problem else answers.limit or "no usable reply"
        passed = checked.asked and checked.verdict is not CanaryVerdict.FAILED and _all_checked(answers)
        decisions = {
            key: decided(query, pairs.get(key, {}), name, why, judges) for key, query in unread.items() if passed
        }
        return LogReading(
            model=name,
            decisions=decisions,
            checked=checked.verdict,
            findings=(*checked.failed, *checked.warnings),
            pairs=sum(bool(item.judgments) for pair in pairs.values() for item in pair.values()),
            failures=tuple(answers.failures),
            limit=answers.limit,
            problem=problem,
            usage=self.panel.usage(),
        )


def _by_query(answers: PanelAnswers) -> dict[str, dict[str, SlotAnswer]]:
    slots: dict[str, dict[str, SlotAnswer]] = {}
    for item in answers.slots:
        if not item.slot.planted:
            slots.setdefault(item.slot.query.query_id, {})[item.slot.chunk_id] = item
    return slots


def unread(compared: LogComparison, retrievers: Sequence[Retriever], *, count: int = DEPTH) -> dict[str, Unread]:
    """Return the undecided queries of a comparison with the passages to read for each.

    Args:
        compared: The comparison.
        retrievers: Retrievers; they index the passages first.
        count: Passages per query, before their neighbours are added.
    """
    queries = compared.undecided()
    languages = [compared.language] if compared.language else []
    for retriever in retrievers if queries else ():
        retriever.index(compared.corpus)
    pools = pooled(queries, compared.corpus, retrievers, count=count)
    return {key: Unread(text, tuple(pools[key]), is_foreign(text, languages)) for key, text in queries.items()}


def _answered(answers: PanelAnswers, panel: Assessors) -> set[str]:
    """Return the queries that a passage answers by the judgments so far."""
    judges = 1 + len(panel.others)
    grades = {
        key: [sure_grade(item, judges) or 0 for item in slots.values()] for key, slots in _by_query(answers).items()
    }
    return {key for key, grade in grades.items() if max(grade) >= RELEVANT}


def _slots(unread: Mapping[str, Unread], part: slice) -> list[Slot]:
    return [
        Slot(Query(query_id=key, chunk_id=passage, text=query.text, generator="log"), passage)
        for key, query in unread.items()
        for passage in query.passages[part]
    ]


def _all_checked(answers: PanelAnswers) -> bool:
    """Whether every judge check was asked: a cap may have ended the asking before."""
    return all(item.judgments or item.failures for item in answers.slots if item.slot.planted)


def _checks(gold: Gold, calls: int) -> list[PlantedPair]:
    """Return the judge checks: of the set's own queries if people or a model wrote them and they have evidence.

    Args:
        gold: The gold set.
        calls: Calls about passages.
    """
    count = how_many(calls, CHECKS)
    own = list(_own_checks(gold, count))
    kinds = {check.kind for check in own}
    if Canary.EVIDENCE_ALONE in kinds and kinds.issuperset(TRAPS):
        return own
    chunks, queries = sample()
    return list(plant(queries, count=count, chunks=ChunkList(chunks), pooled=lambda _: ()))


def _own_checks(gold: Gold, count: int) -> list[PlantedPair]:
    folder = folder_of(gold.path)
    if folder is None or not GoldFolder(folder).is_finished():
        return []
    home = GoldFolder(folder)
    written = writers(gold, gold.qrels)
    queries = [
        query
        for query in home.queries.read()
        if query.evidence and written.get(query.query_id) is QueryOrigin.AUTHOR and query.query_id in gold.qrels
    ]
    if len(queries) < _FEWEST:
        return []
    return list(plant(queries, count=count, chunks=home.chunks.read(), pooled=lambda key: gold.qrels.get(key, {})))
