"""The clauses of an English statement, told apart without a parser: a subject, a known verb, and the rest."""

from __future__ import annotations

import re
from collections.abc import Iterator

from goldbench.pipeline.stages.ask.english import (
    AUXILIARIES,
    HAVE,
    NO_ORDER,
    Clause,
    base_verbs,
    inside_sentence,
    is_participle,
    is_subject,
    verb_forms,
)

READER = "I"
"""The subject of an instruction, as the reader asks about it."""

APPOSITION = re.compile(r"([^,;:]{3,60}), (?:an?|the|one of) [^,;:]{8,90}, (?=\w+(?:s|ed)\b|can\b|must\b|will\b)")


def _parts(main: str) -> list[str]:
    """Return the clauses of a sentence that can stand alone, without appositions after the first subject."""
    plain = APPOSITION.sub(r"\1 ", main)
    parts = re.split(r"; |, (?:and|but) (?=(?:the|an?|each|every) )", plain)
    return [part[0].upper() + part[1:] for part in parts if len(part.split()) >= 4]


_LEAD = re.compile(
    r"((?:If|When|Whenever|Once|After|Before|As soon as|While|Unless|To|In order to|In|On|At|By|During|Between|Until"
    r"|From|With|Since|For|Under|Because|Although) [^,;:]{3,90}), (.+)"
)


def leading(sentence: str) -> tuple[str, str]:
    """Return a leading clause or phrase, empty if there is none, and the clause after it as a sentence."""
    found = _LEAD.fullmatch(sentence)
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


def _auxiliary(text: str, context: str) -> Clause | None:
    found = re.match(rf"(.{{2,80}}?) ({'|'.join(AUXILIARIES)}) (?!that\b|not |no |never )(.+)", text)
    if not found or not is_subject(found[1]):
        return None
    rest = _BEFORE_PARTICIPLE.sub("", found[3], count=1) if _BEFORE_PARTICIPLE.match(found[3]) else found[3]
    inside = inside_sentence(found[1], context)
    if inside is None:
        return None
    if found[2] in HAVE and not is_participle(rest.split()[0]):
        helper = {"has": "does", "have": "do", "had": "did"}[found[2]]
        return Clause(found[1], inside, found[2], rest, helper, "have")
    return Clause(found[1], inside, found[2], rest, found[2])


def _full_verb(text: str, context: str) -> Clause | None:
    """Return the clause of the first word that is a known verb in a finite form."""
    parts, known = text.split(), verb_forms()
    for place in range(1, min(len(parts) - 1, 9)):
        word, before = parts[place], parts[place - 1]
        if not word.isalpha() or word in AUXILIARIES:
            return None
        plural = word in base_verbs() and re.search(r"[^s]s$", before) and not before[0].isupper()
        if word not in known and not plural:
            continue
        subject, rest = " ".join(parts[:place]), " ".join(parts[place + 1 :])
        inside = inside_sentence(subject, context) if is_subject(subject) else None
        if inside is None or rest.split()[0] in {"of", "is", "are", "was", "were"}:
            continue
        if re.fullmatch(r"\w+(?:ing|ed)", parts[place + 1]) and word.endswith("s"):
            continue  # a noun («recent studies comparing», «the increases changed»), the verb is to come
        base, helper = known.get(word, (word, "do"))
        return Clause(subject, inside, word, rest, helper, base)
    return None


def clauses(main: str, context: str) -> Iterator[Clause]:
    """Yield the clauses of a sentence that can be told apart, in their order.

    Args:
        main: The sentence after any leading clause.
        context: The text around it; shows which words are names.
    """
    for text in _parts(main):
        found = _imperative(text) or _auxiliary(text, context) or _full_verb(text, context)
        if found is not None:
            yield found
