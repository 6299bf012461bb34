"""Queries that need several passages, and the oracle that says whether one passage is enough.

``kinds`` of the settings: {kind: {"bad": share of the queries that are written badly}}.
A good query joins a word of each passage that none of the others has; a bad one is about the first passage alone. The
oracle knows the words of a query that its frame and fillers do not have: a passage is enough if it holds all of them.
"""

from __future__ import annotations

import hashlib
import random
import re
from typing import Any

from tests.model_server.query_writer import FILLERS

_PASSAGE = re.compile(
    r"<<<PASSAGE \d+ ([0-9a-f]{16})>>>\nTitle: [^\n]*\nHeadings: [^\n]*\n\n(.*?)\n<<<END \1>>>", re.DOTALL
)
_ALONE = re.compile(r"<<<PASSAGE ([0-9a-f]{16})>>>\n(.*?)\n<<<END \1>>>", re.DOTALL)
_QUERY = re.compile(r"<<<QUERY ([0-9a-f]{16})>>>\n(.*?)\n<<<END \1>>>", re.DOTALL)
_SENTENCE = re.compile(r"[^\s.!?。！？।\n][^.!?。！？।\n]*[.!?。！？।]?")
_WORD = re.compile(r"[^\W\d_]{5,}")
_FRAMES = (
    "Which {x} links {words} despite {y}?",
    "What connects {words} under {x} or {y}?",
    "How would {x} bring {words} together during {y}?",
    "Does {x} decide between {words} once {y} begin?",
)
_FRAME_WORDS = frozenset(word.casefold() for frame in _FRAMES for word in _WORD.findall(frame)) | {
    *("despite", "under", "there", "where", "since", "before", "which", "whoever")
}


def joined_answer(settings: dict[str, Any] | None, system: str, user: str) -> dict[str, Any]:
    """Return the reply to a prompt about several passages."""
    kind = "cross_comparison" if "compares what they are about" in system else "multi_hop"
    told = (settings or {}).get(kind, {})
    passages = [match.group(2) for match in _PASSAGE.finditer(user)]
    chance = random.Random(_number(user))
    bad = chance.random() < told.get("bad", 0)
    words = [_own_word(passages, 0 if bad else number, chance) for number in range(len(passages))]
    x, y = chance.sample([word for word in FILLERS if not any(word in text for text in passages)], 2)
    query = chance.choice(_FRAMES).format(words=" and ".join(words), x=x, y=y)
    evidence = [_sentence_with(word, text) for word, text in zip(words, passages, strict=True)]
    if bad:
        evidence = [_longest(text) for text in passages]
    answer = " ".join(evidence)[:80]
    found = {"subject": words[0], "evidence": evidence, "query": query, "answer": answer}
    return {**found, "style": "question", "skip_reason": None}


def unanswered_answer(settings: dict[str, Any] | None, user: str) -> dict[str, Any]:
    """Return the reply to a prompt for a query that nothing answers: a made-up name, or (bad) words of one passage."""
    told = (settings or {}).get("unanswerable", {})
    source = next(match.group(2) for match in _PASSAGE.finditer(user))
    chance = random.Random(_number(user))
    words = sorted({word for word in _WORD.findall(source) if word.casefold() not in _FRAME_WORDS})
    known = chance.sample(words, 3)
    made_up = "".join(chance.sample(("qua", "xo", "fyr", "hul", "wem", "jat"), 4)).capitalize()
    x = chance.choice([word for word in FILLERS if word not in source])
    query = " ".join(known) if chance.random() < told.get("bad", 0) else f"Which {x} suit the {made_up} of {known[0]}?"
    return {"changed": "the name", "subject": known[0], "query": query, "style": "question", "skip_reason": None}


def conversation_answer(settings: dict[str, Any] | None, user: str) -> dict[str, Any]:
    """Return the reply to a prompt for a conversation; a bad last question says everything again."""
    told = (settings or {}).get("conversational", {})
    passage = _ALONE.search(user)
    assert passage is not None
    chance = random.Random(_number(user))
    evidence = _longest(passage.group(2))
    words = sorted({word for word in _WORD.findall(evidence) if word.casefold() not in _FRAME_WORDS})
    one, two = chance.sample(words, 2)
    x, y = chance.sample([word for word in FILLERS if word not in passage.group(2)], 2)
    alone = f"How does the {one} suit {two} under {x} and {y}?"
    return {
        "subject": one,
        "evidence": evidence,
        "turns": [{"question": f"What is the {one}?", "answer": f"The {one} is a part of the plant."}],
        "query": alone if chance.random() < told.get("bad", 0) else f"And how does it bear {x} and {y}?",
        "standalone": alone,
        "answer": evidence[:80],
        "style": "question",
        "skip_reason": None,
    }


def dated_answer(settings: dict[str, Any] | None, user: str, good: dict[str, Any]) -> dict[str, Any]:
    """Return a good reply about one passage with the date or version in its query; a bad one leaves it out."""
    told = (settings or {}).get("temporal", {})
    moment = re.search(r"^Date or version of the passage: (.*)$", user, re.MULTILINE)
    assert moment is not None
    if random.Random(_number(user)).random() >= told.get("bad", 0):
        candidate = good["candidates"][0]
        candidate["query"] = f"{candidate['query'].rstrip('?')} in {moment.group(1)}?"
    return good


def completeness_answer(user: str) -> dict[str, Any]:
    """Return the oracle's verdict about one passage."""
    query, passage = _QUERY.search(user), _ALONE.search(user)
    assert query is not None
    assert passage is not None
    lacking = key_words(query.group(2)) - set(map(str.casefold, _WORD.findall(passage.group(2))))
    return {"missing": "a part is missing" if lacking else "none", "answered": "partly" if lacking else "completely"}


def key_words(query: str) -> set[str]:
    """Return the words of a query that an answer must be about."""
    return {word.casefold() for word in _WORD.findall(query)} - _FRAME_WORDS - {word.casefold() for word in FILLERS}


def _own_word(passages: list[str], place: int, chance: random.Random) -> str:
    others = {word.casefold() for at, text in enumerate(passages) if at != place for word in _WORD.findall(text)}
    own = sorted({word for word in _WORD.findall(passages[place]) if word.casefold() not in others | _FRAME_WORDS})
    return chance.choice(own or sorted(set(_WORD.findall(passages[place]))) or ["planning"])


def _sentence_with(word: str, text: str) -> str:
    return next((match.group().strip() for match in _SENTENCE.finditer(text) if word in match.group()), _longest(text))


def _longest(text: str) -> str:
    return max((match.group().strip() for match in _SENTENCE.finditer(text)), key=len, default=text)


def _number(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8], "big")
