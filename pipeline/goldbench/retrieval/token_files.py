"""Tokens of another analyzer, read from files: one text per line, its tokens separated by tabs.

The first token may be the text's id. Without ids, a line belongs to the text whose letters and digits it holds. An
analyzer that leaves out words needs no ids; one that stems does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from goldbench.errors import RetrieverFailed, plain_file


class TokenFiles:
    """The lines of some files, by id or by text."""

    def __init__(self, paths: Sequence[Path]) -> None:
        """Read the files.

        Raises:
            RetrieverFailed: A file cannot be read, or is not UTF-8.
        """
        self._paths = tuple(paths)
        self._files = [_lines(path) for path in paths]
        self._by_id = [_by_id(lines) for lines in self._files]
        self._by_text: dict[str, list[str]] | None = None

    def of(self, texts: Mapping[str, str]) -> Iterator[list[str]]:
        """Return the tokens of each text, in the order of the mapping.

        Raises:
            RetrieverFailed: A text is in none of the files.
        """
        known: dict[str, list[str]] = {}
        for lines in self._by_id:
            if 2 * sum(text_id in lines for text_id in texts) > len(texts):
                known.update((text_id, lines[text_id]) for text_id in texts if text_id in lines)
        tokens_of = known or self._found_by_text(texts)
        missing = [text_id for text_id in texts if text_id not in tokens_of]
        if missing:
            files = ", ".join(path.name for path in self._paths)
            count = f"{len(missing):,} of {len(texts):,}"
            raise RetrieverFailed(f"{files}: no tokens for {count} texts, the first of them {missing[0]!r}")
        return (tokens_of[text_id] for text_id in texts)

    def _found_by_text(self, texts: Mapping[str, str]) -> dict[str, list[str]]:
        if self._by_text is None:
            self._by_text = {letters(" ".join(line)): line for lines in self._files for line in lines} | {"": []}
        keys = {text_id: letters(text) for text_id, text in texts.items()}
        tokens_of = {
            text_id: self._by_text.get(key, []) for text_id, key in keys.items() if not key or key in self._by_text
        }
        if len(tokens_of) < len(keys):
            used = {keys[text_id] for text_id in tokens_of}
            spare = {key: line for key, line in self._by_text.items() if key and key not in used}
            for text_id in keys.keys() - tokens_of.keys():
                near = _shortened(keys[text_id], spare)
                if near is not None:
                    tokens_of[text_id] = spare[near]
        return tokens_of


def letters(text: str) -> str:
    """Return the letters and digits of a text, case folded, which every analyzer keeps."""
    return "".join(filter(str.isalnum, text.casefold()))


def _shortened(key: str, lines: Mapping[str, object]) -> str | None:
    """Return the longest line that is the key with some words left out; None if no line keeps half of its letters."""
    fitting = [line for line in lines if len(key) <= 2 * len(line) and _is_within(line, key)]
    return max(fitting, key=lambda line: (len(line), line), default=None)


def _is_within(part: str, whole: str) -> bool:
    """Whether the characters of one string occur in another in the same order."""
    rest = iter(whole)
    return len(part) <= len(whole) and all(character in rest for character in part)


def _lines(path: Path) -> list[list[str]]:
    try:
        text = plain_file(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise RetrieverFailed(f"{path}: cannot be read ({(error.strerror or 'unknown').lower()})") from None
    except UnicodeDecodeError:
        raise RetrieverFailed(f"{path}: is not UTF-8") from None
    return [[token for token in line.rstrip("\r").split("\t") if token] for line in text.split("\n") if line.strip()]


def _by_id(lines: list[list[str]]) -> dict[str, list[str]]:
    """Return the lines by their first token; nothing if one comes first twice, because then it is not an id."""
    tokens_of = {line[0]: line[1:] for line in lines}
    return tokens_of if len(tokens_of) == len(lines) else {}
