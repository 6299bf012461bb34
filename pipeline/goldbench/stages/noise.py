"""Noisy forms of accepted queries: typing errors and dropped words. No model is asked.

Reads: an accepted query. Writes: a candidate that asks the same with an error in it, linked to the query.
Fails: never; a query without a place for any noise has no noisy form.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import regex

from goldbench.records.query import Candidate, Query, QueryKind
from goldbench.text import table
from goldbench.text.draws import Draws
from goldbench.text.keyboards import neighbours
from goldbench.text.scripts import is_spaceless

GENERATOR = "noise"
"""The generator of noisy queries."""


class Noise(StrEnum):
    """What happens to a query on its way through a keyboard."""

    TYPING = "typing"
    DROPPED_WORDS = "dropped-words"


MOST = {Noise.TYPING: 0.1, Noise.DROPPED_WORDS: 0.34}
"""The largest share that a noise changes: of the letters, of the words (0.1 = 10 %)."""
_MOST_TYPED = 3
"""Most typing errors in one query, however long it is."""
_SHORTEST = 4
"""Words with fewer letters get no typing error."""

_WORD = regex.compile(r"\S+")
_WHOLE = regex.compile(r"[\p{L}\p{M}]+")
_MARKS = regex.compile(r"""[.,;:!?…()\[\]"'“”„‘’‚«»¿¡。，、；：？！（）؟،।-]*""")
"""What may stand around a word that is changed; any other sign may belong to an identifier."""
_EDGES = regex.compile(r"^([^\p{L}\p{M}]*)(.*?)([^\p{L}\p{M}]*)$", regex.DOTALL)
_OPENS = regex.compile('[`"“„«「]')
_CLOSES = {"`": "`", '"': '"', "“": "”", "„": "“”", "«": "»", "「": "」"}


def noisy_forms(query: Query, *, seed: int = 0, most: int = 1) -> tuple[Candidate, ...]:
    """Return noisy forms of an accepted query, each with another noise; fewer if it has no place for more.

    A form keeps everything that its labels rest on (chunk, evidence, answer, needed passages), has the
    kind ``noisy``, and names its ``original`` and its ``noise``. Both forms of
    a conversation's question get the noise. It is the same for the same id and seed. Numbers,
    identifiers, abbreviations, words with a capital letter, which may be names, quoted words, and words of scripts
    without spaces, which a lost character makes another word, are never changed; only words that ``empty_words.toml``
    lists for the language are dropped.

    Args:
        query: The query, which must not be noisy itself.
        seed: Seed of the run.
        most: Most forms, 1 or more.
    """
    if query.original is not None or query.kind is QueryKind.NOISY:
        return ()
    draws = Draws("noise", seed, query.query_id)
    candidates: list[Candidate] = []
    for name in draws.shuffled("order", [noise.value for noise in Noise]):
        text, alone = (
            wording and noisy_text(wording, Noise(name), draws, language=query.language)
            for wording in (query.text, query.standalone)
        )
        if text and (alone or not query.standalone) and len(candidates) < most:
            candidates.append(_candidate(query, text, alone, Noise(name)))
    return tuple(candidates)


def _candidate(query: Query, text: str, standalone: str | None, noise: Noise) -> Candidate:
    fields = {name: getattr(query, name) for name in Candidate.model_fields}
    changed: dict[str, object] = {"first_text": None, "asked": None}
    noisy = {"text": text, "standalone": standalone, "generator": GENERATOR, "kind": QueryKind.NOISY}
    return Candidate(**{**fields, **changed, **noisy, "original": query.query_id, "noise": noise.value})


def noisy_text(text: str, noise: Noise, draws: Draws, *, language: str | None) -> str | None:
    """Return a text with a noise, or None if it has no place for it; never the text itself.

    Args:
        text: The text.
        noise: The noise.
        draws: The random numbers.
        language: ISO 639-1 code, which tells the keyboard and the words that may be dropped; None if it is not known.
    """
    make = _mistyped if noise is Noise.TYPING else _shortened
    noisy = "".join(make(_parts(text), draws, (language or "").split("-")[0] or None)).strip()
    return None if noisy in {"", text.strip()} else noisy


def _parts(text: str) -> list[str]:
    """Return words and what stands between them, in turn; the words have odd places."""
    parts = []
    end = 0
    for word in _WORD.finditer(text):
        parts += [text[end : word.start()], word.group()]
        end = word.end()
    return [*parts, text[end:]]


def _changeable(parts: Sequence[str]) -> list[int]:
    """Return the places of the words that may be changed: none that carries a number, a name or a quotation."""
    quoted = _quoted("".join(parts))
    changeable = []
    start = 0
    for position, part in enumerate(parts):
        end = start + len(part)
        if position % 2 and _is_word(part) and not any(first < end and start < last for first, last in quoted):
            changeable.append(position)
        start = end
    return changeable


def _quoted(text: str) -> list[tuple[int, int]]:
    """Return start and end of everything between quotation marks or backticks, the marks included."""
    spans: list[tuple[int, int]] = []
    unclosed: set[str] = set()
    mark = _OPENS.search(text)
    while mark:
        closing = _CLOSES[mark[0]]
        end = mark.end()
        if mark[0] not in unclosed:
            ends = [position for sign in closing if (position := text.find(sign, end)) >= 0]
            if ends:
                end = min(ends) + 1
                spans.append((mark.start(), end))
            else:
                unclosed.add(mark[0])
        mark = _OPENS.search(text, end)
    return spans


def _is_word(part: str) -> bool:
    """Whether a word has small letters alone, with marks around it, in a script with spaces between words."""
    before, core, after = _core(part)
    plain = _WHOLE.fullmatch(core) and _MARKS.fullmatch(before) and _MARKS.fullmatch(after)
    return bool(plain) and core == core.lower() and not any(map(is_spaceless, core))


def _core(part: str) -> tuple[str, str, str]:
    """Return what stands before the letters of a word, the letters, and what stands after them."""
    match = _EDGES.match(part)
    return (match[1], match[2], match[3]) if match else ("", part, "")


def _letters(parts: Sequence[str]) -> int:
    return sum(len(_core(part)[1]) for part in parts[1::2])


def _mistyped(parts: list[str], draws: Draws, language: str | None) -> list[str]:
    """Hit a key beside the right one, leave one out, or swap two, at most once in a word."""
    places = [position for position in _changeable(parts) if len(_core(parts[position])[1]) >= _SHORTEST]
    most = min(_MOST_TYPED, int(MOST[Noise.TYPING] * _letters(parts)), len(places))
    if most < 1:
        return parts
    chosen = draws.shuffled("words", map(str, places))[: 1 + int(draws.uniform("errors") * most)]
    mistyped = list(parts)
    for position in map(int, chosen):
        before, core, after = _core(parts[position])
        mistyped[position] = before + _with_error(list(core), draws, str(position), language) + after
    return mistyped


def _with_error(letters: list[str], draws: Draws, name: str, language: str | None) -> str:
    at = 1 + int(draws.uniform("place", name) * (len(letters) - 2))  # neither the first letter nor the last
    beside = neighbours(letters[at], language)
    swapped = [*letters[:at], letters[at + 1], letters[at], *letters[at + 2 :]]
    ways = ["left out", *(["beside"] if beside else []), *(["swapped"] if swapped != letters else [])]
    way = draws.shuffled(f"way {name}", ways)[0]
    if way == "swapped":
        return "".join(swapped)
    hit = beside[int(draws.uniform("key", name) * len(beside))] if way == "beside" else ""
    return "".join([*letters[:at], hit, *letters[at + 1 :]])


def _shortened(parts: list[str], draws: Draws, language: str | None) -> list[str]:
    """Leave out words that the query means the same without, with the space after each."""
    known = frozenset(table("empty_words").get(language or "", "").split())
    droppable = [position for position in _changeable(parts) if parts[position].casefold() in known]
    most = min(int(MOST[Noise.DROPPED_WORDS] * (len(parts) // 2)), len(droppable))
    if most < 1:
        return parts
    dropped = set(map(int, draws.shuffled("dropped", map(str, droppable))[: 1 + int(draws.uniform("count") * most)]))
    remaining = [number for number in range(1, len(parts), 2) if number not in dropped]
    return (
        [parts[0], *(piece for position in remaining for piece in (parts[position], parts[position + 1]))]
        if remaining
        else parts
    )
