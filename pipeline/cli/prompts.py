"""``goldset prompts``: exactly what a model is sent."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(help="See exactly what a model is sent.", no_args_is_help=True, rich_markup_mode=None)

Folder = Annotated[Path | None, typer.Option("--folder", metavar="DIR", help="Your own prompts, which go first.")]


@app.command("list")
def list_prompts(folder: Folder = None) -> None:
    """List the prompts with their digests."""
    from prompts.loader import available, load

    for name in available():
        prompt = load(name, folder)
        typer.echo(f"{prompt.id}  {prompt.sha256[:12]}  {prompt.description}")


@app.command()
def show(prompt_id: Annotated[str, typer.Argument(metavar="ID")], folder: Folder = None) -> None:
    """Show a prompt with its placeholders."""
    from prompts.loader import load

    prompt = load(prompt_id, folder)
    typer.echo(f"# System\n\n{prompt.system}\n\n# User\n\n{prompt.user}")


@app.command()
def render(
    paths: Annotated[
        list[str], typer.Argument(metavar="PATH...", help="Documents; the first eligible chunk is taken.")
    ],
    config: Annotated[Path | None, typer.Option("--config", metavar="FILE", help="A goldset.toml.")] = None,
) -> None:
    """Show the generation prompt filled for a chunk of your documents."""
    from pipeline.build.inputs import find_documents, first_brief
    from pipeline.config import load_config
    from pipeline.stages.generate import generation_prompt
    from prompts.loader import load

    settings = load_config(config, {})
    brief = first_brief(settings, find_documents(paths))
    generate = settings.generate
    system, user = generation_prompt(
        load("generate.v1", generate.prompts), brief, context=generate.context, examples=generate.seed_queries
    )
    typer.echo(f"# System\n\n{system}\n\n# User\n\n{user}")
