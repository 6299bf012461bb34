"""What ``goldbench --help`` shows: every command with its summary. Nothing is imported for it."""

from __future__ import annotations

from collections.abc import Mapping

COMMANDS = {
    "build": ("build.build", "Build a gold set from documents."),
    "refresh": ("refresh.refresh", "Read changed documents again."),
    "chunk": ("build.chunk", "Cut documents into chunks, one per line."),
    "import": ("import_.import_", "Turn a public benchmark into a gold set."),
    "grade": ("grade.grade", "Grade a pool of passages for every query."),
    "topup": ("grade.topup", "Grade the unjudged results of a new run."),
    "card": ("card.card", "Show how far a gold set can be trusted."),
    "review": ("review.app", "Let people judge."),
    "open": ("open.open_", "Browse queries, results and failures."),
    "agreement": ("agreement.agreement", "Compare two sets of labels."),
    "rechunk": ("rechunk.rechunk", "Move a gold set to another chunking."),
    "diff": ("diff.diff", "Show what changed between two gold sets."),
    "split": ("split.split", "Divide a gold set into dev and test."),
    "merge": ("merge.merge", "Make one gold set of two."),
    "version": ("version.version", "Show or set the version of a gold set."),
    "add": ("add.add", "Add your own queries to a gold set."),
    "retrieve": ("retrieve.retrieve", "Search for every query and write a run."),
    "score": ("score.score", "Score runs with trec_eval's measures."),
    "compare": ("compare.compare", "Test which run is better, pair by pair."),
    "bench": ("bench.bench", "Measure retrieval systems on one gold set."),
    "gate": ("gate.gate", "Check a run for regressions; for CI."),
    "monitor": ("monitor.app", "Keep a history of scores."),
    "drift": ("drift.drift", "Show how well a log of queries is covered."),
    "feedback": ("feedback.feedback", "Count users' clicks and thumbs per passage."),
    "ask": ("ask.ask", "Ask questions and see what is retrieved."),
    "answers": ("answers.app", "Manage a store of model answers."),
    "models": ("runnable_models.app", "List or download models for this machine."),
    "prompts": ("prompts.app", "Show exactly what a model is sent."),
    "validate": ("validate.validate", "Check every reference of a gold set."),
    "doctor": ("doctor.doctor", "Check the configuration and the model server."),
}
"""Module and name of each command, and its summary, for which the help imports nothing; in the order of the help."""

SUMMARY = "Turn a folder of documents into a retrieval test set one can trust."
VERSION_HELP = "Print the version and stop."


def overview() -> str:
    """Return the help of the whole command line."""
    options = {"--version": VERSION_HELP, "--help": "Show this message and exit."}
    commands = {name: summary for name, (_, summary) in COMMANDS.items()}
    return "\n".join(
        (
            f"Usage: goldbench [OPTIONS] COMMAND [ARGS]...\n\n  {SUMMARY}",
            *_titled("Options", options),
            *_titled("Commands", commands),
            "",
        )
    )


def _titled(title: str, told: Mapping[str, str]) -> list[str]:
    width = max(map(len, told))
    return [f"\n{title}:", *(f"  {name:{width}}  {text}" for name, text in told.items())]
