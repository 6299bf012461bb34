"""``goldbench prompts``: the exact prompts that a model is sent."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from goldbench.cli.options import input_option, subcommands, takes
from goldbench.cli.output import screen

if TYPE_CHECKING:
    from goldbench.config import Config

app = subcommands("Show exactly what a model is sent.")

Folder = Annotated[
    Path | None, input_option("--folder", metavar="DIR", help="Your prompts, which replace built-in ones.")
]


@app.command("list")
def list_prompts(folder: Folder = None) -> None:
    """List the prompts with their digests."""
    from goldbench.prompts.loader import available, load

    listed = []
    for name in available():
        prompt = load(name, folder)
        listed.append({"id": prompt.id, "sha256": prompt.sha256, "description": prompt.description})
        screen.show(f"{prompt.id}  {prompt.sha256[:12]}  {prompt.description}", indent="  ")
    screen.add(prompts=listed)


@app.command()
def show(
    prompt_id: Annotated[str, typer.Argument(metavar="ID", help="Id of the prompt, as generate.v1.")],
    folder: Folder = None,
) -> None:
    """Show a prompt with its placeholders."""
    from goldbench.prompts.loader import load

    prompt = load(prompt_id, folder)
    _show(prompt.id, prompt.system, prompt.user, prompt.turns())


@app.command()
@takes()
def render(
    paths: Annotated[list[str], typer.Argument(metavar="PATH...", help="Documents; the first eligible chunk is used.")],
    settings: Config,
) -> None:
    """Show the prompt for a chunk of documents."""
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
    _show(prompt.id, system, user, prompt.turns(brief.language, brief.assignment.style.value))


def _show(prompt_id: str, system: str, user: str, examples: Sequence[tuple[str, str]]) -> None:
    """Print a prompt as it is sent, without a change."""
    screen.add(id=prompt_id, system=system, user=user, examples=examples)
    if not screen.json:
        shown = "".join(f"# Example\n\n{question}\n\n# Reply\n\n{reply}\n\n" for question, reply in examples)
        typer.echo(f"# System\n\n{system}\n\n{shown}# User\n\n{user}")
