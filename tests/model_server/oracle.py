"""Good answers: what a careful model would reply to the project's own prompts.

Adapt ``good_answer`` when a prompt or a schema changes; everything else of the server is the same for any prompt.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import random
import re
from typing import Any

from tests.model_server.filler import fill
from tests.model_server.query_writer import write_query
from tests.model_server.searching import order_of, query_of, rewrites_of

_TOKEN = re.compile(r"[0-9a-fA-F]{8,}")
_SENTENCE = re.compile(r"[^\s.!?。！？؟।\n][^.!?。！？؟।\n]*[.!?。！？؟।]?")
_KINDS = ("fact", "definition", "procedure", "reason", "comparison", "condition", "summary")
_STYLES = ("question", "keywords", "problem", "vague")


def good_answer(schema: dict[str, Any], system: str, user: str) -> Any:
    """Return a plausible good answer: for the generation schemas a real one, for any other a value that fits."""
    properties = schema.get("properties", {})
    if "candidates" in properties:
        return _queries(system + "\n" + user, passage_in(user))
    if "sentence" in properties:
        return _numbered(system, user)
    if set(properties) == {"numbers"}:
        return {"numbers": order_of(user)}
    if set(properties) == {"queries"}:
        return {"queries": rewrites_of(user)}
    if set(properties) == {"passage"}:
        return {"passage": f"It is known that {query_of(user)}"}
    if "query" in properties:
        known = _queries(system + "\n" + user, passage_in(user))["candidates"]
        return {**fill(schema, schema, seed=_number(user)), **{k: v for k, v in known[0].items() if k in properties}}
    if "score" in properties:
        return {**fill(schema, schema, seed=_number(user)), "score": 5}
    if "mapping" in properties and "input: {" in user:
        return {"mapping": _themes_of_personas(user)}
    return fill(schema, schema, seed=_number(user))


def _numbered(system: str, user: str) -> dict[str, Any]:
    """Return a query about the sentence whose number the prompt gives, in the style that the system message names."""
    sentences = dict(re.findall(r"^\[(\d+)\] (.*)$", user, re.MULTILINE))
    number = re.findall(r", sentence (\d+)[\d or]*:$", user)[-1]
    style = "keywords" if "keywords" in system else "question"
    prompt = f"{system}\n{user}"
    query, _ = write_query(
        prompt, "\n".join(sentences.values()), sentences[number], style, random.Random(_number(prompt))
    )
    return {"query": query, "sentence": int(number), "answer": " ".join(sentences[number].split()[:12])[:150]}


def _themes_of_personas(prompt: str) -> dict[str, list[str]]:
    """Return every theme for every persona: only names that the prompt gives are of use to who asks (ragas)."""
    said, _ = json.JSONDecoder().raw_decode(prompt, prompt.rindex("input: {") + len("input: "))
    return {persona["name"]: said["themes"] for persona in said["personas"]}


def passage_in(prompt: str) -> str:
    """Return the text between the two delimiter lines: those that repeat one hexadecimal token, farthest apart."""
    places: dict[str, list[re.Match[str]]] = {}
    for match in _TOKEN.finditer(prompt):
        places.setdefault(match.group(), []).append(match)
    best = ""
    for matches in places.values():
        for first, second in itertools.pairwise(matches):
            start, end = prompt.find("\n", first.end()), prompt.rfind("\n", 0, second.start())
            if 0 <= start < end and end - start > len(best):
                best = prompt[start + 1 : end]
    return best.strip() or prompt


def _number(*parts: str) -> int:
    return int.from_bytes(hashlib.sha256("\x1f".join(parts).encode("utf-8", "surrogatepass")).digest()[:8], "big")


def _asked(prompt: str, name: str, allowed: tuple[str, ...]) -> str:
    matches = re.findall(rf"\b{name}(?: wanted)?\W{{1,12}}({'|'.join(allowed)})\b", prompt, re.IGNORECASE)
    return matches[-1].lower() if matches else allowed[0]


def _queries(prompt: str, passage: str) -> dict[str, Any]:
    sentences = [m.group().strip() for m in _SENTENCE.finditer(passage) if len(m.group().strip()) >= 12]
    usable = [s for s in sentences if len(s) <= 400] or [s[:400].strip() for s in sentences] or [passage[:300].strip()]
    evidence = max(usable, key=lambda s: (min(len(s), 200), s))
    style = _asked(prompt, "style", _STYLES)
    query, subject = write_query(prompt, passage, evidence, style, random.Random(_number(prompt)))
    candidate = {
        "query": query,
        "type": _asked(prompt, "type", _KINDS),
        "style": style,
        "answer": " ".join(evidence.split()[:30])[:300],
        "evidence": evidence,
        "subject": subject,
    }
    return {"skip_reason": None, "candidates": [candidate]}
