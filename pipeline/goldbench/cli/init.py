"""``goldbench init``: a configuration of one's own, and the commands that use it."""

from __future__ import annotations

import shlex
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from goldbench.cli import options
from goldbench.cli.output import screen
from goldbench.cli.process import run
from goldbench.errors import ConfigError, GoldbenchError, InputError, OutputError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from goldbench.config import Config

SIMULATED = "simulated"
"""What stands in the place of a model where queries are simulated."""

_PAID = 50
"""Queries of a model, if no number is given: enough to see what they are worth."""
_BASELINE = "bm25"
_OWN = "mine"
"""The name of a system other than the presets."""


def init(
    documents: Annotated[
        str | None, typer.Argument(metavar="[DOCUMENTS]", help="Folder of documents (asked if left out).")
    ] = None,
    model: Annotated[
        str | None, options.Model(metavar="M", help="Model, local, or simulated (default: simulated).")
    ] = None,
    base_url: Annotated[str | None, options.Model(metavar="U", help="Server of the model, OpenAI-compatible.")] = None,
    retriever: Annotated[
        str | None, options.Systems(metavar="R", help="bm25, URL, python:M:F, run:FILE (default: bm25).")
    ] = None,
    language: Annotated[
        str | None, options.Queries(metavar="L", help="Language of the queries (default: the passage's).")
    ] = None,
    queries: Annotated[
        int | None, options.Queries(min=1, help="Queries (default: 50 of a model, else up to 300).")
    ] = None,
    out: Annotated[Path, options.Output(help="Configuration to write.")] = Path("goldbench.toml"),
    folder: Annotated[
        Path | None, options.Input("--set", metavar="DIR", help="Folder of the set to be (default: runs/NAME).")
    ] = None,
    replace: Annotated[bool, options.Output("--replace", help="Replace the file if it exists.")] = False,
) -> None:
    """Set up a configuration, step by step.

    Asks for the documents, the model, the retriever and the language, as far as options do not say them; without a
    terminal it asks nothing and takes the defaults. Writes a commented configuration for build and bench, and
    rubric.md into the folder of the set: what the grades mean, for the judge and for people. Shows what the build would
    cost, and ends with the three commands to run.

    Example: goldbench init docs
    """
    _check_free(out, replace=replace)
    documents = _documents(documents)
    model = model or _asked("Model (simulated, local, a .gguf file, or a name at a server)", SIMULATED)
    if base_url is None and _at_a_server(model):
        base_url = _asked("Server of the model (nothing: OpenAI, or OPENAI_BASE_URL)", "") or None
    retriever = retriever or _asked(
        "Retriever (bm25, http://…, python:MODULE:FUNCTION or run:FILE)", _BASELINE, lambda name: _systems(name, None)
    )
    language = language or _asked("Language of the queries, as en (nothing: the passage's)", "", _check_language)
    language = language or None
    live = _settings(model, base_url, language, queries)
    config = _written(out, live, _systems(retriever, language))
    target = folder or Path("runs") / (Path(documents).resolve().name or "set")
    rubric = _write_rubric(target)
    _show_cost(config, documents, target)
    commands = _commands(documents, target, out)
    screen.add(config=str(out), rubric=str(rubric), commands=commands)
    screen.show(
        "",
        f"Written: {out}",
        f"What the grades mean, to be edited: {rubric}",
        "",
        "Run these three commands:",
        *(f"  {command}" for command in commands),
    )


def _check_free(out: Path, *, replace: bool) -> None:
    """Refuse to write over a file, unless an option or a person at the terminal allows it."""
    if not out.exists() or replace:
        return
    if out.is_file() and sys.stdin.isatty() and typer.confirm(f"{out} exists. Replace it?", err=True):
        return
    raise UsageError(f"{out} exists already; add --replace, or name another file with --out")


def _asked(question: str, default: str, check: Callable[[str], object] | None = None) -> str:
    """Return the answer of a person at the terminal; the default where there is none.

    Args:
        question: The text of the question.
        default: The answer that Enter stands for; an empty text is not shown.
        check: Raises GoldbenchError for an answer that is not valid; it is told, and the question asked again.
    """
    if not sys.stdin.isatty():
        return default

    def checked(answer: str) -> str:
        answer = answer.strip()
        if check is not None and answer:
            try:
                check(answer)
            except GoldbenchError as error:
                raise typer.BadParameter(str(error)) from None
        return answer

    return str(typer.prompt(question, default=default, show_default=bool(default), err=True, value_proc=checked))


def _check_language(language: str) -> None:
    """Raise ConfigError if this is not the code of a language."""
    from goldbench.config import config_of

    config_of({"generate": {"constraints": {"language": language}}}, {})


def _documents(path: str | None) -> str:
    """Return the folder of documents.

    Raises:
        InputError: There is nothing at this path, or nothing that can be read.
        UsageError: None is named, and there is no terminal to ask at.
    """
    documents = path or _asked("Folder of documents", "", _check_present)
    if not documents:
        raise UsageError("init: name the folder of documents, as goldbench init docs")
    _check_present(documents)
    return documents


def _check_present(documents: str) -> None:
    from goldbench.generate.inputs import find_documents

    if not Path(documents).exists():
        raise InputError(documents, "not found; give the folder of your documents")
    find_documents([documents])


def _at_a_server(model: str) -> bool:
    return model not in {SIMULATED, "local"} and not model.endswith(".gguf")


def _settings(model: str, base_url: str | None, language: str | None, queries: int | None) -> dict[str, Any]:
    """Return the tables of the configuration, as far as they differ from the defaults."""
    simulated = model == SIMULATED
    if simulated and base_url is not None:
        raise UsageError("--base-url: simulated queries need no server; name a model, or leave the option out")
    generate: dict[str, Any] = {"generator": SIMULATED if simulated else "model"}
    if queries is not None or not simulated:  # simulated ones cost nothing: as many as the documents give
        generate["queries"] = queries or _PAID
    if language is not None:
        generate["constraints"] = {"language": language}
    named = {} if simulated else {"name": model} | ({"base_url": base_url} if base_url else {})
    return {"generate": generate, **({"model": named} if named else {})}


def _systems(retriever: str, language: str | None) -> dict[str, dict[str, Any]]:
    """Return the retrieval systems: BM25 as the baseline, and the person's own, if it is another.

    Raises:
        UsageError: The text names no retriever.
    """
    from goldbench.retrieval.system_settings import PRESETS
    from goldbench.systems import resolve
    from goldbench.text.words import languages

    stems = {"language": language} if language in languages() else {}
    systems: dict[str, dict[str, Any]] = {_BASELINE: {"kind": "bm25", **stems}}
    try:
        settings = resolve([retriever])[retriever]
    except ConfigError as error:
        forms = "give one of these, http://…, python:MODULE:FUNCTION or run:FILE"
        raise UsageError(f"--retriever: not a retriever: {error.problems[0]}; {forms}") from None
    table = settings.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    systems.setdefault(retriever if retriever in PRESETS else _OWN, {"kind": settings.kind, **table})
    return systems


def _written(out: Path, live: dict[str, Any], systems: dict[str, dict[str, Any]]) -> Config:
    """Write the configuration, which build and bench accept, and return it as a build reads it.

    Raises:
        ConfigError: A value is not valid; nothing is written.
        OutputError: The file cannot be written.
    """
    import tomllib

    from goldbench.config import config_of, without_systems
    from goldbench.errors import explained
    from goldbench.formats.runs.scorecard_files import write_whole
    from goldbench.generate.starter_config import starter_config
    from goldbench.systems import resolve

    text = starter_config(live, systems)
    try:
        config = config_of({}, without_systems(tomllib.loads(text)))
        resolve(list(systems), systems, where="init")
    except ConfigError as error:
        raise ConfigError(None, error.problems) from None
    if not out.resolve().parent.is_dir():
        raise OutputError(f"--out: folder {out.parent} not found; make it first")
    with explained(out):
        write_whole(out, text.encode())
    return config


def _write_rubric(folder: Path) -> Path:
    """Write the built-in rubric into the folder of the set, unless it has one, and return the file."""
    from goldbench.errors import explained
    from goldbench.goldset.folder import GoldFolder
    from goldbench.prompts.rubric import DEFAULT

    path = GoldFolder(folder).rubric_file
    with explained(path):
        folder.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            path.write_text(f"{DEFAULT.text}\n", encoding="utf-8")
    return path


def _show_cost(config: Config, documents: str, path: Path) -> None:
    """Print what the build would send and cost; where the cost is not known, say why."""
    from goldbench.cli.build import order_of
    from goldbench.goldset.file_names import answers_beside
    from goldbench.grade.build_order import plan
    from goldbench.report.build_text import plan_rows

    try:
        order = order_of(config, [documents], path, answers_beside(path))
        planned = run(plan(order, progress=screen.progress()))
    except GoldbenchError as error:
        screen.note(f"The cost of the build is not known: {error}", style="yellow")
        return
    screen.add(plan=[asdict(stage) for stage in planned.stages])
    if planned.stages:
        screen.show("The build would cost at most:")
        screen.table(plan_rows(planned.stages))
    else:
        screen.show(f"{planned.announcement} 0 requests, no cost.")


def _commands(documents: str, path: Path, out: Path) -> list[str]:
    return [
        shlex.join(["goldbench", "build", documents, "--out", str(path), "--config", str(out)]),
        shlex.join(["goldbench", "bench", str(path), "--config", str(out)]),
        shlex.join(["goldbench", "card", str(path)]),
    ]
