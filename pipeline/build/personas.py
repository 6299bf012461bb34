"""Who asks: personas from a file of the user's, which a model writes from titles of the collection if it is missing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from goldbench.pipeline.config import Config
from goldbench.pipeline.errors import InputError, explained, plain_file
from goldbench.schemas.corpus import Chunk

COUNT = 5
"""Personas that a model writes."""
MOST_TITLES = 60
"""Titles that it is shown."""
_LONGEST = 120
"""Characters of a title or a persona; the rest is cut off."""


def read_personas(path: Path) -> tuple[str, ...] | None:
    """Return the personas of a file, one per line; None if the file is missing.

    Lines that are empty or begin with ``#`` are left out.

    Raises:
        InputError: The file cannot be read.
    """
    if not path.exists():
        return None
    try:
        lines = plain_file(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        raise InputError(path, "cannot be read as UTF-8 text; write one persona per line") from None
    return tidy(line for line in lines if not line.lstrip().startswith("#"))


def with_personas(config: Config, personas: Sequence[str] | None = None) -> Config:
    """Return a configuration with the personas of its file among its own: they shape the set, not the file's name.

    Args:
        config: The configuration.
        personas: The personas that were used, None for those that the file holds now, if it exists.

    Raises:
        InputError: The file cannot be read.
    """
    settings = config.generate
    if personas is None and settings.personas_file is not None:
        personas = read_personas(settings.personas_file)
    if not personas:
        return config
    generate = settings.model_copy(update={"personas": (*settings.personas, *personas)})
    return config.model_copy(update={"generate": generate})


def write_personas(path: Path, personas: Iterable[str]) -> None:
    """Write the personas, one per line, to be edited.

    Raises:
        OutputError: The file cannot be written.
    """
    with explained(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{persona}\n" for persona in personas), encoding="utf-8")


def tidy(lines: Iterable[str]) -> tuple[str, ...]:
    """Return each text on one line, short, once, without empty ones."""
    return tuple(dict.fromkeys(line for text in lines if (line := " ".join(text.split())[:_LONGEST].rstrip())))


def titles_of(chunks: Iterable[Chunk]) -> tuple[str, ...]:
    """Return the titles of passages, the first ones first, each once; the first heading of one without a title."""
    found = dict[str, None]()
    for chunk in chunks:
        found |= dict.fromkeys(tidy([chunk.title or next(iter(chunk.headings), "")]))
        if len(found) == MOST_TITLES:
            break
    return tuple(found)
