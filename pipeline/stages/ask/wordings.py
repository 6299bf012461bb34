"""The ways in which a statement is turned into questions; each yields what is asked for, and the question's words."""

from __future__ import annotations

import re
from collections.abc import Iterator

from goldbench.pipeline.stages.ask.clauses import READER, apposition, clauses, in_first_person, is_order, leading
from goldbench.pipeline.stages.ask.english import (
    AUXILIARIES,
    BE,
    ENGLISH,
    GENERIC,
    GOING,
    LIGHT,
    NUMBER,
    PRONOUNS,
    TIME,
    TIME_UNIT,
    TRANSITIVE,
    Clause,
    base_verbs,
    beginnings,
    closes_well,
    is_participle,
    is_subject,
    readings,
    verb_forms,
    whether_person,
)
from goldbench.pipeline.text.words import content_terms

FEWEST_SAID = 3
"""Content terms that the rest of a clause needs if its subject is asked for; fewer would fit anything."""
FEWEST_DONE_TO = 2
"""Content terms of an object that is asked for."""

LONGEST_DEFINED = 5
"""Words of a subject that is asked for by its name."""

Wordings = Iterator[tuple[str, str]]


def wordings(sentence: str, context: str) -> Wordings:
    """Yield the questions that a sentence answers, without their marks.

    Args:
        sentence: One sentence, without markup and without its final mark.
        context: The text that the sentence stands in.
    """
    lead, main = leading(sentence)
    if lead:
        yield from _condition(lead, main)
        yield from _purpose(lead, main)
    for number, clause in enumerate(clauses(main, context)):
        if lead and not number and re.fullmatch(TIME, lead[0].lower() + lead[1:]):
            for part in beginnings(clause.rest):
                yield "adjunct", f"When {clause.inverted(part)}"
        yield from _adjuncts(clause)
        yield from _numbers(clause)
        yield from _occasion(clause)
        if clause.inside != READER:
            yield from _definitions(clause)
            yield from _objects(clause)
            yield from _subjects(clause)
    yield from _apposition(main, context)
    yield from _superlative(sentence)
    yield from _relative(sentence)


def _apposition(main: str, context: str) -> Wordings:
    named = apposition(main)
    for inside in readings(named[1], context) if named and is_subject(named[1]) else ():
        yield "definition", f"{'Who' if whether_person(inside, context) else 'What'} is {inside}"


_SUPERLATIVE = re.compile(
    r"(?<![\w'’.-])(?=[\w'’.-]*[A-Z])[\w'’.-]++"  # a name: a word with a capital, and what may follow it
    r"(?: (?:of|the|and|de|\d(?:(?![A-Z])[\w'’.-])*+))*+, (the (?:[\w-]+ )?"
    r"(?:first|only|last|main|largest|smallest|oldest|highest|longest|most \w+|\w{3,}est) [^,;:]{8,80})(?:,|$)"
)


def _superlative(sentence: str) -> Wordings:
    """Ask for the name that is called the first, the largest or the like."""
    for found in _SUPERLATIVE.finditer(sentence):
        verbs = {verb_forms().get(word, ("", word))[1] for word in sentence.lower().split()}
        past = verbs & {"did", "was", "were", "had"} and not verbs & {"does", "is", "are", "has", "can", "will"}
        for part in beginnings(found[1])[:2]:
            yield "subject", f"What {'was' if past else 'is'} {part}"
            yield "subject", f"Who {'was' if past else 'is'} {part}"


_RELATIVE = re.compile(
    r"(?<![\w'’-])((?:[Tt]he |[Aa]n? )?(?:[\w'’-]++ ){1,4}?[\w'’-]++),? (which|who) ((\w+) [^,;:]{8,90})"
)


_NOT_OF_A_NOUN = frozenset({"are", "were", "have", "means", "meant", "would", "could", "makes", "made"})
"""Verbs of a relative clause that is plural or often about the whole sentence: «…, which means that …»."""


def _relative(sentence: str) -> Wordings:
    """Ask for what a relative clause says something about."""
    for found in _RELATIVE.finditer(sentence):
        known = found[4] in verb_forms() or found[4] in AUXILIARIES
        named = re.search(r"(?:^| )(?:[Tt]he|[Aa]n?|[A-Z])", found[1]) and closes_well(found[1])
        if not known or not named or found[4] in _NOT_OF_A_NOUN:
            continue
        for part in beginnings(found[3].partition(" ")[2]):
            if len(set(content_terms(part, ENGLISH))) >= FEWEST_SAID:
                yield "subject", f"{'Who' if found[2] == 'who' else 'What'} {found[4]} {part}"


def _occasion(clause: Clause) -> Wordings:
    """Ask what happens, or is to be done, on the occasion that ends the clause."""
    found = re.search(
        r"(?<! even) (?:if|when|whenever|once|before|after|as soon as) (?:the|an?|you|your|no|there|water|\w+s) .+",
        f" {_of_this_verb(clause.rest)}",
    )
    if not found or not _holds_verb(found[0]):
        return
    ordered = clause.inside == READER
    past = clause.verb in {"was", "were", "had", "could", "would"} or clause.helper == "did"
    asked = "What should I do" if ordered and clause.helper != "can" else "What happens"
    if ordered or not past:
        for part in beginnings(in_first_person(found[0].strip())):
            yield "condition", f"{asked} {part}"


def _holds_verb(text: str) -> bool:
    return bool(set(text.lower().split()) & (verb_forms().keys() | set(AUXILIARIES) | base_verbs()))


def _condition(lead: str, clause: str) -> Wordings:
    """Ask what happens, or is to be done, on the occasion that the sentence begins with."""
    found = re.match(r"(If|When|Whenever|Once|After|Before|As soon as) (.+)", lead)
    if not found or PRONOUNS & set(found[2].lower().split()) or len(found[2].split()) < 3:
        return
    if is_participle(found[2].split()[0]):
        return  # «when set to true»: the subject is in another sentence
    after = f"{lead[0].lower()}{lead[1:]}"
    addressed = re.search(r"\byou\b", found[2].lower())
    if is_order(clause) or re.match(r"[Yy]ou (?:should|must|need)", clause):
        yield "condition", f"What should I do {in_first_person(after)}"
    elif addressed or not _holds_verb(found[2]):
        return
    elif re.search(r"\b(?:was|were|had|did)\b", f"{lead} {clause}"):
        yield "condition", f"What happened {after}"
    elif not re.search(r"ed\b", lead) or re.search(r"\b(?:is|are|has|have)\b", lead):
        yield "condition", f"What happens {after}"


def _purpose(lead: str, clause: str) -> Wordings:
    """Ask how the purpose is reached that an instruction begins with."""
    found = re.match(r"(?:To|In order to) (\w+) (.+)", lead)
    if found and found[1] in base_verbs() and (is_order(clause) or clause.lower().startswith("you ")):
        yield "adjunct", f"How do I {in_first_person(f'{found[1]} {found[2]}')}"


_PLACE_END = r"(?=$|[,;]| (?:in|on|at|by|for|with|from|during|after|before|until|between|and then|when)\b)"
_ADJUNCTS = (
    ("When", re.compile(rf" {TIME}(?=$|[,;]| )")),
    (
        "When",
        re.compile(r" (?:when|after|before|until|as soon as|once(?! (?:a|per|every|each)\b)|during|(?<! even )if) .+"),
    ),
    ("Why", re.compile(r",? (?:because|so that|due to|owing to|as a result of|in order to) .+")),
    ("Why", re.compile(r" to (?:avoid|prevent|protect|ensure|make sure|reduce|allow|save|stop) .+")),
    ("How long", re.compile(rf" (?:for|within) {NUMBER} {TIME_UNIT}")),
    (
        "How often",
        re.compile(r" (?:every (?:\w+ )?" + TIME_UNIT + r"|once (?:a|per|every|each) .+|twice (?:a|per) .+)"),
    ),
    ("Where", re.compile(r" (?:in|at|near|on|inside) (?:the )?[A-Z][\w'’-]+(?: [A-Z][\w'’-]+)*" + _PLACE_END)),
    (
        "Where",
        re.compile(
            r" (?:in|at|near|on|under|behind|beside|inside|below|next to) (?:the|a) (?!end|beginning|start|time"
            r"|same|moment|morning|evening|night|season|future|past|meantime|case|event|course|way)[a-z][a-z -]{2,40}$"
        ),
    ),
    ("How", re.compile(r" (?:by \w+ing|using|by means of|with the help of) .+")),
)


_NEXT_CLAUSE = re.compile(
    r"[;:]|,(?! (?:because|so that|due to|owing to)\b)| (?:who|which|that|where|whose|whether|how|what)\b"
    r"| (?:and|but) (?:do|does|did|not|the|it|they|you|he|she|is|are|was|were|has|have|had|can|may|must|will)\b"
)
"""Where a clause ends whose phrases may be asked for; what follows belongs to another verb."""


def _of_this_verb(rest: str) -> str:
    """Return the part of a clause's end that belongs to its verb, not to a second one."""
    part = _NEXT_CLAUSE.split(rest, maxsplit=1)[0]
    for second in re.finditer(r" (?:and|but|or) (\w+)", part):
        if second[1] in verb_forms():
            return part[: second.start()]
    return part


_SAME_KIND = {"Where": r" (?:in|into|at|on) ", "How often": r" (?:every|once|twice) ", "How long": r" for "}
"""Phrases of the kind that is asked for; a question that keeps one asks for what it says itself."""


def _adjuncts(clause: Clause) -> Wordings:
    """Ask for the time, reason, duration, frequency, place or manner that a phrase of the clause gives."""
    rest = f" {_of_this_verb(clause.rest)}"
    for asked, pattern in _ADJUNCTS:
        for phrase in pattern.finditer(rest):
            before, after = rest[: phrase.start()].strip(), rest[phrase.end() :].strip()
            if clause.base in GOING and re.match(r" (?:after|at|on) ", phrase[0]):
                continue
            if asked in _SAME_KIND and re.search(_SAME_KIND[asked], f" {before} "):
                continue
            kept = [f"{before} {after}"] if after and not after.startswith((",", ";")) else []
            for text in (*kept, before):
                for part in beginnings(text)[:1]:
                    yield "adjunct", f"{asked} {clause.inverted(part)}"
            if not before and clause.base:
                yield "adjunct", f"{asked} {clause.inverted('')}"


def _numbers(clause: Clause) -> Wordings:
    rest = clause.rest
    counted = re.match(rf"(of |for |in |to )?{NUMBER} ((?:[a-z-]+ )?[a-z]+s(?: (?:a|an|per) \w+)?)\b", rest)
    if counted and clause.base and not re.search(TIME_UNIT, counted[2]):
        yield "number", f"How many {counted[2]} {clause.inverted((counted[1] or '').strip())}"
    share = re.match(rf"{NUMBER} ?(?:%|percent|per cent) of ((?:the |all )?[\w-]+(?: [a-z-]+)?)", rest)
    if share and clause.base:
        yield "number", f"What percentage of {share[1]} {clause.inverted('')}"
    if clause.base in {"take", "last"} and re.match(rf"{NUMBER} {TIME_UNIT}", rest):
        yield "number", f"How long {clause.inverted('')}"
    if clause.base in {"cost", "weigh"} and re.match(rf"[€$£]?{NUMBER}", rest):
        yield "number", f"How much {clause.inverted('')}"
    holder = re.match(rf"an? ((?:[a-z-]+ )?[a-z-]+) of [€$£]?{NUMBER}", rest)
    if holder and clause.base == "have":
        yield "number", f"What is the {holder[1]} of {clause.inside}"
    if clause.verb in BE:
        extent = re.match(rf"{NUMBER}[ -]?[\w°²³%/]+ (long|high|wide|deep|tall|thick|old|away)\b", rest)
        if extent:
            yield "number", f"How {extent[1]} {clause.inverted('')}"
        elif re.match(rf"(?:between |from )?[€$£]?{NUMBER}", rest) and clause.inside.startswith("the "):
            yield "number", f"What {clause.inverted('')}"


_STRANDED = {
    "consist": "of", "depend": "on", "belong": "to", "refer": "to", "lead": "to", "result": "in", "contribute": "to",
    "stand": "for", "rely": "on", "differ": "from", "focus": "on", "lack": "", "mean": "",
}  # fmt: skip


_DEFINING = re.compile(r"(?:an?|the|one of) (?!great|good)")
_TIED = re.compile(
    r"(?:responsible for|based on|made of|made from|composed of|caused by|located in|named after|connected to)\b"
)
_DONE_BY = re.compile(r"((?:\w+ )?\w+(?:ed|en|wn|de|ld|lt|ht|t))\b[^,;:]*? by (?:the )?[A-Z]")


def _definitions(clause: Clause) -> Wordings:
    """Ask what something is called, or what it is."""
    named = re.match(r"(?:called|known as|named|termed|referred to as) (?!by|after|to)", clause.rest)
    if clause.verb in BE and named:
        yield "definition", f"What {clause.inverted(named[0].strip())}"
    elif clause.verb == "is" and _DEFINING.match(clause.rest) and len(clause.subject.split()) <= LONGEST_DEFINED:
        person = clause.person
        if person is not True:
            yield "definition", f"What {clause.inverted('')}"
        if person is not False:
            yield "definition", f"Who {clause.inverted('')}"


def _objects(clause: Clause) -> Wordings:
    """Ask who did something to the subject, what it is used for or tied to, or what it does something to."""
    rest = clause.rest
    if clause.verb in BE:
        agent, tied = _DONE_BY.match(rest), _TIED.match(rest)
        if agent and is_participle(agent[1].split()[-1]):
            yield "object", f"Who {clause.inverted(agent[1])} by"
        if tied:
            yield "object", f"What {clause.inverted(tied[0])}"
    used = re.match(r"(?:be )?used (?:to|for|as)\b(?! well)", rest)
    if used:
        yield "object", f"What {clause.inverted(used[0].replace(' to', ' for'))}"
    if clause.base in _STRANDED and rest.startswith(_STRANDED[clause.base]):
        yield "object", f"What {clause.inverted(_STRANDED[clause.base])}"
    elif clause.base in TRANSITIVE and _names_object(rest):
        wide = clause.base in LIGHT and len(set(content_terms(clause.subject, ENGLISH))) < FEWEST_DONE_TO
        if not wide:
            yield "object", f"What {clause.inverted('')}"
    yield from _objects_among_phrases(clause)


def _objects_among_phrases(clause: Clause) -> Wordings:
    """Ask for an object that a phrase follows, and keep the phrase: «What did Ribault erect near Jacksonville?»."""
    verb, _, rest = (clause.base, " ", clause.rest) if clause.base else clause.rest.partition(" ")
    if verb not in base_verbs() or (not clause.base and clause.verb not in _MODALS):
        return
    found = _OBJECT.match(_of_this_verb(rest))
    if not found or (found[2] == "to" and found[3].split()[0] in base_verbs()) or verb in _LINKING:
        return
    if re.search(r" (?:and|or) ", found[1]):
        return  # the phrase may belong to a second verb («repairs the goods or replaces them with …»)
    for phrase in beginnings(f"{found[2]} {found[3]}")[:1]:
        if len(phrase.split()) <= LONGEST_PHRASE:
            yield "object", f"What {clause.inverted(phrase if clause.base else f'{verb} {phrase}')}"


_MODALS = frozenset({"can", "could", "must", "should", "shall", "will", "would", "may", "might"})
_LINKING = frozenset({"become", "remain", "seem", "appear", "begin", "go", "come", "continue", "tend", "try", "lie"})
_OBJECT = re.compile(
    r"((?:an?|the|several|many|some|two|three|four|five|six|new|its|their|his|her) (?:[\w'’-]+ ){1,5}?)"
    r"(in|on|at|near|to|from|with|during|under|after|before|between|through|into|within|against|throughout) (.+)"
)
LONGEST_PHRASE = 7
"""Words of a phrase that a question for an object keeps."""


def _names_object(rest: str) -> bool:
    """Return whether the rest of a clause begins with an object that says something."""
    noun = re.match(r"(?:an?|the|(?!and\b|or\b)[a-z]+s|(?!and\b|or\b)[a-z-]+ [a-z]+s|that|only|both)\b", rest)
    return bool(noun) and len(set(content_terms(re.split(r"[,;:]", rest)[0], ENGLISH))) >= FEWEST_DONE_TO


def _subjects(clause: Clause) -> Wordings:
    """Ask for the subject, if the rest of the clause tells it apart."""
    if clause.verb == "have" or (clause.helper == "do" and clause.base):
        return
    if re.match(r"(?:for|in|at|on|by|from|with|as|of|to|up|so|very|quite|more|less|not|one of)\b", clause.rest):
        return
    head = re.split(r" (?:of|in|for|to|with) ", clause.subject.lower())[0].split()[-1]
    if head in GENERIC or re.match(r"(?:be )?(?:an? |[A-Z])", clause.rest if clause.verb in (*BE, *_MODALS) else ""):
        return  # whatever else is of this kind, or bears this name
    person = clause.person
    asked = [word for word, fits in (("Who", person is not False), ("What", person is not True)) if fits]
    parts = clause.subject.split()
    if clause.verb in {"are", "were"}:
        asked = []
        modified = len(parts) > 1 and parts[-2].lower() not in {"the", "all", "many", "most", "some", "several"}
        if modified and re.fullmatch(r"[a-z-]+s", parts[-1]) and " of " not in clause.subject:
            asked = [f"Which {parts[-1]}"]
    for part in beginnings(clause.rest):
        for word in asked:
            if len(part.split()) > 1 and len(set(content_terms(part, ENGLISH))) >= FEWEST_SAID:
                yield "subject", f"{word} {clause.verb} {part}"
