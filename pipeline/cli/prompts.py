"""``goldbench prompts``: the exact prompts that a model is sent."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from goldbench.pipeline.cli.options import input_option, subcommands, takes
from goldbench.pipeline.cli.output import screen

if TYPE_CHECKING:
    from goldbench.pipeline.config import Config

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
    _show(prompt.id, prompt.system, prompt.user)


@app.command()
@takes()
def render(
    paths: Annotated[list[str], typer.Argument(metavar="PATH...", help="Documents; the first eligible chunk is used.")],
    settings: Config,
) -> None:
    """Show the prompt for a chunk of documents."""
    from goldbench.pipeline.build.inputs import find_documents, first_brief
    from goldbench.pipeline.stages.generate import generation_prompt
    from goldbench.prompts.loader import load

    brief = first_brief(settings, find_documents(paths))
    generate = settings.generate
    system, user = generation_prompt(
        load("generate.v1", generate.prompts), brief, context=generate.context, examples=generate.seed_queries
    )
    _show("generate.v1", system, user)


def _show(prompt_id: str, system: str, user: str) -> None:
    """Print a prompt as it is sent, without a change."""
    screen.add(id=prompt_id, system=system, user=user)
    if not screen.json:
        typer.echo(f"# System\n\n{system}\n\n# User\n\n{user}")
