"""The questions that an English sentence answers, formed from its own clause, for a model that can only choose.

A question is formed where the clause can be told apart without a parser: one subject, one known verb, an end that is a
whole phrase. What the sentence says and the question leaves out is the answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from goldbench.text import table
from goldbench.text.words import content_terms, stop_words

ENGLISH = "en"
FEWEST_TERMS = 2
MOST_TERMS = 5
"""Content terms of a question: with fewer it is vague, with more it repeats the sentence."""
MOST_WORDS = 14
FEWEST_SAID = 6
MOST_SAID = 40
"""Words of a sentence that is asked about: shorter ones say little, longer ones say several things."""

_BE = ("is", "are", "was", "were")
_HAVE = {"has": "does", "have": "do", "had": "did"}
_AUXILIARIES = (*_BE, *_HAVE, "can", "could", "must", "should", "will", "would", "may", "might")
_NUMBER = r"(?:(?:about|up to|at least|at most|more than|less than) )?(?:\d[\d.,]*|two|three|four|five|six|ten|twelve)"
_UNIT = r"(?:second|minute|hour|day|night|week|month|year|season|decade)s?"
_MONTH = r"(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_TIME = (
    r"(?:in|by|since|until|around|from|before|after|during|on) (?:about |around |the |early |late |mid-){0,4}"
    rf"(?:{_MONTH}\b(?: \d{{1,2}}\b)?(?:,? \d{{4}}\b)?|\d{{1,2}} {_MONTH}\b(?: \d{{4}}\b)?|1\d{{3}}s?\b|20\d\ds?\b)"
)
_LEAD = re.compile(
    r"((?:If|When|Once|After|Before|While|In|On|At|By|During|Since|For|Because|Although|With|Under|To|In order to)"
    r" [^,;:]{3,90}), (.+)"
)
_ADJUNCTS = (
    ("When", re.compile(rf" {_TIME}(?=$|[,;]| )")),
    ("When", re.compile(r" (?:when|after|before|until|as soon as|during|(?<! even )if) .+")),
    ("Why", re.compile(r",? (?:because|so that|due to|owing to|in order to) .+")),
    ("Why", re.compile(r" to (?:avoid|prevent|protect|ensure|reduce|allow|save|stop) .+")),
    ("How long", re.compile(rf" (?:for|within) {_NUMBER} {_UNIT}\b")),
    ("How often", re.compile(rf" (?:every (?:[\w.]+ )?{_UNIT}\b|(?:once|twice) (?:a|per|every) .+)")),
    ("Where", re.compile(r" (?:in|at|near|inside) (?:the )?[A-Z][\w'’-]+(?: [A-Z][\w'’-]+)*(?=$|[,;])")),
    ("How", re.compile(r" (?:by \w+ing|using|by means of|with the help of) .+")),
)
_NEXT_CLAUSE = re.compile(
    r"[;:]|,(?! (?:because|so that|due to|owing to)\b)| (?:who|which|that|where|whose|whether|how|what)\b"
    r"| (?:and|but|or) (?:do|does|did|not|the|it|they|you|he|she|is|are|was|were|has|have|had|can|may|will|\w+ed)\b"
)
"""Where a clause ends whose phrases may be asked for; what follows belongs to another verb."""
_PHRASE_START = re.compile(
    r" (?:because|so that|in order to|due to|when|while|if|until|such as|including|since|near|\w+ing (?:the|an?|its)|in"
    r"|on|at|for|by|with|from|during|after|before|between|under|through|within|over|into|using|per|across|along|as)\b"
)
_UNFIT = re.compile(
    r"\b(?:this|these|those|above|below|following|former|latter|here|I|[Ww]e|[Oo]ur|us|my)\b|https?:|[|{}<>=~@]|\w_\w"
    r"|\b(?:[Ff]igure|[Tt]able|[Ss]ection|[Cc]hapter) \d|\bsuch (?!as\b)"
)
"""What stands in no sentence that is understood alone."""
_READER = "I"
"""The subject of an instruction, as its reader asks about it."""
_DEFINING = re.compile(r"(?:an?|the|one of) (?!great|good|more|most)")


@cache
def _words(name: str) -> frozenset[str]:
    """Return a list of ``english.toml`` as a set."""
    return frozenset(str(table("english")[name]).split())


@cache
def _verbs() -> dict[str, tuple[str, str]]:
    """Return the base form and the helper (``does`` or ``did``) of every inflected form of the known verbs."""
    forms: dict[str, tuple[str, str]] = {}
    for base in _words("regular"):
        forms[_third_person(base)] = base, "does"
        forms[_past(base)] = base, "did"
    for entry in str(table("english")["irregular"]).split(";"):
        base, past, _ = entry.split()
        forms[_third_person(base)] = base, "does"
        if past != base:
            forms[past] = base, "did"
    return forms


@cache
def _base_verbs() -> frozenset[str]:
    return frozenset(base for base, _ in _verbs().values())


@cache
def _participles() -> frozenset[str]:
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


def _is_participle(word: str) -> bool:
    return word in _participles() or word == "been" or (word.endswith("ed") and len(word) > 4)


def _ends_well(text: str) -> bool:
    """Return whether a text can end a phrase: not with a function word, an adverb or a word of degree."""
    last = re.findall(r"[\w'’-]+", text.lower())[-1:]
    return bool(last) and not last[0].endswith("ly") and last[0] not in stop_words(ENGLISH) | _words("degree")


def is_statement(text: str) -> bool:
    """Return whether a sentence is complete, and can be understood without the sentences around it."""
    words = re.findall(r"[\w'’-]+", text)
    return (
        FEWEST_SAID <= len(words) <= MOST_SAID
        and re.match(r"[A-Z0-9].*[a-z0-9%)\"”][.!]$", text) is not None
        and words[0].lower() not in _words("no_statement")
        and not _UNFIT.search(text)
        and text.count('"') % 2 == 0
        and text.count("(") == text.count(")")
    )


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause ``subject verb rest``, with the subject as it stands inside a sentence.

    ``base`` is the base form of a full verb, empty for an auxiliary; ``helper`` is the word that moves before the
    subject in a question.
    """

    subject: str
    verb: str
    rest: str
    helper: str
    base: str = ""

    def inverted(self, rest: str = "") -> str:
        """Return the clause in the order of a question, with this rest."""
        return " ".join(part for part in (self.helper, self.subject, self.base, rest) if part)


def questions(sentence: str, context: str) -> list[str]:
    """Return the questions that a sentence answers, each once.

    Args:
        sentence: A sentence on one line, without markup.
        context: The text that it stands in; shows which words are names.
    """
    plain = re.sub(r" \([^()]*\)", "", sentence.rstrip('.!"” '))
    worded = (f"{text[0].upper()}{' '.join(text.split())[1:].rstrip(' ,;:')}?" for text in _wordings(plain, context))
    return [question for question in dict.fromkeys(worded) if _is_fit(question, plain)]


def _is_fit(question: str, sentence: str) -> bool:
    """Return whether a question is neither vague nor a copy, points at nothing, and leaves something to answer."""
    words = re.findall(r"[\w'’-]+", question.lower())
    question_terms = set(content_terms(question, ENGLISH))
    named = re.fullmatch(r"(?:What|Who) is (?:the )?[A-Z][\w.-]*\?", question)
    vague = len(question_terms) < 3 and " the " in question and not re.search(r"[a-z,] (?:[A-Z]|\w*\d)", question)
    return (
        len(words) <= MOST_WORDS
        and (FEWEST_TERMS <= len(question_terms) <= MOST_TERMS or (len(question_terms) == 1 and named is not None))
        and not (vague or _words("pronouns") & set(words) or question.count('"') % 2)
        and bool(set(content_terms(sentence, ENGLISH)) - question_terms)
    )


def _wordings(sentence: str, context: str) -> Iterator[str]:
    """Yield the questions that a sentence answers, without their marks."""
    match = _LEAD.fullmatch(sentence)
    lead, main = (match[1], match[2][0].upper() + match[2][1:]) if match else ("", sentence)
    aim = re.match(r"(?:To|In order to) ((\w+) .+)", lead)
    clause = _order(main) or _with_auxiliary(main, context) or _with_full_verb(main, context)
    if clause is None:
        return
    if clause.subject == _READER and aim and aim[2] in _base_verbs():
        yield f"How do I {_as_reader(aim[1])}"
    if lead and re.fullmatch(_TIME, lead[0].lower() + lead[1:]):
        yield from (f"When {clause.inverted(part)}" for part in _beginnings(clause.rest))
    if re.match(r"(?:If|When|Once) (?:the|an?|you) ", lead) and clause.helper not in {"was", "were", "did", "had"}:
        asked = "What should I do" if clause.subject == _READER else "What happens"
        yield f"{asked} {_as_reader(lead[0].lower() + lead[1:])}"
    yield from _adjuncts(clause)
    if clause.verb == "is" and _DEFINING.match(clause.rest) and len(clause.subject.split()) <= MOST_TERMS:
        yield f"{'Who' if _is_person(clause.subject, context) else 'What'} {clause.inverted()}"
    counted = re.match(rf"{_NUMBER} ((?:[a-z-]+ )?[a-z]+s)\b", clause.rest)
    if counted and clause.base and not re.search(_UNIT, counted[1]):
        yield f"How many {counted[1]} {clause.inverted()}"
    used = re.match(r"(?:be )?used (?:to|for)\b", clause.rest)
    if used:
        yield f"What {clause.inverted(used[0].replace(' to', ' for'))}"


def _adjuncts(clause: Clause) -> Iterator[str]:
    """Ask for the time, reason, duration, frequency, place or manner that a phrase of the clause gives."""
    rest = f" {_NEXT_CLAUSE.split(clause.rest, maxsplit=1)[0]}"
    for question_word, pattern in _ADJUNCTS:
        for phrase in pattern.finditer(rest):
            before = rest[: phrase.start()].strip()
            yield from (f"{question_word} {clause.inverted(part)}" for part in _beginnings(before)[:1])
            if not before and clause.base:
                yield f"{question_word} {clause.inverted()}"


def _beginnings(rest: str) -> list[str]:
    """Return the parts of a clause's end that are whole phrases, the longest first."""
    if rest.startswith("that "):
        return []
    whole = _NEXT_CLAUSE.split(rest, maxsplit=1)[0].split(",")[0]
    parts = [whole, *(whole[: mark.start()] for mark in reversed(list(_PHRASE_START.finditer(whole))))]
    return [part for part in dict.fromkeys(piece.strip() for piece in parts) if part and _ends_well(part)]


def _order(text: str) -> Clause | None:
    """Return an instruction («Drain the pump …») as a clause about its reader."""
    first, _, rest = text.partition(" ")
    following = rest.split()[:5]
    if first.lower() not in _base_verbs() or following[:1] == ["of"] or set(following) & {*_AUXILIARIES, *_verbs()}:
        return None
    return Clause(_READER, "should", _as_reader(f"{first.lower()} {rest}"), "should")


def _as_reader(text: str) -> str:
    """Return words to the reader as the reader would put them."""
    for addressed, spoken in (("your", "my"), ("you are", "I am"), ("you", "I")):
        text = re.sub(rf"\b{addressed}\b", spoken, text)
    return text


def _with_auxiliary(text: str, context: str) -> Clause | None:
    """Return the clause of the first auxiliary."""
    match = re.match(
        rf"(.{{2,80}}?) ({'|'.join(_AUXILIARIES)}) (?:also |often |usually )?(?!that\b|not |no |never )(.+)", text
    )
    if not match or not _is_subject(match[1]):
        return None
    verb = match[2]
    subject = _inside(match[1], context)
    if verb in _HAVE and not _is_participle(match[3].split()[0]):
        return Clause(subject, verb, match[3], _HAVE[verb], "have")
    return Clause(subject, verb, match[3], verb)


def _with_full_verb(text: str, context: str) -> Clause | None:
    """Return the clause of the first word that is a known verb in a finite form."""
    parts = text.split()
    for number in range(1, min(len(parts) - 1, 10)):
        subject = " ".join(parts[:number])
        word = parts[number]
        after = parts[number + 1]
        if not word.isalpha() or word in _AUXILIARIES:
            return None
        noun = word.endswith("s") and re.fullmatch(r"\w+(?:ing|ed)", after)
        bound = _is_participle(word) and after in {"by", "on", "to", "with", "for", "in", "at", "from"}
        if word in _verbs() and _is_subject(subject) and not noun and not bound and after != "of":
            base, helper = _verbs()[word]
            return Clause(_inside(subject, context), word, " ".join(parts[number + 1 :]), helper, base)
    return None


def _is_subject(text: str) -> bool:
    """Return whether a text can be the whole subject of a clause, and names what it is about."""
    words = [word.lower() for word in re.findall(r"[\w'’-]+", text)]
    if not 0 < len(words) <= 8 or words[0] in _words("no_subject") or _words("not_in_subject") & set(words):
        return False
    known = [word for word in words[1:] if word in _verbs() and not word.endswith("s")]
    return not known and not re.search(r"[,;:()\"“”—–/]", text) and _ends_well(text) and bool(content_terms(text, "en"))


def _inside(text: str, context: str) -> str:
    """Return the beginning of a sentence as it stands inside one, with a capital if its first word is a name."""
    first = re.sub(r"(?:['’]s)?\W*$", "", text.split(" ", 1)[0])
    if first.lower() in _words("determiners") | stop_words(ENGLISH):
        return text[0].lower() + text[1:]
    is_name = len(first) == 1 or re.search(r"[A-Z0-9]", first[1:]) or re.match(r"\S+ [A-Z]", text)
    seen_as_name = re.search(rf"(?<=[a-z,;(] ){re.escape(first)}\b", context)
    return text if is_name or seen_as_name else text[0].lower() + text[1:]


def _is_person(subject: str, context: str) -> bool:
    """Return whether a subject is a person: by its words, or by its names in a text with «he» or «she»."""
    words = subject.split()
    if words[-1].lower() in _words("people") or words[0].lower() in _words("titles"):
        return True
    return all(word[0].isupper() for word in words) and re.search(r"\b(?:he|she|his|her)\b", context) is not None
