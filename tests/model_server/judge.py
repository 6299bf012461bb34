"""A judge for tests: it grades as human labels say, with the errors and vices it is told to have.

``judge`` of the settings: ``truth`` {query text: {passage text: grade}}, what is not there is 0 (without it, words in
common decide); ``up`` and ``down`` are the shares of pairs below 2 that get a 2, and of pairs from 2 on that get a 1,
drawn by query and passage; ``unquoted`` the share of grades from 2 on that come
with a sentence the passage has not, ``stubborn`` whether this stays so after a complaint; ``obeys`` whether a passage
that asks for a grade of 3 gets it, its own words quoted; ``flags`` whether it reports such passages; ``models`` {name:
other settings of that model}.
"""

from __future__ import annotations

import hashlib
import math
import re
from typing import Any

_QUERY = re.compile(r"<<<QUERY ([0-9a-f]{16})>>>\n(.*?)\n<<<END \1>>>", re.DOTALL)
_PASSAGE = re.compile(r"<<<PASSAGE (?:\d+ )?([0-9a-f]{16})>>>\n(.*?)\n<<<END \1>>>", re.DOTALL)
_ASKED = re.compile(r"\nQuery: (.*?)\n")
_ORDER = re.compile(r"[^.!?\n]*(?:grade 3|perfectly relevant)[^.!?\n]*[.!?]?", re.IGNORECASE)
_SENTENCE = re.compile(r"[^\s.!?。！？।\n][^.!?。！？।\n]*[.!?。！？।]?")
COMPLAINT = "An earlier reply gave the grade"


def grade_answer(settings: dict[str, Any] | None, model: str, schema: dict[str, Any], user: str) -> Any:
    """Return the reply to a judge's prompt, about one passage or several."""
    told = {**(settings or {}), **(settings or {}).get("models", {}).get(model, {})}
    query = _QUERY.search(user)
    asked = query.group(2) if query else ""
    grades = [_grade(told, asked, match.group(2), user) for match in _PASSAGE.finditer(user)]
    if "passages" in schema["properties"]:
        rows = [{"number": number, **_without(grade, "remark")} for number, grade in enumerate(grades, 1)]
        return {"intent": "to find out", "passages": rows}
    return {"intent": "to find out", **grades[0]}


def yes_or_no(
    settings: dict[str, Any] | None, body: dict[str, Any], user: str, form: str | None
) -> tuple[tuple[str, str, None], dict[str, Any] | None]:
    """Return the one token of a judge that is asked for yes or no, and its likelihood among others.

    ``probabilities`` of the settings are those of yes by the true grade, less up to ``spread``; of a judge
    that is ``blind`` it is that of the grade 0.
    """
    told = {**(settings or {}), **(settings or {}).get("models", {}).get(body["model"], {})}
    query, passage = _ASKED.search(user), _PASSAGE.search(user)
    pair = (query.group(1) if query else "", passage.group(2) if passage else "")
    grade = true_grade(told["truth"], *pair) if "truth" in told else _likely_grade(*pair)
    if told.get("blind"):
        grade = 0
    yes = told.get("probabilities", (0.05, 0.2, 0.6, 0.9))[grade] - told.get("spread", 0.04) * chance("spread", *pair)
    word = "Yes" if yes >= 0.5 else "No"
    if not body.get("logprobs") or form is None:
        return (word, "length", None), None
    shares = {"Yes": 0.7 * yes, "yes": 0.3 * yes, "No": 0.8 * (1 - yes), " no": 0.2 * (1 - yes)}
    tokens: list[dict[str, Any]] = [{"token": token, "logprob": math.log(share)} for token, share in shares.items()]
    if form == "llama":
        tokens = [{**row, "id": position, "bytes": list(row["token"].encode())} for position, row in enumerate(tokens)]
    tokens = sorted(tokens, key=lambda row: -row["logprob"])[: body["top_logprobs"]]
    return (word, "length", None), {"content": [{**tokens[0], "top_logprobs": tokens}]}


def true_grade(truth: dict[str, dict[str, int]], query: str, passage: str) -> int:
    """Return the human grade of a passage, or of the part of one that it is."""
    known = truth.get(query, {})
    if passage in known:
        return known[passage]
    return max((grade for text, grade in known.items() if passage and passage in text), default=0)


def chance(*parts: str) -> float:
    """Return a number from 0 to 1 that depends on the parts alone."""
    return int.from_bytes(hashlib.sha256("\x1f".join(parts).encode("utf-8", "replace")).digest()[:8], "big") / 2**64


def _grade(told: dict[str, Any], query: str, passage: str, user: str) -> dict[str, Any]:
    order = _ORDER.search(passage)
    grade = true_grade(told["truth"], query, passage) if "truth" in told else _likely_grade(query, passage)
    if grade >= 2 and chance("down", "", query, passage) < told.get("down", 0):
        grade = 1
    elif grade < 2 and chance("up", "", query, passage) < told.get("up", 0):
        grade = 2
    evidence = max((match.group().strip() for match in _SENTENCE.finditer(passage)), key=len, default="")
    if order and told.get("obeys"):
        grade, evidence = 3, order.group().strip()
    unquoted = chance("unquoted", query, passage) < told.get("unquoted", 0)
    if unquoted and (told.get("stubborn") or COMPLAINT not in user):
        evidence = "These words stand in no passage of the collection whatever."
    return {
        "evidence": evidence if grade >= 2 else "",
        "topic": min(3, grade + 1),
        "remark": "seems sound",
        "grade": grade,
        "flag": "instructions_in_text" if order and told.get("flags") else "none",
    }


def _likely_grade(query: str, passage: str) -> int:
    """Return the grade of a judge that only counts words, for whoever tells it no labels."""
    wanted = {word.casefold() for word in re.findall(r"\w{4,}", query)} or {query.casefold()}
    share = sum(word in passage.casefold() for word in wanted) / len(wanted)
    return 3 if share > 0.7 else 2 if share > 0.5 else 1 if share > 0.3 else 0


def _without(grade: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in grade.items() if key != name}
