"""``goldbench retrieve``: a retrieval system over the corpus of a gold set, its results as a TREC run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from goldbench.cli.options import Answers, Given, Replay, output_option, system_option, takes
from goldbench.cli.output import screen
from goldbench.cli.run_options import BenchConfig, ConversationOption, SearchedGold, SystemParameters, opened_system
from goldbench.errors import InputError, UsageError
from goldbench.goldset.file_names import RUNS
from goldbench.retrieval.analyzer_names import Analyzer
from goldbench.text.display import amount, one_line
from goldbench.text.display import queries as count_of

if TYPE_CHECKING:
    from goldbench.score.runs import Gold
    from goldbench.text.asked_query import Conversation


@takes("machines")
def retrieve(
    gold: SearchedGold,
    given: Given,
    output: Annotated[Path, output_option("--output", "-o", metavar="FILE", help="Run in TREC format; - is stdout.")],
    system: Annotated[
        str, system_option("--system", metavar="NAME", help="Retrieval system (default: bm25).")
    ] = "bm25",
    config: BenchConfig = None,
    change: SystemParameters = None,
    conversation: ConversationOption = "last",
    k: Annotated[int, output_option("--k", metavar="N", min=1, help="Passages per query (default: 100).")] = 100,
    analyzer: Annotated[Analyzer | None, system_option(help="How texts are cut into terms (default: unicode).")] = None,
    language: Annotated[
        str | None, system_option(metavar="L", help="Stem words and drop function words, as en.")
    ] = None,
    k1: Annotated[float | None, system_option("--k1", min=0, help="Saturation of BM25 (default: 1.2).")] = None,
    b: Annotated[
        float | None, system_option("--b", min=0, max=1, help="Length weight of BM25 (default: 0.75).")
    ] = None,
    answers: Answers = None,
    replay: Replay = False,
) -> None:
    """Search for every query and write a run.

    The system is bm25, ngrams, lsi, embedding, hybrid, one that --config describes, elasticsearch://HOST:9200,
    opensearch://..., python:MODULE:FUNCTION, http://... or run:FILE. --analyzer, --language, --k1 and --b are short for
    --set.
    """
    from goldbench.config import config_of
    from goldbench.errors import explained
    from goldbench.formats.runs.trec import write_run
    from goldbench.goldset.gold_path import check_apart
    from goldbench.score.runs import load_gold
    from goldbench.score.searched_queries import conversations, told_of_conversations
    from goldbench.systems.destinations import text_line

    target = None if str(output) == "-" else output
    if screen.json and target is None:
        raise UsageError("--json: the run goes to standard output; give --output a file")
    if target and target.resolve().is_relative_to(Path(gold).resolve()) and target.parent.name != RUNS:
        raise UsageError(f"{output}: inside a build, runs go into its folder {RUNS}/")
    check_apart({"--output": target}, [config] if config else [])
    shorthands = {"analyzer": analyzer, "language": language, "k1": k1, "b": b}
    changes = [f"{key}={value}" for key, value in shorthands.items() if value is not None] + (change or [])
    _check_language(language)
    engine = config_of({}, given).machines.engine
    opened = opened_system(system, config, Path(gold), answers=answers, replay=replay, overrides=changes, engine=engine)
    with opened as systems:
        loaded = load_gold(gold)
        queries, corpus = _texts(loaded, conversation)
        retriever = systems.retriever(system)
        screen.note(text_line(systems.destinations()))
        if told := systems.note_of_local_searches(len(corpus)):
            screen.note(told)
        retriever.index(corpus)
        run = retriever.search(queries, k=k)
    with explained(output):
        if target:
            target.parent.mkdir(parents=True, exist_ok=True)
        lines = write_run(target, run, tag=_tag(system))
    where = f"in {target}" if target else "on standard output"
    empty = sum(not found for found in run.values())
    screen.add(results=lines, queries=len(queries), empty=empty, written=str(target))
    (screen.note if target is None else screen.show)(f"{amount(lines, 'result')} for {count_of(len(queries))} {where}")
    if told := told_of_conversations(len(conversations(loaded)), conversation):
        screen.note(told)
    if empty:
        screen.note(f"{count_of(empty)} without results: a TREC run cannot hold them, and they score as missing.")


def _texts(gold: Gold, conversation: Conversation) -> tuple[dict[str, str], dict[str, str]]:
    """Return the texts of queries and passages.

    Raises:
        InputError: There are none, an id cannot stand in a run, or a conversation has no stand-alone form.
    """
    from goldbench.score.searched_queries import texts_to_search

    queries, corpus = texts_to_search(gold, conversation)
    for one in (*queries, *corpus):
        if one.split() != [one]:
            raise InputError(gold.path, f"the id {one[:80]!a} has white space, which no run can hold")
    return queries, corpus


def _check_language(language: str | None) -> None:
    """Refuse a language that is not known, under the name of its option."""
    if language is None:
        return
    from goldbench.retrieval.analyzer_names import known_language

    try:
        known_language(language)
    except ValueError as error:
        raise UsageError(f"--language: {error}") from None


def _tag(system: str) -> str:
    """Return the name of a system as it stands in a run: without white space."""
    return "_".join(one_line(system).split()) or "system"
