"""The clauses of an English statement, told apart without a parser: a subject, a known verb, and the rest."""

from __future__ import annotations

import re
from collections.abc import Iterator

from goldbench.pipeline.stages.ask.english import (
    AUXILIARIES,
    BE,
    HAVE,
    NO_ORDER,
    TIME,
    Clause,
    base_verbs,
    closes_well,
    is_adverb,
    is_participle,
    is_subject,
    readings,
    verb_forms,
    whether_person,
)

READER = "I"
"""The subject of an instruction, as the reader asks about it."""

_APPOSITION = re.compile(r"([^,;:]{3,60}), (?:an?|the|one of) [^,;:]{8,90}, (?=(\w+))")


def apposition(main: str) -> re.Match[str] | None:
    """Return the subject and the apposition that a sentence begins with, if a verb follows them."""
    found = _APPOSITION.match(main)
    return found if found and (found[2] in verb_forms() or found[2] in AUXILIARIES) else None


def _parts(main: str) -> list[str]:
    """Return the clauses of a sentence that can stand alone, without appositions after the first subject."""
    found = apposition(main)
    plain = f"{found[1]} {main[found.end() :]}" if found else main
    parts = re.split(r"; |, (?:and|but) (?=(?:the|an?|each|every) )", plain)
    return [part[0].upper() + part[1:] for part in parts if len(part.split()) >= 4]


_LEAD = re.compile(
    r"((?:If|When|Whenever|Once|After|Before|As soon as|While|Unless|To|In order to|In|On|At|By|During|Between|Until"
    r"|From|With|Since|For|Under|Because|Although|Despite|Among|Within|Over|Throughout|Through|As of|Like|Unlike|Behind"
    r"|Outside|Inside|Near|Across|According to) [^,;:]{3,90}), (.+)"
)


_TIME_LEAD = re.compile(rf"((?i:{TIME})) ((?:[A-Z]|the |an? ).+)")


def leading(sentence: str) -> tuple[str, str]:
    """Return a leading clause or phrase, empty if there is none, and the clause after it as a sentence."""
    found = _TIME_LEAD.fullmatch(sentence) or _LEAD.fullmatch(sentence)
    if not found:
        return "", sentence
    return found[1], found[2][0].upper() + found[2][1:]


def _imperative(text: str) -> Clause | None:
    """Return an instruction («Drain the pump …», «You can drain …») as a clause with the reader as its subject."""
    found = re.match(r"You (can|must|should|may|need to) (\w+ .+)", text)
    if found and found[1] != "need to" and found[2].split()[0] in base_verbs():
        return Clause("You", READER, found[1], in_first_person(found[2]), found[1].replace("may", "can"))
    if is_order(text) and len(text.split()) >= 4:
        return Clause("You", READER, "should", in_first_person(text[0].lower() + text[1:]), "should")
    return None


_ORDER = re.compile(
    r"([A-Z][a-z]+) (?:the|an?|your|each|all|both|any|every|some|no more|off|out|up|down|it|them|\d+|at least|only)\b"
)


def is_order(text: str) -> bool:
    """Return whether a clause begins with the base form of a verb, as an instruction does."""
    first, _, rest = text.partition(" ")
    word, second = first.lower(), rest.split(" ")[0].lower()
    if word in NO_ORDER or second in AUXILIARIES or second in {"of", "and"}:
        return False
    if word in base_verbs() and word not in verb_forms():
        return second not in verb_forms() or second in base_verbs()
    return bool(_ORDER.match(text)) and not word.endswith(("ed", "ing", "s", "ly"))


def in_first_person(text: str) -> str:
    """Return words to the reader as the reader would put them."""
    for said, asked in (("your", "my"), ("you are", "I am"), ("you", "I")):
        text = re.sub(rf"\b{said}\b", asked, text)
    return text


_BEFORE_PARTICIPLE = re.compile(
    r"(?:also|often|usually|generally|typically|sometimes|always|then|thus|therefore|now|still|currently|originally"
    r"|mainly|mostly|primarily|already|later|first|again|eventually|commonly|normally|both|only|just|widely|probably) "
)


def _auxiliary(text: str, context: str) -> list[Clause]:
    """Return the clause of the first auxiliary, in every reading of its subject."""
    found = re.match(rf"(.{{2,80}}?) ({'|'.join(AUXILIARIES)}) (?!that\b|not |no |never )(.+)", text)
    if not found or not is_subject(found[1]):
        return []
    verb, rest = found[2], _BEFORE_PARTICIPLE.sub("", found[3], count=1)
    full = verb in HAVE and not is_participle(rest.split()[0])
    helper, base = ({"has": "does", "have": "do", "had": "did"}[verb], "have") if full else (verb, "")
    return _in_readings(found[1], context, verb=verb, rest=rest, helper=helper, base=base)


def _in_readings(subject: str, context: str, **parts: str) -> list[Clause]:
    """Return a clause in every reading of its subject, or in that of a person's name alone if it is one."""
    made = [
        Clause(subject, inside, person=whether_person(inside, context), **parts)
        for inside in readings(subject, context)
    ]
    return [clause for clause in made if clause.person] or made


_AFTER_PARTICIPLE = frozenset({"by", "on", "to", "with", "for", "in", "at", "from"})


def _holds_finite_verb(words: list[str]) -> bool:
    return any(word in AUXILIARIES or word in verb_forms() for word in words)


def _full_verb(text: str, context: str) -> list[Clause]:
    """Return the clause of the first word that is a known verb in a finite form, in every reading of its subject."""
    parts, known = text.split(), verb_forms()
    for place in range(1, min(len(parts) - 1, 10)):
        word, after = parts[place], parts[place + 1]
        if not word.isalpha() or word in AUXILIARIES:
            return []
        subject = " ".join(parts[:place])
        while subject and not closes_well(subject) and " " in subject:
            subject = subject.rpartition(" ")[0] if is_adverb(subject.rpartition(" ")[2]) else ""
        if not subject or not is_subject(subject) or after in {"of", *BE}:
            continue
        if word.endswith("s") and re.fullmatch(r"\w+(?:ing|ed)", after):
            continue  # a noun («recent studies comparing», «the increases changed»), the verb is to come
        if is_participle(word) and after in _AFTER_PARTICIPLE and _holds_finite_verb(parts[place + 2 : place + 9]):
            continue  # it belongs to the subject («the system created by the emperor reflected …»)
        head = re.split(r" (?:of|in|for|at|on|from|with) ", subject)[0].rpartition(" ")[2]
        plural = word in base_verbs() and re.search(r"[^s]s$", head) and not head[0].isupper()
        if word in known or plural:
            base, helper = known.get(word, (word, "do"))
            rest = " ".join(parts[place + 1 :])
            return _in_readings(subject, context, verb=word, rest=rest, helper=helper, base=base)
    return []


def clauses(main: str, context: str) -> Iterator[Clause]:
    """Yield the clauses of a sentence that can be told apart, in their order, each in every reading.

    Args:
        main: The sentence after any leading clause.
        context: The text around it; shows which words are names.
    """
    for text in _parts(main):
        order = _imperative(text)
        yield from [order] if order else _auxiliary(text, context) or _full_verb(text, context)
