"""What is known of English clauses without a parser: subjects, verbs, and where a phrase may end."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from goldbench.pipeline.text import table
from goldbench.pipeline.text.words import content_terms, stop_words

ENGLISH = "en"


def _listed(name: str) -> list[str]:
    """Return the words of a list in ``english.toml``."""
    return str(table("english")[name]).split()


BE = frozenset({"is", "are", "was", "were"})
HAVE = frozenset({"has", "have", "had"})
AUXILIARIES = (
    "is", "are", "was", "were", "can", "could", "must", "should", "shall", "will", "would", "may", "might",
    "has", "have", "had",
)  # fmt: skip
NUMBER = (
    r"(?:(?:about|approximately|around|roughly|at least|at most|up to|only|nearly|almost|more than|less than|over) )?"
    r"(?:\d[\d.,]*(?: million| billion| thousand| hundred)?|two|three|four|five|six|seven|eight|nine|ten|eleven"
    r"|twelve|fifteen|twenty|thirty|forty|fifty|sixty|ninety|a hundred|a thousand)"
)
TIME_UNIT = r"(?:seconds?|minutes?|hours?|days?|nights?|weeks?|months?|years?|seasons?|decades?|centuries|century)"
_MONTH = r"(?:January|February|March|April|May|June|July|August|September|October|November|December)"
TIME = (
    r"(?:in|by|since|until|around|from|before|after|during|between|on)\s(?:about |around |the |early |late |mid-){0,4}"
    rf"(?:{_MONTH}\b(?: \d{{1,2}}\b)?(?:,? \d{{4}}\b)?|\d{{1,2}} {_MONTH}\b(?: \d{{4}}\b)?|1\d{{3}}s?\b|20\d\ds?\b"
    r"|\d{1,2}(?:st|nd|rd|th) century\b|(?:spring|summer|autumn|winter)\b)(?: (?:and|to|until) (?:1\d{3}|20\d\d)\b)?"
)
_DETERMINERS = frozenset(_listed("determiners"))
_NO_START = frozenset(_listed("no_subject"))
NO_ORDER = _NO_START | frozenset(_listed("no_order"))
_INSIDE = frozenset(_listed("not_in_subject"))
PRONOUNS = frozenset(_listed("pronouns"))
GENERIC, _DEGREE = frozenset(_listed("generic")), frozenset(_listed("degree"))
_TITLES, _BODIES, GOING = frozenset(_listed("titles")), frozenset(_listed("bodies")), frozenset(_listed("going"))
TRANSITIVE, LIGHT = frozenset(_listed("transitive")), frozenset(_listed("light"))
_PEOPLE = frozenset(_listed("people"))


@dataclass(frozen=True, slots=True)
class Clause:
    """A statement's main clause: ``subject verb rest``.

    ``inside`` is the subject as it stands inside a sentence. ``base`` is the base form of a full verb, empty for an
    auxiliary; ``helper`` is the word that moves before the subject in a question. ``person`` says whether the subject
    is a person, None where it may be one.
    """

    subject: str
    inside: str
    verb: str
    rest: str
    helper: str
    base: str = ""
    person: bool | None = False

    def inverted(self, rest: str) -> str:
        """Return the clause in the order of a question, with this rest."""
        return " ".join(part for part in (self.helper, self.inside, self.base, rest) if part)


@cache
def verb_forms() -> dict[str, tuple[str, str]]:
    """Return the base form and the helper (``does`` or ``did``) of every inflected form of the known verbs."""
    forms: dict[str, tuple[str, str]] = {}
    for base in _listed("regular"):
        forms[_third_person(base)] = base, "does"
        forms[_past(base)] = base, "did"
    for entry in str(table("english")["irregular"]).split(";"):
        base, past, _ = entry.split()
        forms[_third_person(base)] = base, "does"
        if past != base:
            forms[past] = base, "did"
    return forms


@cache
def base_verbs() -> frozenset[str]:
    """Return the base forms of the known verbs."""
    irregular = (entry.split()[0] for entry in str(table("english")["irregular"]).split(";"))
    return frozenset(_listed("regular")) | frozenset(irregular)


@cache
def participles() -> frozenset[str]:
    """Return the irregular past participles."""
    return frozenset(entry.split()[2] for entry in str(table("english")["irregular"]).split(";"))


def _third_person(base: str) -> str:
    if base.endswith(("s", "sh", "ch", "x", "z", "o")):
        return f"{base}es"
    if base.endswith("y") and base[-2] not in "aeiou":
        return f"{base[:-1]}ies"
    return f"{base}s"


def _past(base: str) -> str:
    if base.endswith("e"):
        return f"{base}d"
    if base.endswith("y") and base[-2] not in "aeiou":
        return f"{base[:-1]}ied"
    short = len(base) <= 4 and re.search(r"(?:^|[^aeiou])[aeiou][bdgklmnprt]$", base)
    doubled = base in {"transfer", "refer", "occur", "prefer", "submit", "permit", "admit", "control", "commit"}
    return f"{base}{base[-1]}ed" if short or doubled else f"{base}ed"


def is_participle(word: str) -> bool:
    """Return whether a word has the shape of a past participle."""
    return word in participles() or word == "been" or (word.endswith("ed") and len(word) > 4)


def is_subject(text: str) -> bool:
    """Return whether a text can be the whole subject of a clause, and names what it is about."""
    words = [word.lower() for word in re.findall(r"[\w'’-]+", text)]
    if not 0 < len(words) <= 8 or words[0] in _NO_START or _INSIDE & set(words):
        return False
    if re.search(r"[,;:()\"“”—–/]", text) or not closes_well(text):
        return False
    return bool(content_terms(text, ENGLISH))


def readings(text: str, context: str) -> tuple[str, ...]:
    """Return the beginning of a sentence as it stands inside one; two forms if its first word may be a name.

    Args:
        text: The first words of a sentence.
        context: The text around it; shows how else the first word is written.
    """
    first = re.sub(r"\W+$", "", text.split(" ", 1)[0])
    lowered = text[0].lower() + text[1:]
    if first.lower() in _DETERMINERS | stop_words(ENGLISH):
        return (lowered,)
    stem = re.sub(r"['’]s$", "", first)
    following = text.split(" ")[1:2]
    if len(first) == 1 or re.search(r"[A-Z0-9]", first[1:]):
        return (text,)
    if re.search(rf"(?<=[a-z,;(] ){re.escape(stem.lower().rstrip('s'))}", context):
        return (lowered,)
    named = re.search(rf"(?<=[a-z,;(] ){re.escape(stem)}\b", context)
    if named or stem != first or (following and following[0][:1].isupper()):
        return (text,)
    common = re.search(r"(?:ing|tion|ness|ment|ity|ers|ies)s?$", first)
    return (lowered,) if common or first.lower() in base_verbs() | verb_forms().keys() else (text, lowered)


def whether_person(subject: str, context: str) -> bool | None:
    """Return whether a subject is a person, None where a name in it may be one.

    Args:
        subject: A subject as it stands inside a sentence.
        context: The text around it; in a text with «he» and «she», names are those of people.
    """
    words = frozenset(re.findall(r"[\w'’-]+", subject.lower()))
    head = re.split(r" (?:of|in|at|from|for|with) ", subject)[0].split()[-1].lower()
    if head in _PEOPLE or (words & _TITLES and subject[0].isupper()):
        return True
    if not re.search(r"\b[A-Z]", subject):
        return False
    names_only = all(word[0].isupper() or word == "and" for word in subject.split())
    people_about = re.search(r"\b(?:he|she|him|his|hers?)\b", context)
    return True if names_only and people_about and not words & _BODIES else None


_CLAUSE_END = re.compile(
    r"[;:]|[,]? (?:[(—–]|(?:and|or|but|while|whereas|although|though|yet|so) "
    r"(?:(?:the|a|an|it|they|he|she|you|we|this|that|not|also|then|thus|therefore|is|are|was|were|can|could|may|must|should|will|has"
    r"|have|had|does|do|did)\b|\w+(?:ed|es)\b)|which\b|who\b|whose\b|where\b|in which\b|of which\b)|, "
)
_PHRASE_END = re.compile(
    r" (?:because|so that|in order to|owing to|due to|when|while|if|until|unless|as well as|such as|including|rather"
    r"|instead|since|near|towards?|upon|among|below|above|behind|\w+ing (?:the|an?|its|their)|in|on|at|for|by|with|from"
    r"|during|after|before|between|under|through|within|over|into|via|using|per|across|along|against|around|as)\b"
)


def beginnings(rest: str) -> list[str]:
    """Return the parts of a clause's end that are whole phrases, the longest first: cut before a clause or a phrase."""
    end = _CLAUSE_END.search(rest)
    whole = rest[: end.start()] if end else rest
    found = [whole, *(whole[: mark.start()] for mark in reversed(list(_PHRASE_END.finditer(whole))))]
    parts = dict.fromkeys(_without_last_verb(piece.strip()) for piece in found)
    return [part for part in parts if part and closes_well(part) and (part == whole or " that " not in f"{part} ")]


def _without_last_verb(text: str) -> str:
    """Return a text without a second verb whose own object is cut off: «open the zone and look»."""
    found = re.search(r" (?:and|or) (\w+)$", text)
    return text[: found.start()] if found and found[1] in base_verbs() | verb_forms().keys() else text


def closes_well(text: str) -> bool:
    """Return whether a text can end a question: not with a function word or an adverb of degree."""
    words = re.findall(r"[\w'’-]+", text.lower())
    if not words:
        return False
    last = words[-1]
    return last not in stop_words(ENGLISH) and not is_adverb(last)


def is_adverb(word: str) -> bool:
    """Return whether a word is an adverb by its shape or waits for another word as adverbs of degree do."""
    return word.endswith("ly") or word in _DEGREE
