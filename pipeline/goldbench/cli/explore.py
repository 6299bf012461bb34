"""``goldbench ask`` and ``drift``: questions to a retriever, and how well a log of users' queries is covered."""

from __future__ import annotations

import contextlib
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from goldbench.cli import options
from goldbench.cli.output import screen
from goldbench.cli.process import run
from goldbench.cli.runs import answers_of, opened_system
from goldbench.errors import DONE_IN_PART, InputError, UsageError
from goldbench.score.runs import load_gold
from goldbench.text.display import one_line, printable

if TYPE_CHECKING:
    from goldbench.config import Config
    from goldbench.explore.decline_rates import RetrievedQuestions
    from goldbench.explore.dialogue import Chat, Dialogue
    from goldbench.explore.log_coverage import LogComparison
    from goldbench.explore.log_reader import How
    from goldbench.ports import Retriever
    from goldbench.systems import Systems

_ENDS = frozenset({"exit", "quit", ":q"})
_RERANKERS = frozenset({"mmr", "listwise", "rerank", "cross-encoder"})


@options.takes("model.name", "model.base_url", "model.max_requests", "model.max_tokens", "model.max_usd")
def ask(
    gold: options.GoldPath,
    given: options.Given,
    system: options.SystemOption = "hybrid",
    rerank: Annotated[str | None, options.Systems(help="Reranker: mmr, listwise or one of --config.")] = None,
    question: Annotated[list[str] | None, options.Input(help="Ask this question and end. Repeatable.")] = None,
    decline_rate: Annotated[
        bool, options.Input("--decline-rate", help="Ask all queries of the set; show how many are declined.")
    ] = False,
    k: Annotated[int, options.Output(min=1, help="Passages per question.")] = 5,
    config: options.BenchConfig = None,
    no_model: Annotated[bool, options.Model("--no-model", help="Show passages only.")] = False,
    answers: options.Answers = None,
    replay: options.Replay = False,
    dry_run: options.DryRun = False,
    width: Annotated[int, options.Output(min=20, help="Characters shown per passage.")] = 240,
) -> None:
    """Ask questions and see what is retrieved.

    Shows passages, a model's answer from them, and figures for questions of the gold set. With --decline-rate it asks
    every query, and shows how many with and without an answer the model declined (no passage was found, or the answer
    rests on none).

    Example: goldbench ask runs/mine
    """
    from goldbench.bench.bench_file import load_bench
    from goldbench.config import load_config
    from goldbench.explore.decline_rates import asked_of
    from goldbench.explore.dialogue import Dialogue
    from goldbench.systems import open_systems
    from goldbench.systems.destinations import destinations, text_line
    from goldbench.systems.models import Models

    bench = load_bench(config, level=1, given=given) if config else None
    settings = bench.config if bench else load_config(None, given)
    asks = not no_model and _has_model(settings, replay=replay, dry_run=dry_run)
    _check_rate(settings, rerank, asks=asks, decline_rate=decline_rate, dry_run=dry_run, question=bool(question))
    loaded = load_gold(gold)
    corpus = loaded.corpus()
    if not corpus:
        raise InputError(gold, "holds no texts of passages to retrieve; name the folder of a build")
    described = dict(bench.described) if bench else {}
    name = _with_rerank(described, system, rerank)
    store = answers or answers_of(Path(gold))
    with contextlib.ExitStack() as stack:
        systems = stack.enter_context(
            open_systems(
                [name],
                described,
                config=settings,
                answers=store,
                replay=replay or dry_run,
                where=config or "--system",
                folder=bench.folder if bench else None,
            )
        )
        chat: Chat | None = None
        if asks and not dry_run:
            chat = stack.enter_context(Models(settings, answers=store, replay=replay)).chat()
        retriever = systems.retriever(name)
        screen.note(text_line([*systems.destinations(), *destinations(settings, chat=chat is not None, replay=replay)]))
        retriever.index(corpus)
        if decline_rate:
            queries = asked_of(loaded, corpus, retriever, k=k)
            _plan_rate(queries, settings, store) if chat is None else _show_rates(queries, chat)
            return
        dialogue = Dialogue(loaded, corpus, retriever=retriever, k=k, chat=chat)
        answering = f"answers by {settings.model.name}" if asks else "no model: passages only"
        screen.note(f"{len(corpus):,} passages, {name}, {answering}" + ("" if question else "; exit ends"))
        _converse(dialogue, _echo(question) if question else _read_questions(), k=k, width=width)


def _has_model(settings: Config, *, replay: bool, dry_run: bool) -> bool:
    """Return whether a model answers.

    Raises:
        UsageError: A server is named, and no model; or a model, and no server.
    """
    model = settings.model
    if not model.name and (model.server or replay):
        raise UsageError("no model is named: give --model, or --no-model to see passages only")
    if model.name and not (replay or dry_run):
        model.check_server()
    return model.name is not None


def _check_rate(
    settings: Config, rerank: str | None, *, asks: bool, decline_rate: bool, dry_run: bool, question: bool
) -> None:
    """Refuse --decline-rate without a model or with other questions, and a plan that cannot be made."""
    if dry_run and not decline_rate:
        raise UsageError("--dry-run: needs --decline-rate, which asks a known number of questions; give both")
    if dry_run and rerank == "listwise":
        raise UsageError("--dry-run: cannot plan the calls of --rerank listwise; leave one of them out")
    if decline_rate and (question or not (asks or (dry_run and settings.model.name))):
        raise UsageError(
            "--decline-rate: asks a model every query of the set; give --model, and no --question or --no-model"
        )


def _plan_rate(queries: RetrievedQuestions, settings: Config, store: Path) -> None:
    """Print what asking every query would take at most."""
    from goldbench.explore.decline_rates import planned
    from goldbench.generate.writers import with_local_models
    from goldbench.report.build_text import plan_rows

    screen.table(plan_rows(run(planned(queries, with_local_models(settings, runs=False), store))))


def _show_rates(queries: RetrievedQuestions, chat: Chat) -> None:
    """Ask every query and print how many were declined."""
    from goldbench.explore.decline_rates import decline_rates, lines

    rates, failures = decline_rates(queries, chat, progress=screen.progress())
    screen.add(rates={"answerable": asdict(rates[True]), "unanswerable": asdict(rates[False])})
    screen.show(*lines(rates))
    for message, count in Counter(printable(str(error)) for error in failures).most_common(5):
        screen.note(f"  {message}" + (f" ({count:,} times)" if count > 1 else ""))
    if failures:
        raise typer.Exit(DONE_IN_PART)


def _converse(dialogue: Dialogue, questions: Iterable[str], *, k: int, width: int) -> None:
    """Answer every question and print passages, answer and figures."""
    from goldbench.explore.dialogue import LONGEST, shown

    replies: list[dict[str, Any]] = []
    for question in questions:
        if len(question) > LONGEST:
            screen.show(f"Problem: the question has {len(question):,} characters, more than {LONGEST:,}")
            continue
        reply = dialogue.ask(question)
        replies.append({"question": question, **asdict(reply)})
        screen.show(*shown(reply, k=k, width=width), "")
        sys.stdout.flush()
    screen.add(replies=replies)


def _echo(questions: Iterable[str]) -> Iterator[str]:
    """Yield questions as one line each, shown as if they had been typed."""
    for text in questions:
        if question := one_line(text):
            screen.show(f"? {question[:400]}")
            yield question


def _read_questions() -> Iterator[str]:
    """Return the questions before one that ends: typed at a prompt, or line by line from standard input."""
    if sys.stdin.isatty():
        return _until_end(_typed_lines())
    return _echo(_until_end(line.decode("utf-8", "replace") for line in sys.stdin.buffer))


def _typed_lines() -> Iterator[str]:
    while True:
        try:
            yield input("? ")
        except EOFError:
            typer.echo("")
            return


def _until_end(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        question = one_line(line)
        if question.casefold() in _ENDS:
            return
        if question:
            yield question


def _with_rerank(described: dict[str, Any], system: str, rerank: str | None) -> str:
    """Return the name of the system to open: that of a reranker over the system, where one is asked for."""
    if rerank is None:
        return system
    settings = described.get(rerank, {"kind": rerank})
    kind = settings.get("kind") if isinstance(settings, dict) else getattr(settings, "kind", None)
    if kind not in _RERANKERS:
        raise UsageError(f"--rerank: not a reranker: {rerank}; give mmr, listwise, or one that --config describes")
    name = f"{rerank}({system})"
    is_table = isinstance(settings, dict)
    described[name] = {**settings, "of": system} if is_table else settings.model_copy(update={"of": system})
    return name


@options.takes("grade.judges", "grade.panel", "model")
def drift(
    gold: options.GoldPath,
    given: options.Given,
    queries: Annotated[
        str, options.Input(metavar="FILE", help="Log: a query per line, CSV or JSON Lines; - is stdin.")
    ],
    column: Annotated[str | None, options.Input(help="Column or key that holds the queries.")] = None,
    system: Annotated[str | None, options.Systems(help="System of vectors, as lsi (default: compare words).")] = None,
    config: options.BenchConfig = None,
    answers: options.Answers = None,
    quantile: Annotated[float, options.Statistics(metavar="Q", help="Share of own queries that is far.")] = 0.05,
    most: Annotated[int, options.Input(min=1, help="Most frequent distinct queries used.")] = 20_000,
    clusters: Annotated[int, options.Output(min=1, help="Clusters shown.")] = 10,
    seed: options.Seed = 0,
    passages: Annotated[int, options.Judging(min=1, help="Passages read per undecided query.")] = 10,
    replay: options.Replay = False,
    dry_run: options.DryRun = False,
    form: Annotated[Literal["table", "json"], options.Output("--format", help="What to print.")] = "table",
    out: Annotated[Path | None, options.Output(help="Also write the report as JSON.")] = None,
) -> None:
    """Show how well a log of queries is covered.

    Says of each query whether the passages answer it, and which queries to add to the set. With --model, a model reads
    the nearest passages of each query that rules leave undecided, and decides it if it passes the judge checks.

    Example: goldbench drift runs/mine --queries log.csv
    """
    from goldbench.errors import explained
    from goldbench.explore.log_coverage import Settings, check_quantile, compare
    from goldbench.formats.jsonl import write_texts
    from goldbench.formats.query_logs import read_log
    from goldbench.goldset.gold_path import check_apart
    from goldbench.report.drift_text import advice, lines

    check_quantile(quantile)
    check_apart({"--out": out}, [gold, queries, *([config] if config else [])])
    store = answers or answers_of(Path(gold))
    reader = _reader(given, config, store, passages=passages, replay=replay, dry_run=dry_run)
    loaded = load_gold(gold)
    log = read_log(queries, column=column)
    settings = Settings(quantile=quantile, most=most, clusters=clusters, seed=seed)
    with _vectors(system, config, store, replay=replay) as opened:
        _note_destinations(None if dry_run else reader, opened)
        vectors = (system, opened.retriever(system)) if system and opened else None
        compared = compare(loaded, log, settings, vectors=vectors)
        systems = [vectors[1]] if vectors else []
        if reader is not None and dry_run:
            _plan_reading(compared, reader, systems, form)
            return
        coverage, complete = _coverage(compared, reader, systems)
    report = {**coverage, "advice": advice(coverage)}
    text = json.dumps(report, ensure_ascii=False, indent=1)
    if out is not None:
        with explained(out):
            write_texts(out, [text])
    if form == "json":
        typer.echo(text)
    else:
        screen.show(*lines(report))
    if not complete:
        raise typer.Exit(DONE_IN_PART)


def _reader(
    given: options.Given, config: Path | None, store: Path, *, passages: int, replay: bool, dry_run: bool
) -> How | None:
    """Return how a model reads, or None if the command line names no model.

    Raises:
        UsageError: An option needs a model, and none is named; or no server is known.
    """
    if not {"name", "base_url"} & given.get("model", {}).keys():
        if replay or dry_run:
            raise UsageError("--replay and --dry-run need a model that reads: give --model")
        return None
    from goldbench.bench.bench_file import load_bench
    from goldbench.config import load_config
    from goldbench.explore.log_reader import How
    from goldbench.generate.writers import check_replay
    from goldbench.grade.panel import judging

    check_replay(replay=replay, batch=False, dry_run=dry_run)
    settings = load_bench(config, level=1, given=given).config if config else load_config(None, given)
    return How(run(judging(settings, asks=not (replay or dry_run), replay=replay)), store, passages, replay)


def _note_destinations(reader: How | None, opened: Systems | None) -> None:
    """Print where texts go: to the model that reads, and to the system of vectors."""
    from goldbench.grade.panel import destinations_of_judging
    from goldbench.systems.destinations import text_line

    addresses = opened.destinations() if opened else []
    if reader is not None:
        addresses += destinations_of_judging(reader.config, replay=reader.replay)
    screen.note(text_line(addresses))


@contextlib.contextmanager
def _vectors(name: str | None, config: Path | None, store: Path, *, replay: bool) -> Iterator[Systems | None]:
    """Open the system of vectors, if one is named.

    Raises:
        UsageError: Its scores are not cosines.
    """
    from goldbench.retrieval.system_settings import Vectors

    if name is None:
        yield None
        return
    with opened_system(name, config, answers=store, replay=replay) as opened:
        if not isinstance(opened.settings[name], Vectors):
            problem = "its scores are not cosines; give a system of vectors, as lsi or embedding"
            raise UsageError(f"--system {name}: {problem}")
        yield opened


def _plan_reading(compared: LogComparison, reader: How, systems: Sequence[Retriever], form: str) -> None:
    """Print what reading would take at most."""
    from goldbench.explore.log_reader import plan_undecided
    from goldbench.report.build_text import plan_rows
    from goldbench.report.drift_text import plan_notes

    stages, count = run(plan_undecided(compared, reader, systems, progress=screen.progress()))
    if form == "json":
        plan = {"plan": [asdict(stage) for stage in stages], "queries": count, "model": reader.config.model.name}
        typer.echo(json.dumps(plan, ensure_ascii=False, indent=1))
        return
    screen.table(plan_rows(stages))
    screen.show(*plan_notes(stages, queries=count, model=reader.config.model.name or ""))


def _coverage(compared: LogComparison, reader: How | None, systems: Sequence[Retriever]) -> tuple[dict[str, Any], bool]:
    """Return the report, and whether everything was read; print what reading took."""
    from goldbench.explore.passage_pool import looked_up

    if reader is None:
        return compared.report(looked_up(compared.undecided(), compared.corpus, compared.language)), True
    from goldbench.explore.log_reader import read_undecided
    from goldbench.report.build_text import messages, spending

    result = run(read_undecided(compared, reader, systems, progress=screen.progress()))
    screen.note(*spending(result.reading.usage), *messages(result.reading.failures))
    return result.compared.report(result.look_at), result.reading.complete
