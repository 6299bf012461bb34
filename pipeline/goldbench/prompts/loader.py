"""Prompts as files: ``<name>.v<n>.md`` with TOML front matter, ``# System`` and ``# User``; checked, then filled.

Between the two, any number of ``# Example`` and ``# Reply`` pairs are turns that a model is shown before the question.
``# Example de`` is shown where the text is German, English ones where a language has none; an example may have several
replies, as ``# Reply keywords``, of which the one in the style asked for is shown.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

_OWN_FOLDER = Path(__file__).parent
FOLDER = _OWN_FOLDER if (_OWN_FOLDER / "prompts.lock").is_file() else Path(__file__).parents[3] / "prompts"
"""The prompts: beside this module in an installed package, at the top level of a checkout."""
_FILE_NAME = re.compile(r"(?P<name>[a-z][a-z0-9-]*)\.v(?P<version>[1-9]\d*)\.md")
_PARTS = re.compile(r"\A\+\+\+\n(?P<head>.*?)\n\+\+\+\n# System\n(?P<system>.*?)\n# User\n(?P<user>.*)\Z", re.DOTALL)
_EXAMPLE = re.compile(r"^# Example(?: ([a-z]{2,3}))?\n", re.MULTILINE)
_REPLY = re.compile(r"^# Reply(?: ([a-z]+))?\n", re.MULTILINE)
_NEEDED = frozenset({"passage", "passages", "query", "sentence", "sentences", "number"})
"""Placeholders that a prompt of the user's own may not leave out where the built-in prompt has them."""
FALLBACK = "en"
"""Language of the examples that are shown where the text's own has none."""
_PLACEHOLDER = re.compile(r"\{\{([a-z_]+)\}\}")


class PromptError(ValueError):
    """A prompt file is malformed, or its placeholders and the values given do not match. One line."""


@dataclass(frozen=True, slots=True)
class Example:
    """A question and its replies by style. ``language`` and a style are "" where the file names none."""

    language: str
    question: str
    replies: dict[str, str]

    def reply(self, style: str) -> str:
        """Return the reply in a style, else the one without a style, else the first."""
        return self.replies.get(style) or self.replies.get("") or next(iter(self.replies.values()))


@dataclass(frozen=True, slots=True)
class Prompt:
    """One version of one prompt. ``id`` is ``name.vN``; ``sha256`` is that of the file.

    A prompt of the user's ``own`` may leave out placeholders of the built-in one.
    """

    id: str
    description: str
    placeholders: frozenset[str]
    system: str
    user: str
    sha256: str
    examples: tuple[Example, ...] = ()
    own: bool = False

    def render(self, **values: str) -> tuple[str, str]:
        """Return the system and the user message. Values are inserted once and never searched for placeholders.

        Raises:
            PromptError: A declared placeholder has no value, or a value no placeholder in a built-in prompt.
        """
        missing = self.placeholders - values.keys()
        unknown = values.keys() - self.placeholders
        if missing or (unknown and not self.own):
            raise PromptError(f"prompt {self.id}: missing {sorted(missing)}, unknown {sorted(unknown)}")
        return _fill(self.system, values), _fill(self.user, values)

    def turns(self, language: str | None = None, style: str = "") -> tuple[tuple[str, str], ...]:
        """Return the examples for a language (ISO 639-1) and a style as earlier turns: questions and replies."""
        wanted = (language or FALLBACK).split("-")[0]
        known = wanted if any(example.language == wanted for example in self.examples) else FALLBACK
        shown = [example for example in self.examples if example.language in {"", known}]
        return tuple((example.question, example.reply(style)) for example in shown)


def _fill(template: str, values: dict[str, str]) -> str:
    return _PLACEHOLDER.sub(lambda match: values[match.group(1)], template).strip()


def _placeholders(template: str) -> frozenset[str]:
    return frozenset(_PLACEHOLDER.findall(template))


def parse(prompt_id: str, text: str) -> Prompt:
    """Return the prompt a file's text holds.

    Raises:
        PromptError: A part of the prompt is missing, or it uses other placeholders than it declares.
    """
    parts = _PARTS.match(text.replace("\r\n", "\n"))
    if not parts:
        raise PromptError(f"prompt {prompt_id}: needs +++ front matter +++, then '# System' and '# User'")
    try:
        head = tomllib.loads(parts["head"])
        declared = frozenset(str(name) for name in head["placeholders"])
        description = str(head["description"])
    except (tomllib.TOMLDecodeError, KeyError, TypeError, RecursionError) as error:
        raise PromptError(f"prompt {prompt_id}: front matter: {error}") from None
    used = _placeholders(parts["system"] + parts["user"])
    if used != declared:
        raise PromptError(f"prompt {prompt_id}: declares {sorted(declared)}, uses {sorted(used)}")
    digest = hashlib.sha256(text.encode()).hexdigest()
    system, *shown = _EXAMPLE.split(parts["system"])
    examples = tuple(
        _example(prompt_id, language or "", text) for language, text in zip(shown[::2], shown[1::2], strict=True)
    )
    if _REPLY.search(system):
        raise PromptError(f"prompt {prompt_id}: a '# Reply' stands before the first '# Example'")
    if left := sorted(_placeholders("".join(shown[1::2]))):
        raise PromptError(f"prompt {prompt_id}: an '# Example' is sent as it is, and holds {{{{{left[0]}}}}}")
    return Prompt(prompt_id, description, declared, system.strip(), parts["user"].strip(), digest, examples)


def _example(prompt_id: str, language: str, text: str) -> Example:
    question, *replies = _REPLY.split(text)
    by_style = {style or "": reply.strip() for style, reply in zip(replies[::2], replies[1::2], strict=True)}
    if not by_style or len(by_style) < len(replies) // 2:
        raise PromptError(f"prompt {prompt_id}: every '# Example' needs one '# Reply', or one for each style")
    return Example(language, question.strip(), by_style)


@cache
def load(prompt_id: str, folder: Path | None = None) -> Prompt:
    """Return a prompt by its id (``generate.v1``): from the user's folder if it has one, else from this folder.

    Raises:
        PromptError: The prompt does not exist or is malformed, or the user's own lacks what it is about.
    """
    file_name = f"{prompt_id}.md"
    if not _FILE_NAME.fullmatch(file_name):
        raise PromptError(f"prompt {prompt_id}: not a valid id; give one that goldbench prompts list shows")
    if folder is not None and (path := folder / file_name).exists():
        if not path.is_file():
            raise PromptError(f"{path}: is not a plain file; give one, or remove it to use the built-in prompt")
        try:
            prompt = parse(prompt_id, path.read_text(encoding="utf-8"))
        except PromptError as error:
            raise PromptError(str(error).replace(f"prompt {prompt_id}", str(path), 1)) from None
        return _own(prompt, path)
    if not (FOLDER / file_name).is_file():
        raise PromptError(f"prompt {prompt_id}: file {file_name} not found; goldbench prompts list shows the ids")
    return parse(prompt_id, (FOLDER / file_name).read_text(encoding="utf-8"))


def _own(prompt: Prompt, path: Path) -> Prompt:
    """Return a prompt of the user's own, its placeholders compared with those of the built-in one."""
    if not (FOLDER / path.name).is_file():
        return prompt
    known = load(prompt.id).placeholders
    if unknown := sorted(prompt.placeholders - known):
        raise PromptError(f"{path}: unknown placeholder {{{{{unknown[0]}}}}}; known are {', '.join(sorted(known))}")
    if lacking := sorted((known & _NEEDED) - _placeholders(prompt.user)):
        raise PromptError(f"{path}: does not use {{{{{lacking[0]}}}}}, which it is about; put it into # User")
    return replace(prompt, own=True)


def available() -> list[str]:
    """Return the ids of the prompts in this folder, sorted."""
    return sorted(path.stem for path in FOLDER.glob("*.md") if _FILE_NAME.fullmatch(path.name))
