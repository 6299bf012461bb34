"""Dates and versions that a passage is about: in its title, its headings, the name of its file, or its text."""

from __future__ import annotations

from collections.abc import Iterator

import regex

from goldbench.schemas.corpus import Chunk

_VERSION = regex.compile(r"(?<![\d.\p{L}])[vV]?(\d{1,3}(?:\.\d{1,4}){1,3})(?![\d.]*\d|\.?\p{L})")
_NAMED_VERSION = regex.compile(
    r"(?:\b(?:version|release|versión|versione|versão|верси\p{L}*)|版本|バージョン|버전)\s*(\d{1,3}(?:\.\d{1,4}){0,3})(?![\d.]*\d)",
    regex.IGNORECASE,
)
_DATE = regex.compile(r"(?<!\d)((?:19|20)\d\d)[-./年]\s?(0?[1-9]|1[0-2])(?:[-./月]\s?(0?[1-9]|[12]\d|3[01]))?(?!\d)")
_YEAR = regex.compile(r"(?<![\d.,#:/-])((?:19|20)\d\d)(?![\d.,:/-]*\d)")


def moment_of(chunk: Chunk, source: str) -> str | None:
    """Return the date or the version that a passage is about, None if it names none or several.

    The title and the headings count before the name of the file, and that before the text.

    Args:
        chunk: The passage.
        source: The path of its document below the given folder.
    """
    name = source.rpartition("/")[2].rpartition(".")[0].replace("_", " ")
    for text, bare in ((f"{chunk.title}\n{chunk.headings[-1] if chunk.headings else ''}", True), (name, True)):
        found = list(dict.fromkeys(_moments(text, bare=bare)))
        if found:
            return found[0] if len(found) == 1 else None
    found = list(dict.fromkeys(_moments(chunk.text, bare=False)))
    return found[0] if len(found) == 1 else None


def names_moment(query: str, moment: str) -> bool:
    """Return whether a query names a date or a version: its digits, of a date at least the year.

    Args:
        query: The query.
        moment: A moment as `moment_of` returns it.
    """
    wanted = moment.removeprefix("version ")
    parts = [wanted] if moment.startswith("version ") else [wanted[:4]]
    return all(regex.search(rf"(?<![\d.]){regex.escape(part)}(?![\d]|\.\d)", query) for part in parts)


def _moments(text: str, *, bare: bool) -> Iterator[str]:
    """Yield the dates and versions of a text; a bare number with points is a version only where names stand."""
    dates = list(_DATE.finditer(text))
    for match in dates:
        yield "-".join(f"{int(part):02}" for part in match.groups() if part)
    rest = _DATE.sub(" ", text)
    for match in (_VERSION if bare else _NAMED_VERSION).finditer(rest):
        yield f"version {match.group(1)}"
    if not dates:
        yield from (match.group(1) for match in _YEAR.finditer(rest))
