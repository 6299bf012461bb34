"""Dates and versions that a passage is about: in its title, its headings, the name of its file, or its text."""

from __future__ import annotations

from collections.abc import Iterator

import regex

from goldbench.records.corpus import Chunk

_NAMED_VERSION = regex.compile(
    r"(?:\b(?:version|release|versión|versione|versão|верси\p{L}*)|版本|バージョン|버전)\s*(\d{1,3}(?:\.\d{1,4}){0,3})(?![\d.]*\d)",
    regex.IGNORECASE,
)
_DATE = regex.compile(r"(?<!\d)((?:19|20)\d\d)[-./年]\s?(0?[1-9]|1[0-2])(?:[-./月]\s?(0?[1-9]|[12]\d|3[01]))?(?!\d)")
_MEASURE = (
    r"(?:\s*[x×*]\s*\d|\s*[%°€$£¥‰]|\s(?:[mckµ]?m|[mk]?g|m?s|h|min|[mk]?W|[mk]?V|[kMG]?Hz|[kMG]B|px|dpi|rpm|psi|bar"
    r"|pixels?|hours?|minutes?|seconds?|days?|steps?|times|turns?|met(?:er|re)s?|watts?|volts?|people|persons?"
    r"|(?:Stunden|Minuten|Tagen?|Mal|Umdrehungen|heures|horas|ore|uur)|[小分秒个個人次回円元])(?!\p{Ll}))"
)
"""What follows a number that measures or counts."""
_YEAR = regex.compile(
    r"(?<![#:/_$€£¥+~=\p{Latin}\p{Greek}\p{Cyrillic}]|\d[.,–-]|\d\s?[x×*]\s?)((?:19|20)\d\d)"
    rf"(?![.,:/–-]*\d|\p{{Latin}}|{_MEASURE})"
)
_MONTHS = (
    "january|february|march|april|may|june|july|august|september|october|november|december|jan|feb|mar|apr|jun|jul|aug"
    "|sept?|oct|nov|dec|januar|februar|märz|mai|juni|juli|oktober|dezember|janvier|février|mars|avril|juin|juillet|août"
    "|septembre|octobre|novembre|décembre|enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre"
    "|diciembre|gennaio|febbraio|aprile|maggio|giugno|luglio|settembre|ottobre|dicembre|janeiro|fevereiro|março|maio|junho"
    "|julho|setembro|outubro|novembro|dezembro|januari|februari|maart|mei|augustus|январ[ья]|феврал[ья]|марта?|апрел[ья]"
    "|ма[йя]|июн[ья]|июл[ья]|августа?|сентябр[ья]|октябр[ья]|ноябр[ья]|декабр[ья]"
)
_DATED = regex.compile(
    rf"\b(?:(?:{_MONTHS})[.,]?\s(?:\d{{1,2}}(?:st|nd|rd|th)?,?\s)?(?:del?\s)?|q[1-4]\s|\d{{1,2}}[./-]\d{{1,2}}[./-]"
    r"|(?:in|since|during|years?|im\sjahre?|seit|en|depuis|année|desde|año|em|ano|nel|dal|anno|sinds|jaar|rok[u]?|år)\s)"
    r"(?P<year>(?:19|20)\d\d)(?!\d|[.,:/–-]+\d|\p{Latin}|"
    rf"{_MEASURE}|\s\p{{Ll}}+s\b(?<!\b(?:was|is|has|this|its|as)))"
    r"|(?<!\d)(?P<year>(?:19|20)\d\d)(?=\s?(?:年|년|год|г\.))|\((?P<year>(?:19|20)\d\d)\)",
    regex.IGNORECASE,
)
"""A year in the form of a date: after a month, a day or a word such as "since", before "年", alone in brackets."""
_BARE_VERSION = regex.compile(
    rf"(?<![\d.\p{{L}}])[vV]?(\d{{1,3}}(?:\.\d{{1,4}}){{1,3}})(?![\d.]*\d|\.?\p{{L}}|{_MEASURE})"
)
_SECTION = regex.compile(
    r"^[^\S\n]*+(?:\p{Lu}\.)?\d+(?:\.\d+)*[.:)]?\s+(?=\p{L})(?!(?:release|version)\b)", regex.MULTILINE
)
"""The number of a section, which is not a version."""
_SUFFIX = regex.compile(r"\.\p{L}\w{0,7}(?s:#.*+)?\Z")
"""The end of the name of a file that tells its format; the last part of ``python-3.11`` does not."""


def moment_of(chunk: Chunk, source: str) -> str | None:
    """Return the date or the version that a passage is about, None if it names none or several.

    The title and the headings count before the name of the file, and that before the text.

    Args:
        chunk: The passage.
        source: The path of its document below the given folder.
    """
    name = _SUFFIX.sub("", source.rpartition("/")[2]).replace("_", " ")
    titles = _SECTION.sub("", f"{chunk.title}\n{chunk.headings[-1] if chunk.headings else ''}")
    for text in (titles, name):
        moments = list(dict.fromkeys(_moments(text, bare=True)))
        if moments:
            return moments[0] if len(moments) == 1 else None
    moments = list(dict.fromkeys(_moments(chunk.text, bare=False)))
    return moments[0] if len(moments) == 1 else None


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
    """Yield the dates and versions of a text.

    Where names stand (``bare``), a number with points is a version, and a number from 1900 to 2099 a year; elsewhere
    the word "version" must stand before the first, and one of the years must be in the form of a date.
    """
    dates = list(_DATE.finditer(text))
    for match in dates:
        yield "-".join(f"{int(part):02}" for part in match.groups() if part)
    rest = _DATE.sub(" ", text)
    for match in (_BARE_VERSION if bare else _NAMED_VERSION).finditer(rest):
        yield f"version {match.group(1)}"
    if dates:
        return
    dated = [match.group("year") for match in _DATED.finditer(rest)]
    yield from dated
    if bare or dated:
        yield from (match.group(1) for match in _YEAR.finditer(rest))
