"""What ``goldbench --help`` shows: every command with its summary, in groups. Nothing is imported for it."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping

Entry = namedtuple("Entry", ("place", "summary", "example"))
"""A command: module and function, its summary, and an example without the name of the program."""

GROUPS: dict[str, dict[str, Entry]] = {
    "Make a set": {
        "init": Entry("init.init", "Set up a configuration, step by step.", "init docs"),
        "build": Entry("build.build", "Build a gold set from documents.", "build docs --out runs/mine --queries 50"),
        "refresh": Entry("refresh.refresh", "Read changed documents again.", "refresh runs/mine"),
        "add": Entry("add.add", "Add your own queries to a gold set.", "add runs/mine queries.csv"),
        "import": Entry(
            "import_.import_", "Turn a public benchmark into a gold set.", "import beir scifact --out runs/scifact"
        ),
        "chunk": Entry("build.chunk", "Cut documents into chunks, one per line.", "chunk docs --out chunks.jsonl"),
    },
    "Judge it": {
        "grade": Entry("grade.grade", "Grade a pool of passages for every query.", "grade runs/mine --model qwen3"),
        "topup": Entry("grade.topup", "Grade the unjudged results of a new run.", "topup runs/mine --run new=new.trec"),
        "review": Entry("review.app", "Let people judge.", "review runs/mine"),
        "agreement": Entry("agreement.agreement", "Compare two sets of labels.", "agreement people.txt runs/mine"),
        "feedback": Entry(
            "feedback.feedback",
            "Count users' clicks and thumbs per passage.",
            "feedback runs/mine clicks.csv --out feedback.jsonl",
        ),
        "card": Entry("card.card", "Show how far a gold set can be trusted.", "card runs/mine"),
    },
    "Measure": {
        "bench": Entry("bench.bench", "Measure retrieval systems on one gold set.", "bench runs/mine --system bm25"),
        "open": Entry("open.open_", "Browse queries, results and failures.", "open runs/mine"),
        "retrieve": Entry(
            "retrieve.retrieve", "Search for every query and write a run.", "retrieve runs/mine -o bm25.trec"
        ),
        "score": Entry("score.score", "Score runs with trec_eval's measures.", "score runs/mine --run bm25=bm25.trec"),
        "compare": Entry(
            "compare.compare",
            "Test which run is better, pair by pair.",
            "compare runs/mine --run a=a.trec --run b=b.trec",
        ),
        "gate": Entry(
            "gate.gate", "Check a run for regressions; for CI.", "gate runs/mine --run a.trec --min ndcg@10=0.5"
        ),
        "monitor": Entry(
            "monitor.app", "Keep a history of scores.", "monitor runs/mine --run a.trec --history history.jsonl"
        ),
        "drift": Entry(
            "drift.drift", "Show how well a log of queries is covered.", "drift runs/mine --queries log.csv"
        ),
        "ask": Entry("ask.ask", "Ask questions and see what is retrieved.", "ask runs/mine"),
    },
    "Keep sets": {
        "validate": Entry("validate.validate", "Check every reference of a gold set.", "validate runs/mine"),
        "diff": Entry("diff.diff", "Show what changed between two gold sets.", "diff runs/old runs/new"),
        "split": Entry(
            "split.split", "Divide a gold set into dev and test.", "split runs/mine --shares dev=0.3,test=0.7"
        ),
        "rechunk": Entry(
            "rechunk.rechunk", "Move a gold set to another chunking.", "rechunk runs/mine --chunk-size 500"
        ),
        "export": Entry("export.export", "Write a gold set for another tool.", "export runs/mine --to ragas"),
    },
    "Models": {
        "doctor": Entry("doctor.doctor", "Check the configuration and the model server.", "doctor --try"),
        "models": Entry("runnable_models.app", "List or download models for this machine.", "models"),
        "prompts": Entry("prompts.app", "Show exactly what a model is sent.", "prompts show generate.v1"),
        "answers": Entry("answers.app", "Manage a store of model answers.", "answers stats runs/answers.sqlite --json"),
    },
}
"""The commands by group, in the order of the help."""

COMMANDS: dict[str, Entry] = {name: entry for group in GROUPS.values() for name, entry in group.items()}
"""Every command by its name."""

_INNER = {
    "answers prune": "answers prune runs/answers.sqlite --rejected",
    "models pull": "models pull qwen3-0.6b",
    "monitor plot": "monitor plot history.jsonl",
    "prompts list": "prompts list",
    "prompts render": "prompts render docs",
    "review apply": "review apply runs/mine --out runs/reviewed",
    "review export": "review export runs/mine --format csv --out judgments.csv",
    "review import": "review import runs/mine judgments.csv --format csv",
    "review report": "review report runs/mine",
}
"""Examples of the subcommands whose group has another one."""

SUMMARY = "Turn a folder of documents into a retrieval test set one can trust."
VERSION_HELP = "Print the version and stop."
INSTALL_HELP, SHOW_HELP = "Complete commands in this shell from now on.", "Print the script that completes commands."
OPTIONS = {
    "--version": VERSION_HELP,
    "--install-completion": INSTALL_HELP,
    "--show-completion": SHOW_HELP,
    "--help": "Show this message and exit.",
}
"""The options of the program itself."""


def example_of(words: str) -> str:
    """Return an example of a command.

    Args:
        words: How it is typed, without the name of the program and its arguments.
    """
    entry = COMMANDS.get(words.partition(" ")[0])
    return _INNER.get(words) or (entry.example if entry else words)


def overview() -> str:
    """Return the help of the whole command line; no line has more than 80 columns."""
    width = max(map(len, COMMANDS))
    return "\n".join(
        (
            f"Usage: goldbench [OPTIONS] COMMAND [ARGS]...\n\n  {SUMMARY}",
            *(line for title, group in GROUPS.items() for line in _group(title, group, width)),
            *_titled("Options", OPTIONS, max(map(len, OPTIONS))),
            "\ngoldbench COMMAND --help shows an example and the options of a command.\n",
        )
    )


def _group(title: str, group: Mapping[str, Entry], width: int) -> list[str]:
    first = next(iter(group.values()))
    told = {name: entry.summary for name, entry in group.items()}
    return [*_titled(title, told, width), f"  {'':{width}}  e.g. goldbench {first.example}"]


def _titled(title: str, told: Mapping[str, str], width: int) -> list[str]:
    return [f"\n{title}:", *(f"  {name:{width}}  {text}" for name, text in told.items())]
