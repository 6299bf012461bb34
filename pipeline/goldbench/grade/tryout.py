"""A model tried before a run: its speed, the queries it writes about a few passages, and whether it can judge."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from goldbench.config import KINDS, Config, JudgeMethod
from goldbench.errors import InputError, Message, ModelUnfit, UsageError
from goldbench.formats.documents.sources import SourceFiles
from goldbench.generate.attempts import Attempts
from goldbench.generate.diagnosis import Examination
from goldbench.generate.draw import Draw
from goldbench.generate.drawn_queries import DrawnQueries
from goldbench.generate.inputs import brief_for, cut
from goldbench.generate.progress import calls_shown
from goldbench.generate.prompt_trial import TRIAL_PASSAGES, in_better_style, trial_of
from goldbench.generate.task_source import TaskSource
from goldbench.generate.writers import ModelWriter, OpenWriter, open_answers, writer_for
from goldbench.grade.calls import PanelAnswers, PanelCalls, Slot, by_key, choose_judge
from goldbench.grade.panel import CANARY, ModelPanel
from goldbench.llm.limits import Snapshot, Speed
from goldbench.llm.preflight import Trait, preflight
from goldbench.llm.probe import probe
from goldbench.llm.server_settings import ModelSettings
from goldbench.ports import Progress
from goldbench.records.corpus import Chunk, Document, Evidence
from goldbench.records.judgment import Canary
from goldbench.records.manifest import CanaryVerdict, StageUsage
from goldbench.records.query import Query
from goldbench.stages.canaries import TRAPS, findings, plant, tally
from goldbench.stages.chunk import chunk_documents
from goldbench.stages.select import READY, Limits, fault
from goldbench.text.display import amount
from goldbench.text.display import queries as count_of

_CHECKS = 8
"""Judge checks."""
_CALLS = TRIAL_PASSAGES + _CHECKS
"""The calls of a try if one prompt style and one method of judging are enough."""
_SAMPLE = Path(__file__).with_name("sample.toml")
"""What is tried if no documents are named; the judge checks are always made of it."""


@dataclass(frozen=True, slots=True)
class ChunkList:
    """Chunks in memory, read like those on disk."""

    chunks: Sequence[Chunk]

    def __iter__(self) -> Iterator[Chunk]:
        """Yield the chunks."""
        return iter(self.chunks)

    def __len__(self) -> int:
        """Return the number of chunks."""
        return len(self.chunks)

    def at(self, position: int) -> Chunk:
        """Return the chunk at this position, counted from 0."""
        return self.chunks[position]


@dataclass(slots=True)
class TryoutResult:
    """What was found of the server, the findings in the order in which they are shown, and what it cost by account."""

    traits: list[Trait] = field(default_factory=list)
    findings: list[Examination] = field(default_factory=list)
    usage: dict[str, StageUsage] = field(default_factory=dict)

    def note(self, line: str) -> None:
        """Enter a line about the server."""
        self.findings.append(Examination("server", line.removeprefix("Note: "), good=False))


def sample() -> tuple[list[Chunk], list[Query]]:
    """Return the built-in passages and the query about each."""
    rows = tomllib.loads(_SAMPLE.read_text(encoding="utf-8"))["passages"]
    documents = [
        Document(doc_id=f"sample-{number}", title=row["title"], text=row["text"].strip(), source="sample")
        for number, row in enumerate(rows, 1)
    ]
    chunks = list(chunk_documents(documents, size=2000, overlap=0))
    queries = []
    for row, chunk in zip(rows, chunks, strict=True):
        start = chunk.text.index(row["evidence"])
        evidence = Evidence(
            doc_id=chunk.span.doc_id, start=start, end=start + len(row["evidence"]), quote=row["evidence"]
        )
        queries.append(
            Query(
                query_id=f"q-{chunk.span.doc_id}",
                chunk_id=chunk.chunk_id,
                text=row["query"],
                generator="sample",
                evidence=(evidence,),
                answer=row["answer"],
                language="en",
            )
        )
    return chunks, queries


async def try_out(config: Config, documents: SourceFiles | None, answers: Path, *, progress: Progress) -> TryoutResult:
    """Return how a model does on a few passages, as a writer of queries and as a judge.

    Every reply is stored before it is used; those that the store holds already are used again.

    Args:
        config: The configuration; its caps hold.
        documents: The documents, None for the built-in sample.
        answers: The store of answers.
        progress: Shows how far the try is.

    Raises:
        UsageError: No model is set up.
        InputError: No passage of the documents may be asked about.
        ModelUnavailable: The model's server cannot be used.
    """
    writer = await writer_for(config, answers)
    if not isinstance(writer, ModelWriter):
        raise UsageError(Message("{try=True} needs a model: give {model=} and {base_url=}, or {model='local'}"))
    chunks = ChunkList(_first_chunks(config, documents))
    tried = TryoutResult()
    writer.say = tried.note
    if not await _asked(writer.config, answers, tried, progress):
        return tried
    drawn = await _written(writer, chunks, tried, progress)
    tried.usage |= writer.usage()
    if drawn is None or drawn.limit is None:
        await _judged(writer.config, answers, tried, progress)
    return tried


class _PathTraffic(NamedTuple):
    """The calls of a path, as `calls_shown` takes them."""

    traffic: Callable[[], Snapshot]
    patience_s: float


async def _asked(config: Config, answers: Path, tried: TryoutResult, progress: Progress) -> bool:
    """Find out what the server takes, with the context that it lists; return whether it may answer other requests."""
    settings = ModelSettings.of(config.model)
    with open_answers(answers, replay=False) as store, progress.stage("ask the server", None) as step:
        tried.traits, usage, answers_come = await preflight(
            settings, store, lambda path: calls_shown(_PathTraffic(path.snapshot, settings.patience_s), step, progress)
        )
    tried.usage |= usage
    if settings.file is None:
        answer = await probe(settings.address, settings.api_key, key_header=settings.key_header)
        length = answer.contexts.get(settings.name)
        says = f"{length:,} tokens for prompt and answer" if length else "not listed by the server"
        if answer.problem:
            says = f"unknown: /models {answer.problem}"
        tried.traits.append(Trait("context", says, Message("{chunk_size=}")))
    return answers_come


def _first_chunks(config: Config, documents: SourceFiles | None) -> list[Chunk]:
    if documents is None:
        return sample()[0][:TRIAL_PASSAGES]
    limits = READY if config.documents.no_chunk else Limits()
    able = (chunk for chunk in cut(config, documents, on_failure=lambda _: None) if fault(chunk.text, limits) is None)
    first = list(islice(able, TRIAL_PASSAGES))
    if not first:
        raise InputError("documents", "no passage of them may be asked about; name others, or none for the sample")
    return first


async def _written(
    writer: ModelWriter, chunks: ChunkList, tried: TryoutResult, progress: Progress
) -> DrawnQueries | None:
    """Let the model write queries, enter how it did, and return them; None if its replies are useless."""
    async with _shown(writer, chunks, progress) as (writing, advance):
        config = writer.config
        settings = config.generate.model_copy(update={"kinds": KINDS})
        count = len(chunks)
        source = TaskSource(chunks=chunks, order=range(count), brief=partial(brief_for, config), settings=settings)
        attempts = Attempts(generator=writing.generator, advance=advance)
        style, attempts, figures = await in_better_style(config, attempts, writing.other_style, source, count=count)
        if figures is not None:
            tried.findings.append(Examination("prompt style", figures))
        config = config.in_style(style)
        source = replace(source, brief=partial(brief_for, config))
        target = settings.constraints.per_chunk * count
        at_once = 2 * config.model.calls_at_once
        draw = Draw(source=source, attempts=attempts, target=target, concurrency=at_once, trial=trial_of(config))
        drawn: DrawnQueries | None = None
        try:
            drawn = await draw.draw()
        except ModelUnfit as unfit:
            tried.findings.append(Examination(f"writing, prompt style {style}", str(unfit), good=False))
        speed = writing.traffic().speed if writing.traffic else None
    if drawn is not None:
        tried.findings += [_writing(drawn, style), _speed(speed, drawn)]
    return drawn


@asynccontextmanager
async def _shown(
    writer: ModelWriter, chunks: ChunkList, progress: Progress
) -> AsyncIterator[tuple[OpenWriter, partial[None]]]:
    async with writer.open(chunks) as writing:
        with progress.stage("try writing", len(chunks)) as step:
            async with calls_shown(writing, step, progress, calls=_CALLS):
                yield writing, partial(step.advance)


def _writing(drawn: DrawnQueries, style: str) -> Examination:
    """Return how the model did as a writer of queries."""
    quoted = sum(bool(candidate.evidence) for candidate in drawn.candidates)
    rules = Counter(item.filter for item in drawn.rejections)
    parts = [
        f"replies fit for {drawn.chunks_drawn - drawn.chunks_failed} of {amount(drawn.chunks_drawn, 'passage')}",
        f"evidence is found in {quoted} of {count_of(len(drawn.candidates))}",
        f"{len(drawn.queries)} accepted",
    ]
    if rules:
        parts.append("rejected by rule: " + ", ".join(f"{rule} {count}" for rule, count in rules.most_common()))
    if drawn.limit:
        parts.append(drawn.limit)
    if not drawn.queries:
        parts.append(Message("use another model or looser constraints"))
    return Examination(f"writing, prompt style {style}", "; ".join(parts), good=bool(drawn.queries))


def _speed(speed: Speed | None, drawn: DrawnQueries) -> Examination:
    """Return how fast the model answers, and how long 100 queries would take one call after another."""
    if speed is None:
        return Examination("speed", "not measured: no call was made, or every reply came from the store")
    per_call = speed.seconds / speed.calls
    says = f"{speed.tokens / speed.seconds:.1f} tokens per second, {per_call:.1f} s per call ({speed.calls} calls)"
    if drawn.queries:
        minutes = 100 * per_call * drawn.chunks_drawn / len(drawn.queries) / 60
        says += f"; 100 queries take about {max(1, round(minutes))} min if calls follow one another"
    return Examination("speed", says)


async def _judged(config: Config, answers: Path, tried: TryoutResult, progress: Progress) -> None:
    """Let the model judge planted answers and fakes of the sample, and enter how it did."""
    chunks, queries = sample()
    planted = list(plant(queries, count=_CHECKS, chunks=ChunkList(chunks), pooled=lambda _: ()))
    slots = [Slot(pair.query, pair.chunk_id, planted=pair) for pair in planted]
    panel = ModelPanel(config, answers, say=tried.note)
    async with panel.open(tried.usage) as assessors:
        with progress.stage("try judging", len(slots)) as step:
            asking = PanelCalls(
                text_of=str,  # planted pairs bring their own texts
                panel=assessors,
                concurrency=2 * config.model.calls_at_once,
                advance=step.advance,
            )
            async with calls_shown(assessors, step, progress):
                checked = await asking.ask(slots)
                tried.findings.append(_judging("judging", checked))
                if assessors.thresholds is None and config.grade.method is not JudgeMethod.WRITTEN:
                    with_known = replace(asking, known=by_key(checked.canaries()), advance=lambda _: None)
                    chosen = (await choose_judge(with_known, slots)).asking
                    if chosen.panel.thresholds is not None:
                        tried.findings.append(_judging("judging by yes or no", await chosen.ask(slots)))
    tried.usage |= {"canary": panel.usage().get(CANARY, StageUsage())}


def _judging(subject: str, answers: PanelAnswers) -> Examination:
    """Return how the model did as a judge."""
    counts = tally(answers.canaries())
    failed = Counter(failure.kind for failure in answers.failures)
    failed["limit"] = sum(item.limit is not None for item in answers.slots)
    failed += Counter()  # without those that never came
    outcome = findings(counts, unanswered=failed.total())
    fakes, accepted = (sum(counts.get(kind, (0, 0))[part] for kind in TRAPS) for part in (0, 1))
    shown, recognised = counts.get(Canary.EVIDENCE_ALONE, (0, 0))
    says = (
        f"judge checks {outcome.verdict.value}: accepted {accepted} of {amount(fakes, 'planted fake')}, "
        f"recognised {recognised} of {amount(shown, 'planted answer')}"
    )
    if failed:
        says += "; replies that could not be used: " + ", ".join(f"{kind} {count}" for kind, count in failed.items())
    if outcome.verdict is CanaryVerdict.FAILED:
        return Examination(subject, f"{says}; let another model grade", good=False)
    return Examination(subject, says, good=outcome.verdict is CanaryVerdict.PASSED or None)
