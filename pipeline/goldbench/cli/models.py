"""``goldbench doctor``, ``models``, ``prompts`` and ``answers``: models, what they are sent and what they answered."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from goldbench.cli import options
from goldbench.cli.output import screen
from goldbench.cli.process import run
from goldbench.errors import NEGATIVE, MissingExtra, ModelUnavailable, UsageError
from goldbench.goldset.file_names import ANSWERS
from goldbench.llm.catalogue import CATALOGUE, LICENCE, CatalogueModel, offered, recommended
from goldbench.llm.local.download import cached
from goldbench.llm.local.download import pull as download
from goldbench.llm.local.model_file import bundled_file
from goldbench.prompts.loader import available, load
from goldbench.text.display import amount, cut, dollars, printable

if TYPE_CHECKING:
    from goldbench.config import Config
    from goldbench.generate.diagnosis import Examination

_USUAL_MEGABYTES = 4000
"""The free memory of a machine that does not tell it."""
_LONGEST_NAME = 100
"""Characters shown of a name from a server; the rest is cut."""

models = options.subcommands(
    "List or download models for this machine.\n\n`goldbench models` is short for list.\n\nExample: goldbench models",
    cls=options.DefaultGroup,
    no_args_is_help=False,
)
prompts = options.subcommands("Show exactly what a model is sent.\n\nExample: goldbench prompts show generate.v1")
answers = options.subcommands(
    "Manage a store of model answers.\n\nExample: goldbench answers stats runs/answers.sqlite --json"
)

PromptFolder = Annotated[
    Path | None, options.Input("--folder", metavar="DIR", help="Your prompts, which replace built-in ones.")
]
Store = Annotated[Path, typer.Argument(metavar="STORE", help=f"The store, as {ANSWERS} beside a gold set.")]


@options.takes("model", "generate.prompt_style")
def doctor(
    settings: Config,
    paths: Annotated[
        list[str] | None, typer.Argument(metavar="PATH...", help="Documents for --try (default: a built-in sample).")
    ] = None,
    tries: Annotated[bool, options.Model("--try", help="Try the model on a few passages.")] = False,
    answers: Annotated[Path, options.Model(help="Store of the replies to --try.")] = Path(ANSWERS),
) -> None:
    """Check the configuration and the model server.

    Also lists the local servers that listen. With --try, one small request finds out what the server takes, shown as a
    table, and the model writes and judges a few queries: at most 26 calls.

    Example: goldbench doctor --try
    """
    from goldbench.generate.diagnosis import examine
    from goldbench.systems.destinations import destinations, text_line

    if paths and not tries:
        raise UsageError(f"{paths[0]}: documents are for --try alone; add --try, or leave the documents out")
    screen.note(text_line(destinations(settings, chat=tries)))
    findings = run(examine(settings))
    healthy = _show_findings(findings)
    screen.add(findings=[asdict(finding) for finding in findings])
    if tries:
        healthy = _try_model(settings, paths, answers) and healthy
    screen.add(healthy=healthy)
    if not healthy:
        raise typer.Exit(NEGATIVE)


def _show_findings(findings: Iterable[Examination]) -> bool:
    """Print the findings, and return whether none of them is bad."""
    marks = {True: "ok  ", False: "bad ", None: "    "}
    listed = list(findings)
    screen.show(*(f"{marks[finding.good]}{finding.what}: {finding.says}" for finding in listed), indent="    ")
    return all(finding.good is not False for finding in listed)


def _try_model(settings: Config, paths: list[str] | None, answers: Path) -> bool:
    """Let the model write and judge a few queries, print what came of it, and return whether all of it is good."""
    from goldbench.generate.inputs import find_documents
    from goldbench.grade.tryout import try_out
    from goldbench.report.build_text import spending

    documents = find_documents(paths) if paths else None
    tried = run(try_out(settings, documents, answers, progress=screen.progress()))
    marks = {True: "ok", False: "bad", None: ""}
    rows = [
        (marks[trait.good], trait.what, trait.says + (f" ({trait.setting})" if trait.setting else ""))
        for trait in tried.traits
    ]
    screen.described([("", "server", "found (setting)"), *rows])
    healthy = _show_findings(tried.findings) and all(trait.good is not False for trait in tried.traits)
    screen.add(traits=[asdict(trait) for trait in tried.traits], tried=[asdict(finding) for finding in tried.findings])
    screen.show(*(f"    {line}" for line in spending(tried.usage)), indent="    ")
    return healthy


@models.command("list")
def list_models() -> None:
    """List models that this machine can download.

    Each runs without a server and without a network. Any other GGUF file does, too: --model path/to/model.gguf.
    The one with a * suits this machine, by the memory that is free and its processor cores.

    Example: goldbench models
    """
    from goldbench.llm.local.machine import Machine
    from goldbench.processes.own_process import usable_processors

    best = recommended(megabytes=Machine.now().memory or _USUAL_MEGABYTES, cores=usable_processors())
    head = ("name", "MB", "memory", "languages", "licence", "state", "SHA-256", "file")
    rows = [head]
    records = []
    for model in CATALOGUE:
        memory = f"{model.memory_megabytes / 1000:.1f} GB"
        file = f"{model.repository}/{model.file}".lstrip("/")
        cells = (f"{model.megabytes:,}", memory, _languages(model), LICENCE, _state(model))
        rows.append((f"{model.name} *" if model is best else model.name, *cells, model.sha256[:12], file))
        records.append(dict(zip(head, (model.name, *cells, model.sha256, file), strict=True)))
    screen.add(models=records, recommended=best.name)
    screen.table(rows)


@models.command()
def pull(name: Annotated[str, typer.Argument(metavar="NAME", help="A model of goldbench models.")]) -> None:
    """Download a model into the Hub's cache.

    A download that was cut goes on where it ended, and is checked by its SHA-256.

    Example: goldbench models pull qwen3-0.6b
    """
    model = offered(name)
    if model is None:
        names = ", ".join(known.name for known in CATALOGUE)
        raise UsageError(f"not a model of the catalogue: {name}; give one of {names}")
    path = download(model) if model.repository else bundled_file()
    screen.add(path=str(path), model=model.name)
    screen.show(str(path), f"Use it with --model {model.name}")


def _languages(model: CatalogueModel) -> str:
    first = ", ".join(model.languages[:4])
    return f"{first} + {len(model.languages) - 4}" if len(model.languages) > 4 else first or "over 100"


def _state(model: CatalogueModel) -> str:

    try:
        if model.repository:
            return "downloaded" if cached(model) else "-"
        bundled_file()
    except (MissingExtra, ModelUnavailable):
        return "-"
    return "installed"


@prompts.command("list")
def list_prompts(folder: PromptFolder = None) -> None:
    """List the prompts with their digests.

    Example: goldbench prompts list
    """
    loaded = [load(name, folder) for name in available()]
    screen.show(*(f"{prompt.id}  {prompt.sha256[:12]}  {prompt.description}" for prompt in loaded), indent="  ")
    records = [{"id": item.id, "sha256": item.sha256, "description": item.description} for item in loaded]
    screen.add(prompts=records)


@prompts.command()
def show(
    prompt_id: Annotated[str, typer.Argument(metavar="ID", help="Id of the prompt, as generate.v1.")],
    folder: PromptFolder = None,
) -> None:
    """Show a prompt with its placeholders.

    Example: goldbench prompts show generate.v1
    """
    prompt = load(prompt_id, folder)
    _show_prompt(prompt.id, prompt.system, prompt.user, prompt.turns())


@prompts.command()
@options.takes()
def render(
    paths: Annotated[list[str], typer.Argument(metavar="PATH...", help="Documents; the first eligible chunk is used.")],
    settings: Config,
) -> None:
    """Show the prompt for a chunk of documents.

    Example: goldbench prompts render docs
    """
    from goldbench.generate.inputs import find_documents, first_brief
    from goldbench.generate.writers import ASK, CHOOSE, prompt_of, prompts_of, with_local_models, with_prompt_style
    from goldbench.stages.generate import first_choice_prompt, first_short_prompt, generation_prompt, notes_of

    brief = first_brief(settings, find_documents(paths))
    settings = with_prompt_style(with_local_models(settings, runs=False))
    generate = settings.generate
    prompt = prompt_of(prompts_of(settings)[0], generate.prompts)
    if prompt.id == ASK:
        notes = notes_of(generate.context, generate.seed_queries, generate.constraints)
        system, user = first_short_prompt(prompt, brief, notes=notes)
    elif prompt.id == CHOOSE:
        system, user = first_choice_prompt(prompt, brief)
    else:
        system, user = generation_prompt(prompt, brief, context=generate.context, examples=generate.seed_queries)
    _show_prompt(prompt.id, system, user, prompt.turns(brief.language, brief.assignment.style.value))


def _show_prompt(prompt_id: str, system: str, user: str, examples: Sequence[tuple[str, str]]) -> None:
    """Print a prompt as it is sent, without a change."""
    screen.add(id=prompt_id, system=system, user=user, examples=examples)
    if not screen.json:
        turns = "".join(f"# Example\n\n{question}\n\n# Reply\n\n{reply}\n\n" for question, reply in examples)
        typer.echo(f"# System\n\n{system}\n\n{turns}# User\n\n{user}")


@answers.command()
def stats(store: Store) -> None:
    """Show what a store holds and what it cost.

    Example: goldbench answers stats runs/answers.sqlite --json
    """
    from goldbench.llm.upkeep import stats as count_answers

    report = count_answers(store)
    for held in report.holdings:
        usd = "price unknown" if held.usd is None else dollars(held.usd)
        names = "  ".join(map(_clean, (held.stage, held.prompt, held.model, held.outcome)))
        spent = f"{amount(held.input_tokens, 'token')} in, {held.output_tokens:,} out, {usd}"
        screen.show(f"{names}: {amount(held.answers, 'reply', 'replies')}, {spent}")
    for model, count in report.vectors.items():
        screen.show(f"embeddings  {_clean(model)}: {amount(count, 'vector')}")
    replies = amount(sum(held.answers for held in report.holdings), "reply", "replies")
    screen.add(holdings=[asdict(held) for held in report.holdings], vectors=dict(report.vectors), bytes=report.bytes)
    screen.show(f"{replies}, {amount(report.bytes, 'byte')} in {store}")


@answers.command()
def prune(
    store: Store,
    stage: Annotated[str | None, options.Input(help="Only answers of this stage.")] = None,
    prompt: Annotated[str | None, options.Input(help="Only answers to this prompt, as generate.v1.")] = None,
    model: Annotated[str | None, options.Input(help="Only answers of this model.")] = None,
    rejected: Annotated[bool, options.Input("--rejected", help="Only replies that were rejected.")] = False,
) -> None:
    """Delete the answers that meet every condition.

    Example: goldbench answers prune runs/answers.sqlite --rejected
    """
    from goldbench.llm.upkeep import prune as delete_answers

    count = delete_answers(store, stage=stage, prompt=prompt, model=model, rejected=rejected)
    screen.add(deleted=count)
    screen.show(f"{count:,} deleted")


def _clean(name: str) -> str:
    """Return a name from a server or an export, made printable and cut to fit a terminal."""
    return cut(printable(str(name)), _LONGEST_NAME)
