"""Whether a passage answers a query, decided by words: covered, not covered, or undecided, each with its reason.

The rules need no threshold. ``python -m tests.benchmarks.drift_validity`` measures them on people's questions, with the
answering paragraph in the collection and without it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

import regex

from goldbench.text.boundaries import sentence_spans
from goldbench.text.language import detect_language, probability
from goldbench.text.scripts import is_spaceless, script_of
from goldbench.text.words import content_terms, stems, term_weight, terms, words

_IDENTIFIER = regex.compile(r"\p{L}+\p{N}[\p{L}\p{N}]*")
_MARKS = regex.compile(r"[\p{P}\p{S}]+")
_PARTS = regex.compile(r"\p{L}[\p{L}\p{M}]*|\p{N}+")
_LONGEST = 24
"""Characters of the longest identifier or compound that is looked for across spaces."""
_LIKE = 0.6
_LIKE_ELSEWHERE = 0.4
"""Dice coefficient of letter trigrams from which two words are alike: in Latin script, and in others."""
_STEM = 4
"""Fewest letters of a word for a longer word that begins or ends with it to count as like it."""
_TITLE = 400
"""Characters of the longest first line that counts as the title of a passage."""
_CLOSE = 4
"""A query of fewer words needs them close together; those of a longer one may stand further apart in a passage."""
_STRANGE = 0.05
"""Probability of a language up to which a query is not in it; ``drift_validity`` shows how often that is wrong."""
_SAMPLED = 300
"""Passages sampled to detect their languages."""
_RARE = 0.05
"""Share of the sampled passages from which a language is one of theirs."""
_WINDOW = 2000
"""Characters within which the words of a longer query must stand: a whole chapter has all words of many queries."""
_READ = 200_000
"""Most characters of passages that are searched for the words of one query standing close together."""


class CoverageState(StrEnum):
    """What is known of a query: a passage answers it, none does, or neither can be said."""

    COVERED = "covered"
    NOT_COVERED = "not_covered"
    UNDECIDED = "undecided"


class Decider(StrEnum):
    """What decides a query: rules about words, similarity from a threshold on, or a model that reads."""

    RULES = "rules"
    SIMILARITY = "similarity"
    MODEL = "model"


@dataclass(frozen=True, slots=True)
class WordVerdict:
    """A state, why, the positions of the passages that it rests on, and what decided it."""

    state: CoverageState
    reason: str
    passages: tuple[int, ...] = ()
    by: Decider = Decider.RULES


def text_language(text: str, language: str | None) -> str | None:
    """Return the collection's language, or the text's own in scripts without spaces, whose function words differ."""
    return (detect_language(text[:1000]) or language) if is_spaceless(text[:1000]) else language


def title_in(text: str) -> str:
    """Return the title before the first blank line of an emitted passage, empty if there is none."""
    title, blank, _ = text.partition("\n\n")
    return title if blank and len(title) <= _TITLE else ""


def is_foreign(text: str, languages: Collection[str]) -> bool:
    """Return whether a query seems to be in none of the languages, whose passages words then do not find.

    Args:
        text: The query.
        languages: ISO 639-1 codes; with none of them nothing can be said.
    """
    if not languages:
        return False
    letters = [letter for letter in text if letter.isalpha()]
    spaceless = sum(map(is_spaceless, letters))
    if 2 * spaceless > len(letters):
        return detect_language(text) not in languages
    return probability(text, languages) <= _STRANGE


@dataclass(frozen=True, slots=True)
class _Query:
    text: str
    terms: tuple[str, ...]
    identifiers: frozenset[str]
    spellings: Mapping[str, str]
    """The stem of each word of the query, by the word."""

    @property
    def words(self) -> int:
        return round(sum(term_weight(term) for term in self.terms))


def _parsed(text: str, language: str | None) -> _Query:
    language = text_language(text, language)
    rest = text.casefold()
    parts = []
    for word in words(rest):
        plain = _MARKS.sub("", word)
        if len(plain) <= _LONGEST and _IDENTIFIER.fullmatch(plain) and "/" not in word:
            parts.append(plain)
            rest = rest.replace(word, " ", 1)
    raw = [token for token in terms(rest) if token.isalpha() and not is_spaceless(token)]
    spellings = dict(zip(raw, stems(raw, language), strict=True))
    return _Query(text, tuple(dict.fromkeys([*parts, *content_terms(rest, language)])), frozenset(parts), spellings)


class Passages:
    """Passages with what is needed to decide queries known beforehand.

    Args:
        texts: The passages, each with its title before a blank line.
        asked: The queries to decide.
        language: ISO 639-1 code of most passages, or None.
        known: Questions that a passage is known to answer, by its position.
    """

    def __init__(
        self,
        texts: Sequence[str],
        asked: Iterable[str],
        language: str | None,
        known: Mapping[int, Sequence[str]] | None = None,
    ) -> None:
        """Read every passage once."""
        self._texts = texts
        self._language = language
        self._known = known or {}
        self._queries = {text: _parsed(text, language) for text in asked}
        wanted = {term for query in self._queries.values() for term in query.terms}
        joined = {word: stem for query in self._queries.values() for word, stem in query.spellings.items()}
        joined = {word: stem for word, stem in joined.items() if _STEM < len(word) <= _LONGEST and stem in wanted}
        joined |= {name: name for query in self._queries.values() for name in query.identifiers}
        self._postings: dict[str, set[int]] = {term: set() for term in wanted}
        self._vocabulary: set[str] = set()
        self._spelled: set[str] = set()
        for position, text in enumerate(texts):
            for piece in (text, *self._known.get(position, ())):
                self._read(position, piece, wanted, joined)
        self._letters = {letter for word in self._spelled for letter in word}
        self._alike = _Spellings(self._vocabulary)
        sample = texts[:: max(1, len(texts) // _SAMPLED)]
        languages = Counter(detect_language(text[:1000]) for text in sample)
        self._languages = {name for name, count in languages.items() if name and count >= _RARE * len(sample)}

    def _read(self, position: int, text: str, wanted: set[str], joined: Mapping[str, str]) -> None:
        terms_of_text = set(content_terms(text, text_language(text, self._language)))
        self._vocabulary |= terms_of_text
        tokens = terms(text)
        self._spelled.update(tokens)
        for term in terms_of_text & wanted:
            self._postings[term].add(position)
        for name in _joins(tokens, joined):
            self._postings[joined[name]].add(position)

    def verdict(self, text: str, *, without: Collection[int] = ()) -> WordVerdict:
        """Return what the words of a query say.

        Args:
            text: One of the queries given beforehand.
            without: Positions of passages that count as if they were not there.
        """
        query = self._queries[text]
        if not query.terms:
            return WordVerdict(CoverageState.UNDECIDED, "has no word that carries meaning")
        held = {term: self._postings[term] - set(without) for term in query.terms}
        together = self._together(query, held)
        if close := self._close(query, together):
            return WordVerdict(CoverageState.COVERED, _where(query.words), tuple(close))
        return self._absent(query, held) or self._doubt(query, held, together)

    def _absent(self, query: _Query, held: Mapping[str, set[int]]) -> WordVerdict | None:
        """Return the verdict on a query with words that no passage has, or None if too much of it is left."""
        missing = [name for name in query.terms if name in query.identifiers and not held[name]]
        if missing:
            return WordVerdict(CoverageState.NOT_COVERED, f"no passage has {_listed(missing)}")
        unknown = [term for term in query.terms if not held[term] and not self._plausible(query, term)]
        if unknown and self._foreign(query):
            return WordVerdict(CoverageState.UNDECIDED, "seems to be in a language that no passage has")
        if unknown and self._far(query, held, unknown):
            return WordVerdict(CoverageState.NOT_COVERED, f"no passage has {_listed(_spelt(query, unknown))}")
        return None

    @staticmethod
    def _doubt(query: _Query, held: Mapping[str, set[int]], together: Sequence[int]) -> WordVerdict:
        if together:
            return WordVerdict(
                CoverageState.UNDECIDED, "its words stand in one passage, but far apart", tuple(together[:1])
            )
        absent = [term for term in query.terms if not held[term]]
        why = f"no passage has {_listed(_spelt(query, absent))}, but some have other words of it"
        return WordVerdict(CoverageState.UNDECIDED, why if absent else "its words stand in different passages")

    def _together(self, query: _Query, held: Mapping[str, set[int]]) -> list[int]:
        """Return the passages that hold all terms of a query."""
        counts = Counter(position for term in query.terms for position in held[term])
        whole = [position for position, count in counts.items() if count == len(query.terms)]
        if not whole and any(is_spaceless(term) for term in query.terms):
            most = [position for position, count in counts.items() if 2 * count >= len(query.terms)]
            whole = [
                position for position in most if _bridged(query.terms, {t for t in query.terms if position in held[t]})
            ]
        return sorted(whole)

    def _close(self, query: _Query, places: Sequence[int]) -> list[int]:
        """Return those of the passages in which the words of a query stand close enough together."""
        close = []
        read = 0
        for position in places:
            if query.words <= 1 or (query.words >= _CLOSE and len(self._texts[position]) <= _WINDOW):
                close.append(position)
            elif read < _READ:
                read += len(self._texts[position])
                if self._stand_close(query, position):
                    close.append(position)
        return close

    def _stand_close(self, query: _Query, position: int) -> bool:
        text = self._texts[position][:_READ]
        title = title_in(text)
        if query.words >= _CLOSE:
            pieces = [text[start : start + _WINDOW] for start in range(0, len(text), _WINDOW // 2)]
        else:
            pieces = [text[start:end] for start, end in sentence_spans(text)]
        wanted = set(query.terms)
        for piece in (*pieces, *self._known.get(position, ())):
            language = text_language(piece, self._language)
            ordered = content_terms(piece, language)
            if query.words > 2 or query.identifiers:
                known = {*ordered, *content_terms(title, language), *_joins(terms(piece), query.identifiers)}
                if _bridged(query.terms, known & wanted):
                    return True
            elif any(_bridged(query.terms, wanted & set(ordered[n : n + len(wanted)])) for n in range(len(ordered))):
                return True
        return False

    def _plausible(self, query: _Query, term: str) -> bool:
        """Whether a passage may have a term in another spelling, inflection or compound; numbers may be words."""
        if any(character.isdigit() for character in term) or term in self._vocabulary:
            return True
        if is_spaceless(term) and len(term) == 1:
            return term in self._letters
        spelt = list(query.spellings)
        for left, right in pairwise(spelt):
            if term in (query.spellings[left], query.spellings[right]) and left + right in self._spelled:
                return True
        return self._alike.has_one_like(term)

    def _far(self, query: _Query, held: Mapping[str, set[int]], unknown: Collection[str]) -> bool:
        """Whether too little of a query is left for a passage to answer it."""
        count = len(self._texts)
        weights = {term: math.log((count + 1) / (len(held[term]) + 1)) + 1 for term in query.terms}
        share = sum(weights[term] for term in unknown) / sum(weights.values())
        counts = Counter(position for term in query.terms for position in held[term])
        apart = max(counts.values(), default=0) <= 1
        if any(is_spaceless(term) for term in query.terms):
            return apart and share >= 2 / 3
        return share >= 1 / 2 or (apart and len(query.terms) > 2)

    def _foreign(self, query: _Query) -> bool:
        """Whether a query seems to be in a language that no passage has, whose words would all seem to be missing."""
        letters = {letter for letter in query.text.casefold() if letter.isalpha()}
        spaceless = {letter for letter in letters if is_spaceless(letter)}
        if 2 * len(spaceless - self._letters) > len(spaceless) or letters - spaceless - self._letters:
            return True
        return not spaceless and bool(self._languages) and probability(query.text, self._languages) <= _STRANGE


class _Spellings:
    """A vocabulary by the trigrams of its words."""

    def __init__(self, vocabulary: Iterable[str]) -> None:
        self._words = [word for word in vocabulary if len(word) > 2 and not is_spaceless(word)]
        self._by_gram: dict[str, list[int]] = {}
        self._found: dict[str, bool] = {}

    def has_one_like(self, word: str) -> bool:
        """Whether a word of the vocabulary is spelt nearly alike, begins or ends with this one, or this with it."""
        if word not in self._found:
            self._found[word] = len(word) >= _STEM and not is_spaceless(word) and self._search(word)
        return self._found[word]

    def _search(self, word: str) -> bool:
        if not self._by_gram:
            for position, spelling in enumerate(self._words):
                for gram in _grams(spelling):
                    self._by_gram.setdefault(gram, []).append(position)
        own = _grams(word)
        least = _LIKE if script_of(word) == "Latin" else _LIKE_ELSEWHERE
        shared = Counter(position for gram in own for position in self._by_gram.get(gram, ()))
        for position, count in shared.items():
            known_word = self._words[position]
            if 2 * count >= least * (len(own) + len(_grams(known_word))):
                return True
            short, long = sorted((word, known_word), key=len)
            if len(short) >= _STEM and (long.startswith(short) or long.endswith(short)):
                return True
        return False


def _grams(word: str) -> set[str]:
    framed = f"^{word}$"
    return {framed[n : n + 3] for n in range(len(framed) - 2)}


def _joins(tokens: Sequence[str], wanted: Collection[str]) -> set[str]:
    """Return the wanted names that are made of neighbouring tokens, or of their parts: e-17, e 17 and E17 are e17."""
    if not wanted:
        return set()
    parts = [part for token in tokens for part in _PARTS.findall(token)]
    joins = set()
    for start in range(len(parts)):
        name = ""
        for part in parts[start : start + 4]:
            name += part
            if len(name) > _LONGEST:
                break
            if name in wanted:
                joins.add(name)
    return joins


def _bridged(query_terms: Sequence[str], held: Collection[str]) -> bool:
    """Whether all terms are held; without spaces, a term may span two words whose characters are held both."""
    characters = {character for term in held if is_spaceless(term) for character in term}
    missing = [term for term in query_terms if term not in held]
    return bool(held) and all(is_spaceless(term) and set(term) <= characters for term in missing)


def _where(count: int) -> str:
    if count >= _CLOSE:
        return "a passage has all its words"
    return "a sentence with its title has all its words" if count > 1 else "a passage has its word"


def _spelt(query: _Query, terms_: Iterable[str]) -> list[str]:
    written = {stem: word for word, stem in query.spellings.items()}
    return [written.get(term, term) for term in terms_]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"«{name}»" for name in names)
