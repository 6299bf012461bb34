"""A set of users' queries: documents read and cut, queries drawn from a log, judged by a model or left for people."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path

from goldbench.config import Config
from goldbench.formats.jsonl import RecordFile
from goldbench.formats.query_logs import Log
from goldbench.generate import flow
from goldbench.generate.books import describe_shaping
from goldbench.generate.steps import UP_TO, BuildRun
from goldbench.generate.users_queries import UsersQueries, draw_users_queries
from goldbench.generate.writers import OpenWriter
from goldbench.goldset.dataset import GoldContents, passages
from goldbench.goldset.file_names import UNLABELLED, USERS, answers_beside
from goldbench.goldset.folder import Draft, GoldFolder, ReplacePolicy, stamp
from goldbench.grade.build_order import BuildOrder, expected, opened_grading
from goldbench.grade.pool import open_pools, read_gradable, waiting_pool
from goldbench.grade.session import GradingResult
from goldbench.ports import Progress
from goldbench.records.corpus import Chunk
from goldbench.records.manifest import Manifest, StageReport
from goldbench.records.query import UnlabelledQuery
from goldbench.report.build_text import passed_over
from goldbench.stages.check.single_checks import query_id
from goldbench.stages.pool import language_of


@dataclass(frozen=True, slots=True, kw_only=True)
class UsersOrder:
    """A set of users' queries that is to be built.

    Args:
        order: What is to be built, from which documents, and where.
        log: The log.
        names: Names of people; queries that hold one are left out.
    """

    order: BuildOrder
    log: Log
    names: tuple[str, ...] = ()

    def drawn(self) -> UsersQueries:
        """Return the queries of the log that the set gets.

        Raises:
            InputError: Every query of the log holds personal data.
        """
        generate = self.order.config.generate
        count = generate.queries or UP_TO
        return draw_users_queries(self.log, count, names=self.names, seed=generate.seed)

    def policy(self) -> ReplacePolicy:
        """Return what decides whether the set may take its folder: the settings, and the queries of the log."""
        logged = sorted((text, query.text, query.count) for text, query in self.log.queries.items())
        queries = hashlib.sha256(json.dumps([logged, sorted(self.names)]).encode("utf-8", "surrogatepass")).hexdigest()
        config = self.order.config
        whole = hashlib.sha256(f"{config.fingerprint({})} {queries}".encode()).hexdigest()
        return ReplacePolicy(
            {**config.shaping(), "log": {"queries": queries}},
            whole,
            replace=self.order.replace,
            graded=self.order.grade,
            reviewed=self.order.decisions is not None,
        )


@dataclass(frozen=True, slots=True)
class UsersBuildResult:
    """A finished set of users' queries: what was drawn, its manifest, its grading if it was graded."""

    drawn: UsersQueries
    manifest: Manifest
    waiting: int
    graded: GradingResult | None = None

    @property
    def complete(self) -> bool:
        """Whether nothing failed and every pair that a model was to judge is judged."""
        return not self.manifest.failures and (self.graded is None or self.graded.complete)


def plan_users(users: UsersOrder) -> tuple[UsersQueries, str]:
    """Return the queries that would be drawn, and about what the grading would take; read no document, send nothing.

    Raises:
        InputError: Every query of the log holds personal data.
        OutputError: The output folder holds something else.
    """
    GoldFolder(users.order.out).check_usable(users.policy())
    drawn = users.drawn()
    if not users.order.grade:
        return drawn, "0 requests, no cost."
    return drawn, expected(users.order.config, len(drawn.queries))


async def build_users(users: UsersOrder, *, progress: Progress, say: Callable[[str], None]) -> UsersBuildResult:
    """Build the set, let a model judge it if that is ordered, and put it in place.

    Args:
        users: What is to be built.
        progress: Shows how far the work is.
        say: Takes a line that stays on the screen.

    Raises:
        InputError: Nothing could be read, or every query of the log holds personal data.
        OutputError: The output folder holds something else, or cannot be written.
        UsageError: No model is named, or no server.
        ModelUnavailable: The model's server cannot be used; the answers so far are in the store.
    """
    order = users.order
    drawn = users.drawn()
    home = GoldFolder(order.out)
    async with opened_grading(order, order.config, chat=False, progress=progress, say=say) as grading:
        for line in passed_over(order.sources.ignored, order.sources.repeated):
            say(line)
        with home.replacing(users.policy()) as draft:
            run = _run(order, draft, home, progress)
            await flow.walk(run, until="chunk")
            _write(run, drawn)
            manifest = _manifest(run, users, drawn)
            if order.grade:
                manifest = await grading.finish(draft, manifest)
            if not draft.pool.exists():
                _write_pool(draft, manifest, order.config, progress)
            if order.decisions is not None:
                manifest = await order.decisions(draft, manifest)
            draft.finish(manifest)
        for line in draft.set_aside:
            say(line)
    return UsersBuildResult(drawn, home.manifest(), len(home.waiting()), grading.result)


def _run(order: BuildOrder, draft: Draft, home: GoldFolder, progress: Progress) -> BuildRun:
    return BuildRun(
        config=order.config,
        sources=order.sources,
        draft=draft,
        progress=progress,
        accept=(lambda _: None) if order.replace else home.check_same_corpus,
        opened=_nobody,
    )


def _nobody(_: RecordFile[Chunk]) -> AbstractAsyncContextManager[OpenWriter]:
    raise AssertionError("nobody writes queries for a set of users' queries")


def _write(run: BuildRun, drawn: UsersQueries) -> None:
    """Write a set without a query, and the queries of the log, which wait for a label."""
    draft = run.draft
    config = run.config
    language = language_of(run.chunks)
    draft.queries.write([])
    draft.unlabelled.write(
        UnlabelledQuery(
            query_id=query_id(query.text),
            text=query.text,
            generator=USERS,
            language=language,
            frequency=query.frequency,
            traffic=query.traffic,
        )
        for query in drawn.queries
    )
    log = {"searches": drawn.searches, "queries": drawn.distinct, "personal": dict(drawn.personal)}
    metadata = {**describe_shaping(USERS, USERS, config), "log": log}
    corpus = functools.partial(passages, run.chunks, config.corpus.title)
    draft.write_gold(GoldContents((), corpus, {}, metadata))
    draft.write_settings(config.shaping())


def _manifest(run: BuildRun, users: UsersOrder, drawn: UsersQueries) -> Manifest:
    personal = sum(drawn.personal.values())
    report = StageReport(
        stage="log",
        reads=Path(users.log.name).name,
        writes=UNLABELLED,
        read=drawn.distinct,
        written=len(drawn.queries),
        rejected=personal,
        unused=drawn.distinct - personal - len(drawn.queries),
        rules=dict(drawn.personal),
    )
    return Manifest(
        **stamp(run.started),
        generator=USERS,
        evidence_level=USERS,
        config_sha256=users.policy().config_sha256,
        paths=list(users.order.paths),
        documents=len(run.documents),
        target=users.order.config.generate.queries,
        queries=0,
        stages=[*run.reports, report],
        failures=run.failures,
    )


def _write_pool(draft: Draft, manifest: Manifest, config: Config, progress: Progress) -> None:
    gold = read_gradable(draft, manifest)
    with open_pools(config, answers_beside(draft.path), dry_run=True) as chosen:
        draft.pool.write(waiting_pool(gold, gold.queries, chosen, progress, depth=config.grade.depth))
