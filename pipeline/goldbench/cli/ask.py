"""``goldbench ask``: a small loop of question, passages and answer, to feel a retriever before it is measured."""

from __future__ import annotations

import contextlib
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from goldbench.cli.options import (
    Answers,
    DryRun,
    Given,
    Replay,
    input_option,
    model_option,
    output_option,
    progress_console,
    system_option,
    takes,
)
from goldbench.cli.output import screen
from goldbench.cli.run_options import BenchConfig, GoldPath, answers_of
from goldbench.errors import DONE_IN_PART, InputError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from goldbench.config import Config
    from goldbench.explore.decline_rates import Asked
    from goldbench.explore.dialogue import Chat, Dialogue
    from goldbench.score.runs import Gold

_ENDS = frozenset({"exit", "quit", ":q"})
_RERANKERS = frozenset({"mmr", "listwise", "rerank", "cross-encoder"})


@takes("model.name", "model.base_url", "model.max_requests", "model.max_tokens", "model.max_usd")
def ask(
    gold: GoldPath,
    given: Given,
    system: Annotated[
        str, system_option("--system", metavar="NAME", help="Retrieval system, as in retrieve (default: hybrid).")
    ] = "hybrid",
    rerank: Annotated[
        str | None, system_option(metavar="NAME", help="Reranker: mmr, listwise or one of --config.")
    ] = None,
    question: Annotated[
        list[str] | None, input_option(metavar="TEXT", help="Ask this question and end. Repeatable.")
    ] = None,
    decline_rate: Annotated[
        bool, input_option("--decline-rate", help="Ask all queries of the set; show how many are declined.")
    ] = False,
    k: Annotated[int, output_option("--k", metavar="N", min=1, help="Passages per question (default: 5).")] = 5,
    config: BenchConfig = None,
    no_model: Annotated[bool, model_option("--no-model", help="Show passages only.")] = False,
    answers: Answers = None,
    replay: Replay = False,
    dry_run: DryRun = False,
    width: Annotated[
        int, output_option(metavar="N", min=20, help="Characters shown per passage (default: 240).")
    ] = 240,
) -> None:
    """Ask questions and see what is retrieved.

    Shows passages, a model's answer from them, and figures for questions of the gold set. With --decline-rate it asks
    every query, and shows how many with and without an answer the model declined (no passage was found, or the answer
    rests on none).
    """
    from goldbench.bench.bench_file import load_bench
    from goldbench.config import load_config
    from goldbench.explore.decline_rates import asked_of
    from goldbench.explore.dialogue import Dialogue
    from goldbench.score.runs import load_gold
    from goldbench.systems import open_systems
    from goldbench.systems.destinations import destinations, text_line
    from goldbench.systems.models import Models

    bench = load_bench(config, level=1, given=given) if config else None
    settings = bench.config if bench else load_config(None, given)
    asks = not no_model and _asks(settings, replay=replay, dry_run=dry_run)
    _check_rate(settings, rerank, asks=asks, decline_rate=decline_rate, dry_run=dry_run, question=bool(question))
    loaded = load_gold(gold)
    corpus = _texts(loaded, gold)
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
            asked = asked_of(loaded, corpus, retriever, k=k)
            _plan(asked, settings, store) if chat is None else _declined(asked, chat)
            return
        asking = Dialogue(loaded, corpus, retriever=retriever, k=k, chat=chat)
        answering = f"answers by {settings.model.name}" if asks else "no model: passages only"
        screen.note(f"{len(corpus):,} passages, {name}, {answering}" + ("" if question else "; exit ends"))
        _converse(asking, _given(question) if question else _questions(), k=k, width=width)


def _texts(loaded: Gold, gold: Path | str) -> Mapping[str, str]:
    """Return the passages of a set.

    Raises:
        InputError: The set holds no texts.
    """
    corpus = loaded.corpus()
    if not corpus:
        raise InputError(gold, "holds no texts of passages to retrieve; name the folder of a build")
    return corpus


def _asks(settings: Config, *, replay: bool, dry_run: bool) -> bool:
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


def _check_plan(*, dry_run: bool, decline_rate: bool, rerank: str | None) -> None:
    """Refuse --dry-run where the number of calls is not known beforehand.

    Raises:
        UsageError: The options contradict one another.
    """
    if dry_run and not decline_rate:
        raise UsageError("--dry-run: needs --decline-rate, which asks a known number of questions; give both")
    if dry_run and rerank == "listwise":
        raise UsageError("--dry-run: cannot plan the calls of --rerank listwise; leave one of them out")


def _check_rate(
    settings: Config, rerank: str | None, *, asks: bool, decline_rate: bool, dry_run: bool, question: bool
) -> None:
    """Refuse --decline-rate without a model or with other questions, and a plan that cannot be made.

    Raises:
        UsageError: The options contradict one another.
    """
    _check_plan(dry_run=dry_run, decline_rate=decline_rate, rerank=rerank)
    if decline_rate and (question or not (asks or (dry_run and settings.model.name))):
        raise UsageError(
            "--decline-rate: asks a model every query of the set; give --model, and no --question or --no-model"
        )


def _plan(asked: Asked, settings: Config, store: Path) -> None:
    """Print what asking every query would take at most."""
    from goldbench.cli.event_loop import run
    from goldbench.explore.decline_rates import planned
    from goldbench.generate.writers import with_local_models
    from goldbench.report.build_text import plan_rows

    settings = with_local_models(settings, runs=False)
    screen.table(plan_rows(run(planned(asked, settings, store))))


def _declined(asked: Asked, chat: Chat) -> None:
    """Ask every query and print how many were declined."""
    from collections import Counter

    from goldbench.explore.decline_rates import decline_rates, lines
    from goldbench.report.terminal import TerminalProgress
    from goldbench.text.display import printable

    rates, failures = decline_rates(asked, chat, progress=TerminalProgress(progress_console()))
    screen.add(rates={"answerable": asdict(rates[True]), "unanswerable": asdict(rates[False])})
    screen.show(*lines(rates))
    for message, count in Counter(printable(str(error)) for error in failures).most_common(5):
        screen.note(f"  {message}" + (f" ({count:,} times)" if count > 1 else ""))
    if failures:
        raise typer.Exit(DONE_IN_PART)


def _converse(asking: Dialogue, questions: Iterable[str], *, k: int, width: int) -> None:
    """Answer every question and print passages, answer and figures."""
    from goldbench.explore.dialogue import LONGEST, shown

    replies: list[dict[str, Any]] = []
    for question in questions:
        if len(question) > LONGEST:
            screen.show(f"Problem: the question has {len(question):,} characters, more than {LONGEST:,}")
            continue
        reply = asking.ask(question)
        replies.append({"question": question, **asdict(reply)})
        screen.show(*shown(reply, k=k, width=width), "")
        sys.stdout.flush()
    screen.add(replies=replies)


def _given(questions: list[str]) -> Iterator[str]:
    """Yield the questions of the command line, each shown as if it had been typed."""
    from goldbench.text.display import one_line

    for text in questions:
        if question := one_line(text):
            screen.show(f"? {question[:400]}")
            yield question


def _questions() -> Iterator[str]:
    """Yield questions: typed at a prompt, or line by line if standard input is not a terminal."""
    from goldbench.text.display import one_line

    typed = sys.stdin.isatty()
    while True:
        if typed:
            try:
                text = input("? ")
            except EOFError:
                typer.echo("")
                return
        else:
            line = sys.stdin.buffer.readline()
            if not line:
                return
            text = line.decode("utf-8", "replace")
        question = one_line(text)
        if question.casefold() in _ENDS:
            return
        if question:
            if not typed:
                screen.show(f"? {question[:400]}")
            yield question


def _with_rerank(described: dict[str, Any], system: str, rerank: str | None) -> str:
    """Return the name of the system to open: that of a reranker over the system, where one is asked for."""
    if rerank is None:
        return system
    inner = described.get(rerank, {"kind": rerank})
    name = f"{rerank}({system})"
    described[name] = _over(inner, system, rerank)
    return name


def _over(settings: Any, system: str, rerank: str) -> Any:  # noqa: ANN401  a table or a record
    if isinstance(settings, dict):
        if settings.get("kind") not in _RERANKERS:
            raise UsageError(f"--rerank: not a reranker: {rerank}; give mmr, listwise, or one that --config describes")
        table: Mapping[str, Any] = {**settings, "of": system}
        return dict(table)
    if getattr(settings, "kind", None) not in _RERANKERS:
        raise UsageError(f"--rerank: not a reranker: {rerank}, which is of kind {getattr(settings, 'kind', 'unknown')}")
    return settings.model_copy(update={"of": system})
